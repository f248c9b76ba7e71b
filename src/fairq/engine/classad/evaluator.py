"""Evaluation of one expression for one ad against many at once: the walk over the syntax tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from fairq.engine.classad.convert import constant
from fairq.engine.classad.distinct import Arguments, by_arguments, by_elements
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.function_names import RANDOM, TAKE_LISTS, TIMES, UNSCOPED
from fairq.engine.classad.functions import KERNELS, KIND_TESTS, kind_test, random_below
from fairq.engine.classad.kinds import (
    ERROR_KIND,
    EXPRESSION,
    INTEGER,
    LIST,
    MISSING,
    RAW,
    UNDEFINED,
    UNDEFINED_KIND,
)
from fairq.engine.classad.nodes import Binary, Call, Conditional, ListOf, Literal, NestedAd, Node, Reference, Unary
from fairq.engine.classad.operators import (
    ARITHMETIC,
    BITWISE,
    COMPARE,
    DECIDES,
    ERROR_TRUTH,
    FALSE,
    IDENTITY,
    TRUE,
    arithmetic,
    bitwise,
    combine,
    compare,
    from_truths,
    identical,
    truths,
    unary,
)
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import CURRENT_TIME, RESERVED, Side, scope_side
from fairq.engine.classad.vectors import (
    ERROR_VECTOR,
    UNDEFINED_VECTOR,
    Array,
    NotColumnar,
    Rows,
    Vector,
    by_kinds,
    merge,
    pieces,
)
from fairq.engine.distinct import distinct

_LONGEST_CHAIN: Final = 20  # longer chains of attributes are left to the library, which has its own bound


def evaluate_freely(expression: Expression, side: Side, parties: Parties, rows: Rows | None, n: int) -> Vector:
    """Return the values of *expression*, MY being *side*, for the *n* given rows of the columns (None: for all)."""
    if expression.node is not None:
        try:
            return Evaluator(parties).value(expression.node, side, rows, n)
        except NotColumnar:
            pass
    from fairq.engine.classad.fallback import whole_by_library

    return whole_by_library(expression, side, parties, rows, n)


class Evaluator:
    """Evaluates trees for one pair of parties; `_active` are the attributes whose evaluation is under way."""

    def __init__(self, parties: Parties) -> None:
        self._parties = parties
        self._pool = parties.columns.pool
        self._active: list[tuple[Side, str]] = []
        self._draws = 0

    def value(self, node: Node, side: Side, rows: Rows | None, n: int) -> Vector:
        """Return the values of *node* seen from *side*; raises NotColumnar."""
        try:
            return self._columnar(node, side, rows, n)
        except NotColumnar as problem:
            if problem.whole:
                raise
            from fairq.engine.classad.fallback import part_by_library

            return part_by_library(node, side, self._parties, rows, n, self._active)

    def _columnar(  # noqa: PLR0911 - one per case
        self, node: Node, side: Side, rows: Rows | None, n: int
    ) -> Vector:
        match node:
            case Literal(value):
                return constant(value, self._pool)
            case Reference():
                return self._reference(node, side, rows, n)
            case Unary(operator, operand):
                return by_kinds(lambda part: unary(operator, part), [self.value(operand, side, rows, n)], n)
            case Binary("&&" | "||"):
                return self._logical(node, side, rows, n)
            case Binary("?:"):
                return self._default(node, side, rows, n)
            case Binary(operator, left, right):
                operands = [self.value(left, side, rows, n), self.value(right, side, rows, n)]
                return self._binary(operator, operands, n)
            case Conditional(condition, positive, negative):
                return self._conditional(condition, positive, negative, side, rows, n)
            case Call():
                return self._call(node, side, rows, n)
            case ListOf(items) if all(isinstance(part, Literal) for part in items):
                return constant([part.value for part in items if isinstance(part, Literal)], self._pool)
        raise NotColumnar

    def _binary(self, operator: str, operands: list[Vector], n: int) -> Vector:
        if operator in COMPARE:
            return by_kinds(lambda left, right: compare(operator, left, right, self._pool), operands, n)
        if operator in IDENTITY:
            return by_kinds(lambda left, right: identical(operator, left, right), operands, n)
        if operator in ARITHMETIC:
            return by_kinds(lambda left, right: arithmetic(operator, left, right), operands, n)
        if operator in BITWISE:
            return by_kinds(lambda left, right: bitwise(operator, left, right), operands, n)
        return by_kinds(self._subscript, operands, n)

    def _subscript(self, left: Vector, right: Vector) -> Vector:
        if ERROR_KIND in (left.kind, right.kind):
            return ERROR_VECTOR
        if UNDEFINED_KIND in (left.kind, right.kind):
            return UNDEFINED_VECTOR
        if left.kind != LIST or right.kind != INTEGER:
            return ERROR_VECTOR
        return by_elements(left, right, self._pool)

    # logic, with the right side evaluated only where the left one leaves the result open

    def _logical(self, node: Binary, side: Side, rows: Rows | None, n: int) -> Vector:
        left = truths(self.value(node.left, side, rows, n), n)
        open_rows = (left != DECIDES[node.operator]) & (left != ERROR_TRUTH)

        def right(some_rows: Rows | None, count: int) -> Array:
            return truths(self.value(node.right, side, some_rows, count), count)

        if len(left) == 1:
            if not open_rows[0]:
                return from_truths(left)
            return from_truths(combine(node.operator, left, right(rows, n)))
        open_count = int(np.count_nonzero(open_rows))
        if open_count == 0:
            return from_truths(left)
        if open_count > n // 2:
            return from_truths(combine(node.operator, left, right(rows, n)))
        positions = np.nonzero(open_rows)[0]
        result = left.copy()
        result[positions] = combine(node.operator, left[positions], right(_rows_at(rows, positions), open_count))
        return from_truths(result)

    def _default(self, node: Binary, side: Side, rows: Rows | None, n: int) -> Vector:
        left = self.value(node.left, side, rows, n)
        undefined = left.kind_array(n) == UNDEFINED_KIND
        return self._choose(
            undefined,
            lambda positions, count: self.value(node.right, side, _rows_at(rows, positions), count),
            lambda positions, count: left if positions is None else left.take(positions),
            n,
        )

    def _conditional(
        self, condition: Node, positive: Node, negative: Node, side: Side, rows: Rows | None, n: int
    ) -> Vector:
        truth = truths(self.value(condition, side, rows, n), n)
        if len(truth) == 1:
            truth = np.broadcast_to(truth, n)

        def branch(node: Node) -> Callable[[Rows | None, int], Vector]:
            return lambda positions, count: self.value(node, side, _rows_at(rows, positions), count)

        def otherwise(positions: Rows | None, count: int) -> Vector:
            other_truth = truth if positions is None else truth[positions]
            return self._choose(
                other_truth == FALSE,
                lambda selected, selected_count: branch(negative)(_rows_at(positions, selected), selected_count),
                lambda selected, _: from_truths(other_truth if selected is None else other_truth[selected]),
                count,
            )

        return self._choose(truth == TRUE, branch(positive), otherwise, n)

    def _choose(
        self,
        mask: Array,
        yes: Callable[[Rows | None, int], Vector],
        no: Callable[[Rows | None, int], Vector],
        n: int,
    ) -> Vector:
        """Return *yes* of the rows where *mask* holds and *no* of the others; never call either with zero rows."""
        count = int(np.count_nonzero(mask))
        if count in (0, n):
            return yes(None, n) if count else no(None, n)
        first, second = np.nonzero(mask)[0], np.nonzero(~mask)[0]
        return merge(n, [(first, yes(first, count)), (second, no(second, n - count))])

    # functions

    def _call(self, node: Call, side: Side, rows: Rows | None, n: int) -> Vector:
        name = node.name.lower()
        if name == "ifthenelse" and len(node.arguments) == 3:
            return self._conditional(*node.arguments, side, rows, n)
        if name == "time" and not node.arguments:
            return self._now()
        if name == RANDOM and len(node.arguments) < 2:
            return self._random(node.arguments, side, rows, n)
        if name in TIMES or name in UNSCOPED:
            raise NotColumnar
        if name not in TAKE_LISTS and any(isinstance(argument, ListOf | NestedAd) for argument in node.arguments):
            raise NotColumnar(whole=True)
        arguments = self._arguments(node.arguments, side, rows, n)
        if len(arguments) == 1 and isinstance(only := arguments[0], Vector):
            if name in KIND_TESTS:
                return by_kinds(lambda part: kind_test(name, part), [only], n)
            if name in KERNELS:
                try:
                    return by_kinds(KERNELS[name], [only], n)
                except NotColumnar:
                    pass
        return by_arguments(node.name, arguments, n, self._pool)

    def _arguments(self, nodes: tuple[Node, ...], side: Side, rows: Rows | None, n: int) -> Arguments:
        return [
            self._arguments(node.items, side, rows, n) if isinstance(node, ListOf) else self.value(node, side, rows, n)
            for node in nodes
        ]

    def _now(self) -> Vector:
        now = self._parties.columns.now
        return constant(UNDEFINED if now is None else now, self._pool)

    def _random(self, arguments: tuple[Node, ...], side: Side, rows: Rows | None, n: int) -> Vector:
        """Return ``random()``: a different number in each row; the same time of the caller gives the same numbers."""
        self._draws += 1
        generator = np.random.default_rng([abs(self._parties.columns.now or 0), self._draws])
        fractions = generator.random(len(self._parties.columns))
        fractions = fractions if rows is None else fractions[rows]
        limit = self.value(arguments[0], side, rows, n) if arguments else constant(1.0, self._pool)
        parts = [
            (positions, random_below(limit_part, fractions if positions is None else fractions[positions]))
            for positions, (limit_part,) in pieces([limit], n)
        ]
        return merge(n, parts)

    # names

    def _reference(self, node: Reference, side: Side, rows: Rows | None, n: int) -> Vector:
        if node.absolute:
            raise NotColumnar
        name = node.name.lower()
        if node.scope is None:
            return self._unscoped_name(name, side, rows, n)
        scope = scope_side(node.scope, side, self._parties)
        if scope is not None:
            return self._attribute(name, scope, rows, n)
        return by_kinds(_select_from_value, [self.value(node.scope, side, rows, n)], n)

    def _unscoped_name(self, name: str, side: Side, rows: Rows | None, n: int) -> Vector:
        if name in RESERVED or not self._parties.may_lack(side, name):
            return self._attribute(name, side, rows, n)
        if not self._parties.owns(side, name):
            return self._attribute(name, side.other, rows, n)
        vector = self._parties.columns.column(name).vector
        own = vector.kind_array(len(self._parties.columns)) != MISSING
        return self._choose(
            own if rows is None else own[rows],
            lambda positions, count: self._attribute(name, side, _rows_at(rows, positions), count),
            lambda positions, count: self._attribute(name, side.other, _rows_at(rows, positions), count),
            n,
        )

    def _attribute(self, name: str, side: Side, rows: Rows | None, n: int) -> Vector:
        """Return the attribute *name* of the ads of *side* themselves, evaluated from their side."""
        owned = self._parties.owns(side, name)
        if name in RESERVED:
            if owned or name != CURRENT_TIME:
                raise NotColumnar
            return self._now()
        if not owned:
            return UNDEFINED_VECTOR
        if side is Side.AD:
            value = self._parties.attribute(name)
            if isinstance(value, Vector):
                return value if rows is None else value.take(rows)
            if value is None:
                raise NotColumnar
            return self._evaluate_attribute(value, name, side, rows, n)
        return self._column(name, rows, n)

    def _column(self, name: str, rows: Rows | None, n: int) -> Vector:
        column = self._parties.columns.column(name)
        vector = column.vector if rows is None else column.vector.take(rows)
        if column.kinds.isdisjoint((MISSING, EXPRESSION, RAW)):
            return vector
        parts: list[tuple[Rows | None, Vector]] = []
        for positions, (part,) in pieces([vector], n):
            if part.kind == EXPRESSION:
                assert part.data is not None
                codes = np.broadcast_to(part.data, n if positions is None else len(positions))
                for code in distinct(part.data).tolist():
                    selected = _rows_at(positions, np.nonzero(codes == code)[0])
                    expression = column.expressions[code]
                    value = self._evaluate_attribute(
                        expression,
                        name,
                        Side.COLUMNS,
                        _rows_at(rows, selected),
                        len(selected) if selected is not None else n,
                    )
                    parts.append((selected, value))
            elif part.kind == RAW:
                raise NotColumnar
            else:
                parts.append((positions, UNDEFINED_VECTOR if part.kind == MISSING else part))
        return merge(n, parts)

    def _evaluate_attribute(self, expression: Expression, name: str, side: Side, rows: Rows | None, n: int) -> Vector:
        """Evaluate an attribute's expression; one that refers back to itself is undefined, as in HTCondor."""
        key = (side, name)
        if key in self._active:
            return UNDEFINED_VECTOR
        if expression.node is None or len(self._active) >= _LONGEST_CHAIN:
            raise NotColumnar(whole=True)
        self._active.append(key)
        try:
            return self.value(expression.node, side, rows, n)
        finally:
            self._active.pop()


def _rows_at(rows: Rows | None, positions: Rows | None) -> Rows | None:
    """Return the rows of the columns at the positions *positions* in *rows*."""
    if rows is None or positions is None:
        return rows if positions is None else positions
    return rows[positions]


def _select_from_value(scope: Vector) -> Vector:
    """Return the value of ``scope.name`` when *scope* is a value."""
    if scope.kind == UNDEFINED_KIND:
        return UNDEFINED_VECTOR
    if scope.kind == LIST:
        raise NotColumnar
    return ERROR_VECTOR
