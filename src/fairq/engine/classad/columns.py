"""Many ads, for example all slots of a pool, as typed columns that are built on first read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairq.common.expression_form import expression_text
from fairq.engine.classad.budget import EvaluationBudget
from fairq.engine.classad.column import ABSENT, Column, build, build_array, build_numbers
from fairq.engine.classad.expression import expression_of, parse
from fairq.engine.classad.kinds import MISSING, UNDEFINED
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.references import Side, UnknownAd, closure
from fairq.engine.classad.source import EditedSource, Source, source_of
from fairq.engine.classad.vectors import Array


class AdColumns:
    """Ads in JSON form, read by column.

    *now*, in seconds since 1970, is the value of ``time()`` and ``CurrentTime`` in expressions. Without it they
    are undefined: evaluation never reads the clock. *budget* limits the cost of every evaluation for these ads;
    without one there is no limit. Attribute names ignore case.

    `costs` caches the bounds on the cost of expressions (`fairq.engine.classad.evaluation`).
    """

    def __init__(
        self,
        ads: Sequence[Mapping[str, Any]] | Source,
        now: int | None = None,
        budget: EvaluationBudget | None = None,
    ) -> None:
        self._source = ads if isinstance(ads, Source) else source_of(ads)
        self.now = now
        self.budget = budget
        self.costs: dict[Any, float] = {}
        self.pool = self._source.pool
        self._added: dict[str, Column] = {}
        self._expression_names: frozenset[str] | None = None
        self._missing = build([ABSENT], self.pool)

    def at(self, now: int | None) -> AdColumns:
        """Return the same ads at another time, without attributes set later; both share the columns already read."""
        return AdColumns(self._source, now, self.budget)

    def edited(self, rows: NDArray[np.intp], changed: Mapping[int, Mapping[str, Any]]) -> AdColumns:
        """Return the ads of *rows*, without attributes set later, with the ads of *changed* at their positions.

        Unchanged ads are not read again.
        """
        return AdColumns(EditedSource(self._source, rows, changed), self.now, self.budget)

    def __len__(self) -> int:
        return len(self._source)

    def names(self) -> frozenset[str]:
        """Return the lower-case names of all attributes that any ad has."""
        return self._source.names() | self._added.keys()

    def column(self, name: str) -> Column:
        """Return the column of the attribute of that lower-case name."""
        return self._added.get(name) or self._source.column(name) or self._missing

    def with_column(self, name: str, values: Array | Sequence[Any]) -> Self:
        """Set the attribute *name* of all ads, one value per row; return itself.

        In a list, None means that the row's ad lacks the attribute, and a string ``/Expr(…)/`` is an expression.
        Raises ValueError if the number of values differs from the number of rows.
        """
        if len(values) != len(self):
            raise ValueError(f"{len(values)} values of {name} for {len(self)} ads")
        if isinstance(values, np.ndarray):
            column = build_array(values, self.pool)
        else:
            column = build([ABSENT if value is None else value for value in values], self.pool)
        return self.give(name, column)

    def with_shared(self, name: str, values: Sequence[Any], value_indexes: NDArray[np.int64]) -> Self:
        """Set *name* in all ads as `with_column` does; *value_indexes* holds the index in *values* for each row."""
        if len(value_indexes) != len(self):
            raise ValueError(f"{len(value_indexes)} values of {name} for {len(self)} ads")
        column = build([ABSENT if value is None else value for value in values], self.pool)
        return self.give(name, Column(column.vector.take(value_indexes), column.expressions, column.raw))

    def with_numbers(self, name: str, values: NDArray[np.float64], present: NDArray[np.bool_]) -> Self:
        """Set the numeric attribute *name* where *present*, whole numbers as integers; return itself."""
        self._added[name.lower()] = build_numbers(values, present)
        self._expression_names = None
        return self

    def of_rows(self, rows: NDArray[np.intp]) -> AdColumns:
        """Return the ads of *rows* as separate columns; a row may occur more than once."""
        ads = self.edited(rows, {})
        for name, column in self._added.items():
            ads._added[name] = Column(column.vector.take(rows), column.expressions, column.raw)
        return ads

    def has(self, name: str) -> NDArray[np.bool_]:
        """Return for every row whether its ad has the attribute *name*."""
        has: NDArray[np.bool_] = self.column(name.lower()).vector.kind_array(len(self)) != MISSING
        return has

    def json_value(self, row: int, name: str) -> Any:
        """Return the attribute of *row* in JSON form, ABSENT if the ad has none; *name* in lower case."""
        return self.column(name).json_value(row, self.pool)

    def value(self, row: int, name: str) -> Any:
        """Return the attribute of *row* as a Python value; an expression is evaluated in that ad alone."""
        value = self.json_value(row, name.lower())
        if value is ABSENT:
            return UNDEFINED
        text = expression_text(value)
        if text is None:
            return value
        from fairq.engine.classad.scalar import evaluate_scalar

        ad = self.json_ad(row, self.names())
        return evaluate_scalar(parse(text), ad, now=self.now, budget=self.budget)

    def json_ad(self, row: int, names: Iterable[str]) -> dict[str, Any]:
        """Return *row*'s ad, with only the attributes *names* (in lower case)."""
        pairs = ((name, self.json_value(row, name)) for name in names)
        return {name: value for name, value in pairs if value is not ABSENT}

    def nodes(self, name: str) -> list[Node | None]:
        """Return the trees of all expressions and nested values the attribute has; None for an unreadable one."""
        column = self.column(name)
        return [expression.node for expression in column.expressions] + [expression_of(raw).node for raw in column.raw]

    def external_references(self, attributes: Iterable[str] | None = None) -> frozenset[str]:
        """Return the lower-case names that expressions of the ads read and that the ads themselves may lack.

        Only the expressions of *attributes*, and those that they refer to, count; None means all attributes.
        EVERY_ATTRIBUTE is among the names if the attributes cannot be determined.
        """
        names = self.expression_names() if attributes is None else {name.lower() for name in attributes}
        start = [(Side.COLUMNS, node) for name in sorted(names) for node in self.nodes(name)]
        return closure(start, UnknownAd((), self)).single_names()

    def give(self, name: str, column: Column) -> Self:
        """Set the attribute *name* of all ads to the values of *column*; return itself."""
        self._added[name.lower()] = column if len(self) else self._missing
        self._expression_names = None
        if column.expressions or column.raw:
            self.costs.clear()
        return self

    def expression_names(self) -> frozenset[str]:
        """Return the lower-case names of the attributes that are an expression in some ad."""
        if self._expression_names is None:
            candidates = self._source.expression_candidates() | self._added.keys()
            self._expression_names = frozenset(name for name in candidates if self.nodes(name))
        return self._expression_names
