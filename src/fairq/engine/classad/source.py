"""The sources of the columns of many ads: the ads themselves, or other columns with a few changed ads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.columns.ads import AdTable, Repeated
from fairq.columns.overlay import OverlaidAds
from fairq.common.expression_form import OPEN
from fairq.engine.classad.column import ABSENT, Column, build
from fairq.engine.classad.kinds import EXPRESSION, RAW
from fairq.engine.classad.vectors import MIXED, Rows, ValuePool, Vector, merge

_LARGEST = 10**18
"""NumPy reads larger numbers as its largest one."""


def source_of(ads: Sequence[Mapping[str, Any]]) -> Source:
    """Return the source of the columns of *ads*."""
    return OverlaidSource(ads) if isinstance(ads, OverlaidAds) else Source(ads)


class Source:
    """Columns of *ads* in JSON form, each built when first read; attribute names ignore case."""

    def __init__(self, ads: Sequence[Mapping[str, Any]], pool: ValuePool | None = None) -> None:
        self._ads = ads
        self.pool = ValuePool() if pool is None else pool
        self._columns: dict[str, Column | None] = {}

    def __len__(self) -> int:
        return len(self._ads)

    def column(self, name: str) -> Column | None:
        """Return the column of the attribute of that lower-case name, None if no ad has it."""
        if name not in self._columns:
            self._columns[name] = self._build(name)
        return self._columns[name]

    def names(self) -> frozenset[str]:
        """Return the lower-case names of all attributes that any ad has."""
        return frozenset(self._spellings)

    def expression_candidates(self) -> frozenset[str]:
        """Return the lower-case names of the attributes that may be an expression, or hold one, in any ad."""
        return self._candidates

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        spellings: dict[str, list[str]] = {}
        every: set[str] = set()
        if isinstance(self._ads, AdTable):
            every = self._ads.names()
        else:
            every.update(*self._ads)
        for spelling in sorted(every):
            spellings.setdefault(spelling.lower(), []).append(spelling)
        return spellings

    @cached_property
    def _candidates(self) -> frozenset[str]:
        if not isinstance(self._ads, AdTable):
            return frozenset(
                name.lower()
                for ad in self._ads
                for name, value in ad.items()
                if value.__class__ in (list, dict) or (value.__class__ is str and value.startswith(OPEN))
            )
        candidates: set[str] = set()
        for part in self._ads.parts:
            for name, values in zip(part.names, part.columns, strict=True):
                if name.lower() not in candidates and _may_be_expression(values):
                    candidates.add(name.lower())
        return frozenset(candidates)

    def _build(self, name: str) -> Column | None:
        spellings = self._spellings.get(name)
        if spellings is None:
            return None
        if not isinstance(self._ads, AdTable):
            return build(self._values(spellings), self.pool)
        shared_value = self._ads.one_value(spellings)
        if shared_value is not None:
            return build([shared_value], self.pool)
        column = build(self._ads.values(spellings, ABSENT), self.pool)
        if self._row_order is None:
            return column
        return Column(column.vector.take(self._row_order), column.expressions, column.raw)

    @cached_property
    def _row_order(self) -> NDArray[np.intp] | None:
        """The position of each row's values in the table; None if positions and rows agree."""
        assert isinstance(self._ads, AdTable)
        rows = (part.rows for part in self._ads.parts)
        # Most parts are ranges, and arange is faster than an array of each row.
        row_arrays = [
            np.arange(part_rows.start, part_rows.stop) if isinstance(part_rows, range) else np.array(part_rows, np.intp)
            for part_rows in rows
        ]
        order = np.concatenate(row_arrays) if row_arrays else np.empty(0, np.intp)
        return None if (order[1:] > order[:-1]).all() else np.argsort(order)

    def _values(self, spellings: list[str]) -> list[Any]:
        if len(spellings) == 1:
            spelling = spellings[0]
            return [ad.get(spelling, ABSENT) for ad in self._ads]
        return [
            # the last of several spellings in one ad counts
            next((value for name, value in reversed(list(ad.items())) if name in spellings), ABSENT)
            for ad in self._ads
        ]


class OverlaidSource(Source):
    """Columns of ads with overlaid attributes; equal overlaid values are read once."""

    def __init__(self, ads: OverlaidAds) -> None:
        super().__init__(ads.base)
        self._overlaid_names = {name.lower(): name for name in ads.overlaid}
        self._overlaid = ads

    def names(self) -> frozenset[str]:
        """Return the lower-case names of all attributes that any ad has, own or overlaid."""
        return super().names() | self._overlaid_names.keys()

    def expression_candidates(self) -> frozenset[str]:
        """Return the lower-case names of the attributes that may be an expression, or hold one, in any ad."""
        ads = self._overlaid
        not_plain = ((lower, name) for lower, name in self._overlaid_names.items() if name not in ads.plain)
        return super().expression_candidates() | {
            lower for lower, name in not_plain if _may_be_expression(ads.over(name).values)
        }

    def _build(self, name: str) -> Column | None:
        below, overlaid_name = super()._build(name), self._overlaid_names.get(name)
        if overlaid_name is None:
            return below
        rows, values, value_indexes = self._overlaid.over(overlaid_name)
        column = build(list(values), self.pool)
        return _overlay_column(
            below or build([ABSENT], self.pool), column, column.vector.take(value_indexes), rows, len(self)
        )


class EditedSource(Source):
    """The *rows* of another source, with other ads at some positions (*changed*, by position)."""

    def __init__(self, base: Source, rows: NDArray[np.intp], changed: Mapping[int, Mapping[str, Any]]) -> None:
        self._base = base
        self._rows = rows
        self._edited = np.fromiter(changed, np.intp, len(changed))
        self._new = Source(list(changed.values()), base.pool)
        super().__init__((), base.pool)

    def __len__(self) -> int:
        return len(self._rows)

    def names(self) -> frozenset[str]:
        """Return the lower-case names of all attributes of the ads before and after the change."""
        return self._base.names() | self._new.names()

    def expression_candidates(self) -> frozenset[str]:
        """Return the lower-case names of the attributes that may be an expression, or hold one, in any ad."""
        return self._base.expression_candidates() | self._new.expression_candidates()

    def _build(self, name: str) -> Column | None:
        missing = build([ABSENT], self.pool)
        old, new = self._base.column(name) or missing, self._new.column(name) or missing
        if old is missing and new is missing:
            return None
        if not len(self._edited) or _is_same_value(old, new, self.pool):
            return Column(old.vector.take(self._rows), old.expressions, old.raw)
        below = Column(old.vector.take(self._rows), old.expressions, old.raw)
        return _overlay_column(below, new, new.vector, self._edited, len(self._rows))


def _is_same_value(old: Column, new: Column, pool: ValuePool) -> bool:
    """Return whether both columns store one value for all ads, and the same one."""
    if not (old.is_constant and new.is_constant and old.kinds == new.kinds):
        return False
    return repr(old.json_value(0, pool)) == repr(new.json_value(0, pool))


def _overlay_column(below: Column, new: Column, vector: Vector, rows: NDArray[np.intp], size: int) -> Column:
    """Return the column *below* of *size* rows with *vector*, whose codes refer to the column *new*, in *rows*."""
    is_unchanged = np.ones(size, np.bool_)
    is_unchanged[rows] = False
    unchanged = np.flatnonzero(is_unchanged)
    parts: list[tuple[Rows | None, Vector]] = [(rows, _shift_codes(vector, len(below.expressions), len(below.raw)))]
    if len(unchanged):
        parts.append((unchanged, below.vector.take(unchanged)))
    return Column(merge(size, parts), [*below.expressions, *new.expressions], [*below.raw, *new.raw])


def _shift_codes(vector: Vector, expressions: int, raw: int) -> Vector:
    """Add *expressions* to the codes of expressions in *vector*, and *raw* to the codes of raw values."""
    if vector.kind in (EXPRESSION, RAW):
        assert vector.data is not None
        return Vector(vector.kind, vector.data + (expressions if vector.kind == EXPRESSION else raw))
    if vector.kind != MIXED:
        return vector
    assert vector.kinds is not None and vector.codes is not None
    offsets = (vector.kinds == EXPRESSION) * expressions + (vector.kinds == RAW) * raw
    return Vector(MIXED, kinds=vector.kinds, codes=vector.codes + offsets, reals=vector.reals)


def _may_be_expression(values: Sequence[Any]) -> bool:
    """Return whether any of *values* is an expression, or a list or ad, which may contain one."""
    if isinstance(values, Repeated):
        values = values[:1]
    try:
        return OPEN in "\n".join(values)
    except TypeError:  # not only strings
        types = set(map(type, values))
    if types & {list, dict}:
        return True
    return str in types and any(type(value) is str and value.startswith(OPEN) for value in values)
