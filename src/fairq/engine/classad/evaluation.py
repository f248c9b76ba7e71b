"""The entry points of the package: evaluate expressions, and find the attributes that they read.

Evaluation keeps to the budget of the columns: expressions with a bound on their cost run in batches, those without one
under guard. An expression that uses up the budget counts as ERROR for the remaining rows.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.budget import Culprit, EvaluationBudget, free_seconds
from fairq.engine.classad.column import Column
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.convert import from_values, item
from fairq.engine.classad.costs import BATCH, UNGUARDED, Costs
from fairq.engine.classad.distinct import distinct_rows
from fairq.engine.classad.evaluator import evaluate_freely
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.kinds import ERROR, EXPRESSION, INTEGER, OTHER, RAW
from fairq.engine.classad.nodes import Node, Reference
from fairq.engine.classad.parties import Parties, PartiesOfRows
from fairq.engine.classad.references import EVERY_ATTRIBUTE, RESERVED, Side, UnknownAd, closure, scope_side
from fairq.engine.classad.values import Values
from fairq.engine.classad.vectors import ERROR_VECTOR, UNDEFINED_VECTOR, Array, Rows, Vector, merge

RowNumbers = NDArray[Any] | Sequence[int] | None


def evaluate_in_ad(
    expression: Expression, ad: Mapping[str, Any], columns: AdColumns, rows: RowNumbers = None
) -> Values:
    """Evaluate with MY the single *ad* and TARGET each row: a job's Requirements or Rank over slots."""
    return _evaluate(expression, Side.AD, ad, columns, rows)


def evaluate_in_columns(
    expression: Expression | str, columns: AdColumns, ad: Mapping[str, Any], rows: RowNumbers = None
) -> Values:
    """Evaluate with MY each row and TARGET the single *ad*: the negotiator's ranks over slots.

    A string is the name of an attribute: each row's own expression of that name (undefined where it has none).
    """
    if isinstance(expression, str):
        expression = Expression(f"MY.{expression}", Reference(Reference(None, "MY"), expression))
    return _evaluate(expression, Side.COLUMNS, ad, columns, rows)


def _evaluate(
    expression: Expression, side: Side, ad: Mapping[str, Any], columns: AdColumns, rows: RowNumbers
) -> Values:
    numbers = None if rows is None else np.asarray(rows, np.intp)
    vector = evaluate(expression, side, Parties(ad, columns), numbers)
    return Values(vector, len(columns) if numbers is None else len(numbers), columns.pool)


def attributes_read(
    expressions: Iterable[Expression],
    side: Literal["my", "target"],
    columns: AdColumns,
    ads: Iterable[Mapping[str, Any]] = (),
) -> frozenset[str]:
    """Return the lower-case names of all attributes of the single ad that can influence the expressions.

    *side* is the role of the single ad: "my" as in a job's Requirements, "target" as in the negotiator's ranks.
    References are followed through the expressions of *columns* and of *ads*. The answer holds for all *ads*
    as the single ad. EVERY_ATTRIBUTE is among the names if the attributes cannot be determined.
    """
    party = Side.AD if side == "my" else Side.COLUMNS
    start: list[tuple[Side, Node | None]] = [(party, expression.node) for expression in expressions]
    return closure(start, UnknownAd(ads, columns)).single_names()


def columns_read(
    expressions: Iterable[Expression], side: Literal["my", "target"], columns: AdColumns
) -> frozenset[str]:
    """Return the lower-case names of all attributes of *columns* that can influence the expressions.

    *side* is the role of the single ad, as in `attributes_read`. EVERY_ATTRIBUTE is among the names if the
    attributes cannot be determined.
    """
    party = Side.AD if side == "my" else Side.COLUMNS
    reads = closure([(party, expression.node) for expression in expressions], UnknownAd((), columns))
    unknown: frozenset[str] = frozenset({EVERY_ATTRIBUTE}) if reads.everything else frozenset()
    return reads.names(Side.COLUMNS) | unknown


_SMALL_BATCH: Final = 200_000
"""Nodes to evaluate between two readings of the meter after the budget is used up."""

_LARGEST_BATCH: Final = 1024
"""Most rows to evaluate at once under guard."""

_MOST_CLASSES: Final = 16
"""Maximum number of classes without a bound to evaluate separately; the others are evaluated together."""

_ATTRIBUTE: Final = re.compile(r"(?:MY\.)?(\w+)")


def evaluate(expression: Expression, side: Side, parties: Parties, rows: Rows | None) -> Vector:
    """Return the values of *expression*, MY being *side*, for the given rows of the columns (None: for all)."""
    n = len(parties.columns) if rows is None else len(rows)
    if n == 0:
        return UNDEFINED_VECTOR
    budget = parties.columns.budget
    if budget is None or _is_constant_column(expression, side, parties):
        return evaluate_freely(expression, side, parties, rows, n)
    nodes = bound(expression, side, parties)
    metered = _Metered(expression, side, parties, budget)
    if nodes <= UNGUARDED:
        return metered.in_batches(rows, n, nodes)
    return metered.by_risk(rows, n)


def _is_constant_column(expression: Expression, side: Side, parties: Parties) -> bool:
    """Return whether *expression* is an attribute of the columns that has constants only, which need no meter."""
    node = expression.node
    if side is Side.AD or not isinstance(node, Reference) or node.scope is None or node.name.lower() in RESERVED:
        return False
    column = parties.columns.column(node.name.lower())
    return not (column.expressions or column.raw) and scope_side(node.scope, side, parties) is side


def bound(expression: Expression, side: Side, parties: Parties) -> float:
    """Return the bound for one evaluation for any row, computed once for all single ads of one shape."""
    cache = parties.columns.costs
    key = (expression.text, side, parties.shape())
    nodes = cache.get(key)
    if nodes is None:
        nodes = Costs(parties).nodes(expression.node, side)
        if not parties.looked_at_texts:
            cache[key] = nodes
    return nodes


class _Metered:
    """One expression for one pair of parties; *budget* pays for its evaluation."""

    def __init__(self, expression: Expression, side: Side, parties: Parties, budget: EvaluationBudget) -> None:
        self._expression = expression
        self._side = side
        self._parties = parties
        self._budget = budget

    def in_batches(self, rows: Rows | None, n: int, nodes: float) -> Vector:
        """Evaluate rows that cost at most *nodes* each; read the meter after each batch."""
        budget, key = self._budget, self._key(())
        free = free_seconds(n)
        parts: list[tuple[Rows | None, Vector]] = []
        done = 0
        while done < n:
            seconds_left, limit = budget.seconds_left(key)
            if seconds_left + free <= 0:
                parts.append((np.arange(done, n), ERROR_VECTOR))
                row = int(done if rows is None else rows[done])
                budget.record(self._find_culprit(None, row), limit, 0.0, n - done)
                break
            size = max(1, int((BATCH if seconds_left > 0 else _SMALL_BATCH) / nodes))
            start = budget.meter()
            if done == 0 and size >= n:
                batch, positions = rows, None
            else:
                positions = np.arange(done, min(n, done + size))
                batch = positions if rows is None else rows[positions]
            count = n if positions is None else len(positions)
            parts.append((positions, evaluate_freely(self._expression, self._side, self._parties, batch, count)))
            used = budget.meter() - start
            budget.charge(key, used - free)
            free = max(0.0, free - used)
            done += count
        return parts[0][1] if len(parts) == 1 and parts[0][0] is None else merge(n, parts)

    def by_risk(self, rows: Rows | None, n: int) -> Vector:
        """Evaluate rows without a bound separately, so that one slot's expression does not use up the others' time."""
        classes = list(self._classes(rows, n))
        bounded: list[Rows] = []
        unbounded: list[tuple[Rows, tuple[str, ...], Culprit]] = []
        most_nodes = 1.0
        # Bisect the classes: if a half has a bound as a whole, its classes need no separate check.
        pending = [(0, len(classes))]
        while pending:
            first, end = pending.pop()
            positions = np.concatenate([positions for positions, _ in classes[first:end]])
            selected = positions if rows is None else rows[positions]
            costs = Costs(PartiesOfRows(self._parties, selected))
            nodes = costs.nodes(self._expression.node, self._side)
            if nodes <= UNGUARDED:
                bounded.append(positions)
                most_nodes = max(most_nodes, nodes)
            elif end - first == 1 or len(unbounded) >= _MOST_CLASSES:
                expressions = classes[first][1] if end - first == 1 else ()
                unbounded.append((positions, expressions, self._find_culprit(costs.culprit, int(selected[0]))))
            else:
                middle = (first + end) // 2
                pending += [(middle, end), (first, middle)]
        parts: list[tuple[Rows | None, Vector]] = []
        if bounded:
            positions = np.sort(np.concatenate(bounded))
            parts.append(
                (positions, self.in_batches(positions if rows is None else rows[positions], len(positions), most_nodes))
            )
        for positions, expressions, culprit in unbounded:
            parts.append(
                (positions, self._under_guard(positions if rows is None else rows[positions], expressions, culprit))
            )
        return merge(n, parts)

    def _classes(self, rows: Rows | None, n: int) -> Iterator[tuple[Rows, tuple[str, ...]]]:
        """Yield the positions of rows with the same expressions in every attribute read, and these expressions."""
        columns = self._parties.columns
        reads = closure([(self._side, self._expression.node)], self._parties)
        names = columns.expression_names()
        if not reads.everything:
            names &= reads.names(Side.COLUMNS)
        columns_with_expressions = [columns.column(name) for name in sorted(names)]
        codes = [Vector(INTEGER, _expression_codes(column)) for column in columns_with_expressions]
        firsts, class_numbers = distinct_rows([code if rows is None else code.take(rows) for code in codes], n)
        order = np.argsort(class_numbers, kind="stable")
        for positions in np.split(order, np.searchsorted(class_numbers[order], np.arange(1, len(firsts)))):
            row = int(positions[0] if rows is None else rows[positions[0]])
            code_pairs = [
                (column, item(code, row, columns.pool))
                for column, code in zip(columns_with_expressions, codes, strict=True)
            ]
            yield positions, tuple(column.expressions[code - 1].text for column, code in code_pairs if code > 0)

    def _under_guard(self, rows: Rows, expressions: tuple[str, ...], culprit: Culprit) -> Vector:
        count = len(rows)
        values = self._budget.under_guard(
            lambda: self._growing_batches(rows), self._key(expressions), culprit, count, free_seconds(count)
        )
        values += [(ERROR, False)] * (count - len(values))
        opaque = {index for index, (_, is_opaque) in enumerate(values) if is_opaque}
        return from_values([value for value, _ in values], self._parties.columns.pool, opaque)

    def _growing_batches(self, rows: Rows) -> Iterator[list[tuple[Any, bool]]]:
        """Yield the values of 1 row, the next 2, the next 4 and so on: an evaluation that is ended loses few values.

        Each item is a Python value and whether its kind is OTHER, as for a relative time.
        """
        pool = self._parties.columns.pool
        done, size = 0, 1
        while done < len(rows):
            batch = rows[done : done + size]
            vector = evaluate_freely(self._expression, self._side, self._parties, batch, len(batch))
            kinds = vector.kind_array(len(batch)).tolist()
            yield [(item(vector, index, pool), kind == OTHER) for index, kind in enumerate(kinds)]
            done += size
            size = min(2 * size, _LARGEST_BATCH)

    def _key(self, expressions: tuple[str, ...]) -> Hashable:
        return self._side, self._expression.text, expressions

    def _find_culprit(self, attribute: tuple[Side, str] | None, row: int) -> Culprit:
        """Return the expression to name: that of the *attribute* without a bound, else the whole expression."""
        parties = self._parties
        if attribute is None and self._side is Side.COLUMNS:
            own = _ATTRIBUTE.fullmatch(self._expression.text)
            attribute = None if own is None else (Side.COLUMNS, own.group(1).lower())
        if attribute is not None and (text := parties.text(*attribute, row)) is not None:
            return Culprit(attribute[1], text, of_slot=attribute[0] is Side.COLUMNS)
        text = self._expression.text
        name = parties.name_of(text) if self._side is Side.AD else None
        return Culprit(name or self._budget.names.get(text), text, of_slot=False)


def _expression_codes(column: Column) -> Array:
    """Return a number for each row's value: from 1 up for expressions, below 0 for nested values, 0 for constants."""
    vector = column.vector
    if vector.kind in (EXPRESSION, RAW):
        assert vector.data is not None
        return vector.data + 1 if vector.kind == EXPRESSION else -1 - vector.data
    if vector.kinds is None or vector.codes is None:
        return np.zeros(1, np.int64)
    codes: Array = (vector.kinds == EXPRESSION) * (vector.codes + 1) - (vector.kinds == RAW) * (vector.codes + 1)
    return codes
