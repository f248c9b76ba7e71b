"""Reduce expressions over columns of which only some numbers change; everything else is evaluated once.

Walking a tree takes longer than comparing a few hundred rows. Parts that do not change become values, so only a few
comparisons and sums over arrays remain. Numbers are reals: whole numbers are exact up to 2**53, and expressions whose
numbers may be larger are not reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.convert import constant
from fairq.engine.classad.costs import UNGUARDED
from fairq.engine.classad.evaluation import bound
from fairq.engine.classad.evaluator import Evaluator
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.kinds import BOOLEAN, EXPRESSION, INTEGER, MISSING, REAL, UNDEFINED_KIND
from fairq.engine.classad.nodes import Binary, Call, Conditional, Literal, Node, Reference, Unary
from fairq.engine.classad.operators import COMPARE, TRUE, truths
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import RESERVED, Attribute, Side, closure, scope_side
from fairq.engine.classad.values import EXACT, Values
from fairq.engine.classad.vectors import MIXED, UNDEFINED_VECTOR, Array, NotColumnar, Rows, Vector

Numbers = NDArray[np.float64]
"""The changing numbers of some rows: one array per attribute, one element per row."""

RowFunction = Callable[[Numbers, Rows], Any]
"""Computes from the changing numbers and the row numbers one value per row, or one for all rows."""

_MOST_FIXED: Final = 10_000
_MOST_EXPRESSIONS: Final = 8
_NUMBERS: Final = (BOOLEAN, INTEGER, REAL)
_MOST_SHAPES: Final = 500
_ARITHMETIC: Final[dict[str, Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply}


class NotReducedError(Exception):
    """The expression does not reduce to comparisons and sums."""


class _Truth(Struct):
    """Where an expression is true; `exact`: it is false elsewhere; `always`: its value if all rows agree."""

    compute: RowFunction
    exact: bool
    always: bool | None = None


class _Number(Struct):
    """The numbers of an expression, at most `most`; rows that are not `valid` have none (None: all rows are valid)."""

    compute: RowFunction
    most: float
    valid: NDArray[np.bool_] | None = None


_Term = TypeVar("_Term", _Truth, _Number)


class _Part(Struct):
    """A node, the attributes that it reads, those of the single ad, and whether it reads a changing number."""

    node: Node
    reads: frozenset[Attribute]
    of_ad: tuple[str, ...]
    changes: bool


class Reducer:
    """Reduces expressions for many single ads, one after the other.

    Args:
        columns: the ads in columns.
        changing: the lower-case names of the attributes that change; all are numbers.
        numbers: their first values, by attribute and row; they decrease, but never below 0.
        present: for each attribute, the rows that have it.
    """

    def __init__(
        self, columns: AdColumns, changing: Sequence[str], numbers: Numbers, present: NDArray[np.bool_]
    ) -> None:
        self.columns = columns
        self.changing = {name: index for index, name in enumerate(changing)}
        self.most: list[float] = np.abs(numbers).max(axis=1, initial=0.0).tolist()
        self.present = present
        self._parts: dict[Hashable, dict[tuple[Side, int], _Part]] = {}
        self._fixed: dict[Hashable, Vector] = {}

    def reduced(self, ad: Mapping[str, Any]) -> Reduced:
        """Return the `Reduced` of the single *ad* (names in lower case).

        Raises NotReducedError if there are too many shapes of ads.
        """
        parties = Parties(ad, self.columns)
        shape = parties.shape()
        if shape not in self._parts:
            if len(self._parts) >= _MOST_SHAPES:
                raise NotReducedError
            self._parts[shape] = {}
        return Reduced(self, ad, parties, self._parts[shape])

    def fixed(self, key: Hashable, make: Callable[[], Vector]) -> Vector:
        """Return the values for all rows stored under *key*; call *make* if there are none."""
        vector = self._fixed.get(key)
        if vector is None:
            if len(self._fixed) >= _MOST_FIXED:
                self._fixed.clear()
            vector = self._fixed[key] = make()
        return vector


class Reduced:
    """Reduces expressions for one single *ad*; *parts* are shared by all ads of its shape."""

    def __init__(
        self, reducer: Reducer, ad: Mapping[str, Any], parties: Parties, parts: dict[tuple[Side, int], _Part]
    ) -> None:
        self._reducer = reducer
        self._ad = ad
        self._parties = parties
        self._parts = parts
        self._active: list[Attribute] = []

    def true(self, expression: Expression, side: Side) -> Callable[[Numbers, Rows], NDArray[np.bool_]]:
        """Return a function from changing numbers and row numbers to whether *expression* is true in each row.

        Raises NotReducedError.
        """
        compute = self._truth(self._root(expression, side), side).compute
        return lambda numbers, rows: _spread(compute(numbers, rows), len(rows))

    def number(self, expression: Expression, side: Side, default: float) -> RowFunction:
        """Return a function as `true` does, to the number in each row, or *default* as in `Values.as_rank`.

        Raises NotReducedError.
        """
        reduced = self._number(self._root(expression, side), side)
        compute, valid = reduced.compute, reduced.valid
        if valid is None:
            return lambda numbers, rows: _spread(compute(numbers, rows), len(rows))
        otherwise = np.nan_to_num(default, nan=default)
        return lambda numbers, rows: np.where(valid[rows], compute(numbers, rows), otherwise)

    def _root(self, expression: Expression, side: Side) -> Node:
        if expression.node is None or bound(expression, side, self._parties) > UNGUARDED:
            raise NotReducedError
        return expression.node

    def _part(self, node: Node, side: Side) -> _Part:
        part = self._parts.get((side, id(node)))
        if part is None:
            names_read = closure([(side, node)], self._parties)
            if names_read.everything or names_read.draws:
                raise NotReducedError
            changes = not names_read.names(Side.COLUMNS).isdisjoint(self._reducer.changing)
            reads = frozenset(names_read.read)
            # The part holds the node, so that no other node gets its id.
            part = self._parts[side, id(node)] = _Part(node, reads, tuple(sorted(names_read.names(Side.AD))), changes)
        return part

    def _fixed_values(self, node: Node, side: Side) -> Vector | None:
        """Return the values of *node* for all rows, None if it reads a changing number."""
        if isinstance(node, Literal):
            return constant(node.value, self._reducer.columns.pool)
        part = self._part(node, side)
        return None if part.changes else self._evaluate(part, side)

    def _evaluate(self, part: _Part, side: Side) -> Vector:
        if not part.reads.isdisjoint(self._active):
            raise NotReducedError
        columns, ad = self._reducer.columns, self._ad
        job_values = tuple([repr(ad[name]) if name in ad else None for name in part.of_ad])

        def make() -> Vector:
            try:
                return Evaluator(self._parties).value(part.node, side, None, len(columns))
            except NotColumnar as problem:
                raise NotReducedError from problem

        return self._reducer.fixed((side, id(part.node), part.of_ad, job_values), make)

    def _truth(self, node: Node, side: Side) -> _Truth:  # noqa: PLR0911 - one per case
        if (steady := self._fixed_values(node, side)) is not None:
            return self._fixed_truth(steady)
        match node:
            case Binary("&&", left, right):
                return self._and(self._truth(left, side), right, side)
            case Binary("||", left, right):
                return self._or(self._truth(left, side), right, side)
            case Binary(operator, left, right) if operator in COMPARE:
                return self._compare(COMPARE[operator], self._number(left, side), self._number(right, side))
            case Conditional(condition, positive, negative):
                return self._choose_branch(condition, positive, negative, side)
            case Call(name, (condition, positive, negative)) if name.lower() == "ifthenelse":
                return self._choose_branch(condition, positive, negative, side)
            case Reference():
                party, name = self._resolve_name(node, side)
                if not (party is Side.COLUMNS and name in self._reducer.changing):
                    return self._union_of_truths(self._find_terms(party, name, self._truth, self._fixed_truth))
        raise NotReducedError

    def _fixed_truth(self, vector: Vector) -> _Truth:
        truth_codes = truths(vector, len(self._reducer.columns))
        true = truth_codes == TRUE
        exact = bool((truth_codes <= TRUE).all())
        if len(true) == 1 or true.all() or not true.any():
            always = bool(true[0])
            return _Truth(lambda numbers, rows: always, exact, always)
        return _Truth(lambda numbers, rows: true[rows], exact)

    def _and(self, first: _Truth, right: Node, side: Side) -> _Truth:
        if first.always is False:
            return first
        second = self._truth(right, side)
        if first.always:
            return _Truth(second.compute, first.exact and second.exact, second.always)
        return _Truth(_combine(np.logical_and, first.compute, second.compute), first.exact and second.exact)

    def _or(self, first: _Truth, right: Node, side: Side) -> _Truth:
        if first.always:
            return first
        if not first.exact:
            # An error on the left decides, whatever is on the right.
            raise NotReducedError
        second = self._truth(right, side)
        if first.always is False:
            return second
        return _Truth(_combine(np.logical_or, first.compute, second.compute), second.exact)

    def _compare(self, function: Any, first: _Number, second: _Number) -> _Truth:
        valid = _valid(first, second)
        compute = _combine(function, first.compute, second.compute)
        if valid is None:
            return _Truth(compute, True)
        return _Truth(lambda numbers, rows: compute(numbers, rows) & valid[rows], False)

    def _choose_branch(self, condition: Node, positive: Node, negative: Node, side: Side) -> _Truth:
        condition_truth = self._truth(condition, side)
        if condition_truth.always is None or not condition_truth.exact:
            raise NotReducedError
        return self._truth(positive if condition_truth.always else negative, side)

    def _union_of_truths(self, terms: list[tuple[NDArray[np.bool_], _Truth]]) -> _Truth:
        """Return the truth of terms with disjoint rows as one."""
        if len(terms) == 1:
            return terms[0][1]
        parts = [_combine(np.logical_and, _select_rows(rows), truth.compute) for rows, truth in terms]
        exact = all(truth.exact for _, truth in terms)
        return _Truth(reduce(partial(_combine, np.logical_or), parts), exact)

    def _number(self, node: Node, side: Side) -> _Number:
        if (steady := self._fixed_values(node, side)) is not None:
            return self._fixed_number(steady)
        match node:
            case Binary(operator, left, right) if operator in _ARITHMETIC:
                first, second = self._number(left, side), self._number(right, side)
                most = first.most * second.most if operator == "*" else first.most + second.most
                return self._compute(_ARITHMETIC[operator], first, second, most)
            case Binary("/", left, right) if (divisor := self._fixed_values(right, side)) is not None:
                return self._divide(self._number(left, side), divisor)
            case Unary("-", operand):
                number = self._number(operand, side)
                return _Number(lambda numbers, rows: -number.compute(numbers, rows), number.most, number.valid)
            case Reference():
                party, name = self._resolve_name(node, side)
                if party is Side.COLUMNS and name in self._reducer.changing:
                    return self._changing_number(self._reducer.changing[name])
                return self._union_of_numbers(self._find_terms(party, name, self._number, self._fixed_number))
        raise NotReducedError

    def _changing_number(self, index: int) -> _Number:
        present, most = self._reducer.present[index], self._reducer.most[index]
        if most > EXACT:
            raise NotReducedError
        return _Number(lambda numbers, rows: numbers[index], most, None if present.all() else present)

    def _fixed_number(self, vector: Vector) -> _Number:
        if vector.kind in _NUMBERS and vector.is_constant():
            assert vector.data is not None
            number = float(vector.data[0])
            if not abs(number) <= EXACT:
                raise NotReducedError
            return _Number(lambda numbers, rows: number, abs(number))
        values = Values(vector, len(self._reducer.columns), self._reducer.columns.pool)
        valid = np.isin(values.kind, _NUMBERS)
        reals = np.where(valid, values.numbers, 0.0)
        most = float(np.abs(reals).max(initial=0.0))
        if not most <= EXACT:
            raise NotReducedError
        return _Number(_select_rows(reals), most, None if valid.all() else valid)

    def _compute(self, function: Any, first: _Number, second: _Number, most: float) -> _Number:
        if most > EXACT:
            raise NotReducedError
        return _Number(_combine(function, first.compute, second.compute), most, _valid(first, second))

    def _divide(self, dividend: _Number, divisor: Vector) -> _Number:
        """Return the quotient by a real; integer division would drop the remainder."""
        if divisor.kind != REAL or divisor.data is None or not divisor.data.all():
            raise NotReducedError
        return self._compute(
            np.divide, dividend, self._fixed_number(divisor), dividend.most / float(np.abs(divisor.data).min())
        )

    def _union_of_numbers(self, terms: list[tuple[NDArray[np.bool_], _Number]]) -> _Number:
        """Return the numbers of terms with disjoint rows as one."""
        if len(terms) == 1:
            return terms[0][1]
        parts = [_combine(np.multiply, _select_rows(rows), number.compute) for rows, number in terms]
        valid = [rows if number.valid is None else rows & number.valid for rows, number in terms]
        return _Number(
            reduce(partial(_combine, np.add), parts), max(number.most for _, number in terms), np.any(valid, axis=0)
        )

    def _resolve_name(self, node: Reference, side: Side) -> Attribute:
        """Return the attribute to which a name refers in every row; raises NotReducedError if rows differ."""
        name = node.name.lower()
        if node.absolute or name in RESERVED:
            raise NotReducedError
        party: Side | None = side
        if node.scope is not None:
            party = scope_side(node.scope, side, self._parties)
        elif self._parties.may_lack(side, name) and self._parties.owns(side.other, name):
            if self._parties.owns(side, name):
                raise NotReducedError
            party = side.other
        if party is None or (party, name) in self._active:
            raise NotReducedError
        return party, name

    def _find_terms(
        self, party: Side, name: str, reduced: Callable[[Node, Side], _Term], fixed: Callable[[Vector], _Term]
    ) -> list[tuple[NDArray[np.bool_], _Term]]:
        """Return the terms of an attribute (each expression, and its constants), with the rows of each."""
        size = len(self._reducer.columns)
        nodes: list[tuple[NDArray[np.bool_], Node | None]]
        terms: list[tuple[NDArray[np.bool_], _Term]] = []
        if party is Side.AD:
            nodes = [(np.ones(size, np.bool_), node) for node in self._parties.nodes(party, name)]
        else:
            column = self._reducer.columns.column(name)
            if column.raw or len(column.expressions) > _MOST_EXPRESSIONS:
                raise NotReducedError
            vector = column.vector
            kinds, codes = vector.kind_array(size), vector.data if vector.codes is None else vector.codes
            nodes = [
                ((kinds == EXPRESSION) & (codes == code), expression.node)
                for code, expression in enumerate(column.expressions)
            ]
            constants = kinds != EXPRESSION
            if constants.any():
                terms.append((constants, fixed(_constants(vector))))
        self._active.append((party, name))
        try:
            for rows, node in nodes:
                if node is None:
                    raise NotReducedError
                if rows.any():
                    terms.append((rows, reduced(node, party)))
        finally:
            self._active.pop()
        return terms


def _constants(vector: Vector) -> Vector:
    """Return the constants of a column; undefined in rows without one."""
    if vector.kinds is None:
        return UNDEFINED_VECTOR if vector.kind == MISSING else vector
    kinds = np.where(np.isin(vector.kinds, (EXPRESSION, MISSING)), UNDEFINED_KIND, vector.kinds).astype(np.uint8)
    return Vector(MIXED, None, kinds, vector.codes, vector.reals)


def _spread(result: Any, count: int) -> Any:
    """Return *result* as one value for each of *count* rows."""
    return result if np.ndim(result) else np.full(count, result)


def _select_rows(values: Array) -> RowFunction:
    return lambda numbers, rows: values[rows]


def _combine(function: Any, first: RowFunction, second: RowFunction) -> RowFunction:
    return lambda numbers, rows: function(first(numbers, rows), second(numbers, rows))


def _valid(first: _Number, second: _Number) -> NDArray[np.bool_] | None:
    """Return the rows where both are numbers, None for all rows."""
    if first.valid is None or second.valid is None:
        return second.valid if first.valid is None else first.valid
    return first.valid & second.valid
