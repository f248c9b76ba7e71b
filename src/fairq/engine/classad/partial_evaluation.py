"""Expressions of which only some numbers of the columns change: all else is evaluated once.

To walk a tree takes longer than to compare a few hundred rows. Here the parts that stay the same become values, and
what remains are a few comparisons and sums over arrays. Numbers are reals: whole ones are exact up to 2**53, and no
expression is reduced whose numbers may be larger.
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
"""The numbers that change: an array per attribute, with one element for each of some rows."""

Of = Callable[[Numbers, Rows], Any]
"""A value for each of these rows, or one for all of them."""

_MOST_FIXED: Final = 10_000
_MOST_TEXTS: Final = 8
_NUMBERS: Final = (BOOLEAN, INTEGER, REAL)
_MOST_SHAPES: Final = 500
_ARITHMETIC: Final[dict[str, Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply}


class NotReducedError(Exception):
    """More than comparisons and sums would remain of the expression."""


class _Truth(Struct):
    """Where an expression is true; `exact`: elsewhere it is false; `always`: the same for all rows."""

    of: Of
    exact: bool
    always: bool | None = None


class _Number(Struct):
    """The numbers of an expression, at most `most`; it has none where not `valid` (None: it has them everywhere)."""

    of: Of
    most: float
    valid: NDArray[np.bool_] | None = None


_Term = TypeVar("_Term", _Truth, _Number)


class _Part(Struct):
    """A node, all that it reads, what of it is the single ad's, and whether it reads a number that changes."""

    node: Node
    reads: frozenset[Attribute]
    of_ad: tuple[str, ...]
    changes: bool


class Reducer:
    """Reduces expressions for one single ad after the other.

    Args:
        columns: the ads in columns.
        changing: the lower-case names of their attributes that change, all of them numbers.
        numbers: their values at the beginning, by attribute and row; they get smaller, but not less than 0.
        present: for each of them, the rows that have it.
    """

    def __init__(
        self, columns: AdColumns, changing: Sequence[str], numbers: Numbers, present: NDArray[np.bool_]
    ) -> None:
        self.columns = columns
        self.changing = {name: place for place, name in enumerate(changing)}
        self.most: list[float] = np.abs(numbers).max(axis=1, initial=0.0).tolist()
        self.present = present
        self._parts: dict[Hashable, dict[tuple[Side, int], _Part]] = {}
        self._fixed: dict[Hashable, Vector] = {}

    def reduced(self, ad: Mapping[str, Any]) -> Reduced:
        """Return what reduces expressions for the single *ad* (names in lower case).

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
        """Return the values for all rows that *key* stands for, made at most once."""
        found = self._fixed.get(key)
        if found is None:
            if len(self._fixed) >= _MOST_FIXED:
                self._fixed.clear()
            found = self._fixed[key] = make()
        return found


class Reduced:
    """Expressions for one single *ad*; *parts* are known from ads of its shape."""

    def __init__(
        self, reducer: Reducer, ad: Mapping[str, Any], parties: Parties, parts: dict[tuple[Side, int], _Part]
    ) -> None:
        self._reducer = reducer
        self._ad = ad
        self._parties = parties
        self._parts = parts
        self._active: list[Attribute] = []

    def true(self, expression: Expression, side: Side) -> Callable[[Numbers, Rows], NDArray[np.bool_]]:
        """Return a function of the changing numbers of some rows, and these rows: where *expression* is true.

        Raises NotReducedError.
        """
        of = self._truth(self._root(expression, side), side).of
        return lambda numbers, rows: _for_each(of(numbers, rows), len(rows))

    def number(self, expression: Expression, side: Side, default: float) -> Of:
        """Return such a function of its numbers, *default* where it has none, as `Values.as_rank`.

        Raises NotReducedError.
        """
        found = self._number(self._root(expression, side), side)
        of, valid = found.of, found.valid
        if valid is None:
            return lambda numbers, rows: _for_each(of(numbers, rows), len(rows))
        otherwise = np.nan_to_num(default, nan=default)
        return lambda numbers, rows: np.where(valid[rows], of(numbers, rows), otherwise)

    def _root(self, expression: Expression, side: Side) -> Node:
        if expression.node is None or bound(expression, side, self._parties) > UNGUARDED:
            raise NotReducedError
        return expression.node

    def _part(self, node: Node, side: Side) -> _Part:
        part = self._parts.get((side, id(node)))
        if part is None:
            found = closure([(side, node)], self._parties)
            if found.everything or found.draws:
                raise NotReducedError
            changes = not found.names(Side.COLUMNS).isdisjoint(self._reducer.changing)
            reads = frozenset(found.read)
            # The node is kept with it, so that its id stays its own.
            part = self._parts[side, id(node)] = _Part(node, reads, tuple(sorted(found.names(Side.AD))), changes)
        return part

    def _steady(self, node: Node, side: Side) -> Vector | None:
        """The values of *node* for all rows if nothing in it changes."""
        if isinstance(node, Literal):
            return constant(node.value, self._reducer.columns.pool)
        part = self._part(node, side)
        return None if part.changes else self._evaluated(part, side)

    def _evaluated(self, part: _Part, side: Side) -> Vector:
        if not part.reads.isdisjoint(self._active):
            raise NotReducedError
        columns, ad = self._reducer.columns, self._ad
        own = tuple([repr(ad[name]) if name in ad else None for name in part.of_ad])

        def make() -> Vector:
            try:
                return Evaluator(self._parties).value(part.node, side, None, len(columns))
            except NotColumnar as problem:
                raise NotReducedError from problem

        return self._reducer.fixed((side, id(part.node), part.of_ad, own), make)

    # where an expression is true

    def _truth(self, node: Node, side: Side) -> _Truth:  # noqa: PLR0911 - one per case
        if (steady := self._steady(node, side)) is not None:
            return self._fixed_truth(steady)
        match node:
            case Binary("&&", left, right):
                return self._both(self._truth(left, side), right, side)
            case Binary("||", left, right):
                return self._either(self._truth(left, side), right, side)
            case Binary(operator, left, right) if operator in COMPARE:
                return self._compared(COMPARE[operator], self._number(left, side), self._number(right, side))
            case Conditional(condition, positive, negative):
                return self._chosen(condition, positive, negative, side)
            case Call(name, (condition, positive, negative)) if name.lower() == "ifthenelse":
                return self._chosen(condition, positive, negative, side)
            case Reference():
                party, name = self._meant(node, side)
                if not (party is Side.COLUMNS and name in self._reducer.changing):
                    return self._one_truth(self._own(party, name, self._truth, self._fixed_truth))
        raise NotReducedError

    def _fixed_truth(self, vector: Vector) -> _Truth:
        found = truths(vector, len(self._reducer.columns))
        true = found == TRUE
        exact = bool((found <= TRUE).all())
        if len(true) == 1 or true.all() or not true.any():
            always = bool(true[0])
            return _Truth(lambda numbers, rows: always, exact, always)
        return _Truth(lambda numbers, rows: true[rows], exact)

    def _both(self, first: _Truth, right: Node, side: Side) -> _Truth:
        if first.always is False:
            return first
        second = self._truth(right, side)
        if first.always:
            return _Truth(second.of, first.exact and second.exact, second.always)
        return _Truth(_joined(np.logical_and, first.of, second.of), first.exact and second.exact)

    def _either(self, first: _Truth, right: Node, side: Side) -> _Truth:
        if first.always:
            return first
        if not first.exact:
            # An error there would make it one, whatever follows.
            raise NotReducedError
        second = self._truth(right, side)
        if first.always is False:
            return second
        return _Truth(_joined(np.logical_or, first.of, second.of), second.exact)

    def _compared(self, function: Any, first: _Number, second: _Number) -> _Truth:
        valid = _valid(first, second)
        of = _joined(function, first.of, second.of)
        if valid is None:
            return _Truth(of, True)
        return _Truth(lambda numbers, rows: of(numbers, rows) & valid[rows], False)

    def _chosen(self, condition: Node, positive: Node, negative: Node, side: Side) -> _Truth:
        found = self._truth(condition, side)
        if found.always is None or not found.exact:
            raise NotReducedError
        return self._truth(positive if found.always else negative, side)

    def _one_truth(self, own: list[tuple[NDArray[np.bool_], _Truth]]) -> _Truth:
        """The truth of the one of several terms that each row has."""
        if len(own) == 1:
            return own[0][1]
        parts = [_joined(np.logical_and, _taken(rows), truth.of) for rows, truth in own]
        exact = all(truth.exact for _, truth in own)
        return _Truth(reduce(partial(_joined, np.logical_or), parts), exact)

    # its numbers

    def _number(self, node: Node, side: Side) -> _Number:
        if (steady := self._steady(node, side)) is not None:
            return self._fixed_number(steady)
        match node:
            case Binary(operator, left, right) if operator in _ARITHMETIC:
                first, second = self._number(left, side), self._number(right, side)
                most = first.most * second.most if operator == "*" else first.most + second.most
                return self._computed(_ARITHMETIC[operator], first, second, most)
            case Binary("/", left, right) if (by := self._steady(right, side)) is not None:
                return self._divided(self._number(left, side), by)
            case Unary("-", operand):
                number = self._number(operand, side)
                return _Number(lambda numbers, rows: -number.of(numbers, rows), number.most, number.valid)
            case Reference():
                party, name = self._meant(node, side)
                if party is Side.COLUMNS and name in self._reducer.changing:
                    return self._changing(self._reducer.changing[name])
                return self._one_number(self._own(party, name, self._number, self._fixed_number))
        raise NotReducedError

    def _changing(self, place: int) -> _Number:
        present, most = self._reducer.present[place], self._reducer.most[place]
        if most > EXACT:
            raise NotReducedError
        return _Number(lambda numbers, rows: numbers[place], most, None if present.all() else present)

    def _fixed_number(self, vector: Vector) -> _Number:
        if vector.kind in _NUMBERS and vector.is_constant():
            assert vector.data is not None
            one = float(vector.data[0])
            if not abs(one) <= EXACT:
                raise NotReducedError
            return _Number(lambda numbers, rows: one, abs(one))
        values = Values(vector, len(self._reducer.columns), self._reducer.columns.pool)
        valid = np.isin(values.kind, _NUMBERS)
        reals = np.where(valid, values.numbers, 0.0)
        most = float(np.abs(reals).max(initial=0.0))
        if not most <= EXACT:
            raise NotReducedError
        return _Number(_taken(reals), most, None if valid.all() else valid)

    def _computed(self, function: Any, first: _Number, second: _Number, most: float) -> _Number:
        if most > EXACT:
            raise NotReducedError
        return _Number(_joined(function, first.of, second.of), most, _valid(first, second))

    def _divided(self, first: _Number, by: Vector) -> _Number:
        """A quotient by a real: integers would be divided without a rest."""
        if by.kind != REAL or by.data is None or not by.data.all():
            raise NotReducedError
        return self._computed(np.divide, first, self._fixed_number(by), first.most / float(np.abs(by.data).min()))

    def _one_number(self, own: list[tuple[NDArray[np.bool_], _Number]]) -> _Number:
        """The number of the one of several terms that each row has."""
        if len(own) == 1:
            return own[0][1]
        parts = [_joined(np.multiply, _taken(rows), number.of) for rows, number in own]
        valid = [rows if number.valid is None else rows & number.valid for rows, number in own]
        return _Number(reduce(partial(_joined, np.add), parts), max(one.most for _, one in own), np.any(valid, axis=0))

    # names

    def _meant(self, node: Reference, side: Side) -> Attribute:
        """The attribute that a name stands for in every row; rows that lack it have nothing of that name."""
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

    def _own(
        self, party: Side, name: str, reduced: Callable[[Node, Side], _Term], fixed: Callable[[Vector], _Term]
    ) -> list[tuple[NDArray[np.bool_], _Term]]:
        """Each of the expressions of an attribute, and its constants, with the rows that have it."""
        size = len(self._reducer.columns)
        nodes: list[tuple[NDArray[np.bool_], Node | None]]
        own: list[tuple[NDArray[np.bool_], _Term]] = []
        if party is Side.AD:
            nodes = [(np.ones(size, np.bool_), node) for node in self._parties.nodes(party, name)]
        else:
            column = self._reducer.columns.column(name)
            if column.raw or len(column.expressions) > _MOST_TEXTS:
                raise NotReducedError
            vector = column.vector
            kinds, codes = vector.kind_array(size), vector.data if vector.codes is None else vector.codes
            nodes = [((kinds == EXPRESSION) & (codes == code), one.node) for code, one in enumerate(column.expressions)]
            constants = kinds != EXPRESSION
            if constants.any():
                own.append((constants, fixed(_constants(vector))))
        self._active.append((party, name))
        try:
            for rows, node in nodes:
                if node is None:
                    raise NotReducedError
                if rows.any():
                    own.append((rows, reduced(node, party)))
        finally:
            self._active.pop()
        return own


def _constants(vector: Vector) -> Vector:
    """The constants of a column; undefined where it has none."""
    if vector.kinds is None:
        return UNDEFINED_VECTOR if vector.kind == MISSING else vector
    kinds = np.where(np.isin(vector.kinds, (EXPRESSION, MISSING)), UNDEFINED_KIND, vector.kinds).astype(np.uint8)
    return Vector(MIXED, None, kinds, vector.codes, vector.reals)


def _for_each(result: Any, count: int) -> Any:
    """The results for *count* rows; *result* may be one for all."""
    return result if np.ndim(result) else np.full(count, result)


def _taken(values: Array) -> Of:
    return lambda numbers, rows: values[rows]


def _joined(function: Any, first: Of, second: Of) -> Of:
    return lambda numbers, rows: function(first(numbers, rows), second(numbers, rows))


def _valid(first: _Number, second: _Number) -> NDArray[np.bool_] | None:
    """Where both are numbers; None: everywhere."""
    if first.valid is None or second.valid is None:
        return second.valid if first.valid is None else first.valid
    return first.valid & second.valid
