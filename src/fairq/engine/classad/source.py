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
"""NumPy reads larger numbers as the largest one that it has."""


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
        found: dict[str, list[str]] = {}
        every: set[str] = set()
        if isinstance(self._ads, AdTable):
            every = self._ads.names()
        else:
            every.update(*self._ads)
        for spelling in sorted(every):
            found.setdefault(spelling.lower(), []).append(spelling)
        return found

    @cached_property
    def _candidates(self) -> frozenset[str]:
        if not isinstance(self._ads, AdTable):
            return frozenset(
                name.lower()
                for ad in self._ads
                for name, value in ad.items()
                if value.__class__ in (list, dict) or (value.__class__ is str and value.startswith(OPEN))
            )
        found: set[str] = set()
        for part in self._ads.parts:
            for name, values in zip(part.names, part.columns, strict=True):
                if name.lower() not in found and _may_be_expression(values):
                    found.add(name.lower())
        return frozenset(found)

    def _build(self, name: str) -> Column | None:
        spellings = self._spellings.get(name)
        if spellings is None:
            return None
        if not isinstance(self._ads, AdTable):
            return build(self._values(spellings), self.pool)
        one = self._ads.one_value(spellings)
        if one is not None:
            return build([one], self.pool)
        column = build(self._ads.values(spellings, ABSENT), self.pool)
        if self._places is None:
            return column
        return Column(column.vector.take(self._places), column.expressions, column.raw)

    @cached_property
    def _places(self) -> NDArray[np.intp] | None:
        """The position of each row's values in the table; None if they are in order."""
        assert isinstance(self._ads, AdTable)
        rows = (part.rows for part in self._ads.parts)
        # A range as an array is made at once, and most parts are one.
        pieces = [np.arange(of.start, of.stop) if isinstance(of, range) else np.array(of, np.intp) for of in rows]
        order = np.concatenate(pieces) if pieces else np.empty(0, np.intp)
        return None if (order[1:] > order[:-1]).all() else np.argsort(order)

    def _values(self, spellings: list[str]) -> list[Any]:
        if len(spellings) == 1:
            spelling = spellings[0]
            return [ad.get(spelling, ABSENT) for ad in self._ads]
        return [
            # of two spellings in one ad the last one counts
            next((value for name, value in reversed(list(ad.items())) if name in spellings), ABSENT)
            for ad in self._ads
        ]


class OverlaidSource(Source):
    """Columns of ads with attributes on top: what is on top is one value for all rows that have the same."""

    def __init__(self, ads: OverlaidAds) -> None:
        super().__init__(ads.base)
        self._over = {name.lower(): name for name in ads.overlaid}
        self._overlaid = ads

    def names(self) -> frozenset[str]:
        """Return the lower-case names of all attributes that any ad has, its own or on top."""
        return super().names() | self._over.keys()

    def expression_candidates(self) -> frozenset[str]:
        """Return the lower-case names of the attributes that may be an expression, or hold one, in any ad."""
        ads = self._overlaid
        open_ones = ((lower, name) for lower, name in self._over.items() if name not in ads.plain)
        return super().expression_candidates() | {
            lower for lower, name in open_ones if _may_be_expression(ads.over(name).values)
        }

    def _build(self, name: str) -> Column | None:
        below, on_top = super()._build(name), self._over.get(name)
        if on_top is None:
            return below
        rows, values, places = self._overlaid.over(on_top)
        column = build(list(values), self.pool)
        return _laid(below or build([ABSENT], self.pool), column, column.vector.take(places), rows, len(self))


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
        if not len(self._edited) or _same(old, new, self.pool):
            return Column(old.vector.take(self._rows), old.expressions, old.raw)
        below = Column(old.vector.take(self._rows), old.expressions, old.raw)
        return _laid(below, new, new.vector, self._edited, len(self._rows))


def _same(old: Column, new: Column, pool: ValuePool) -> bool:
    """Tell whether one value is stored for all ads of both."""
    if not (old.is_constant and new.is_constant and old.kinds == new.kinds):
        return False
    return repr(old.json_value(0, pool)) == repr(new.json_value(0, pool))


def _laid(below: Column, new: Column, vector: Vector, rows: NDArray[np.intp], size: int) -> Column:
    """Return the column *below* of *size* rows with the values *vector*, of the column *new*, in *rows*."""
    kept = np.ones(size, np.bool_)
    kept[rows] = False
    places = np.flatnonzero(kept)
    parts: list[tuple[Rows | None, Vector]] = [(rows, _shifted(vector, len(below.expressions), len(below.raw)))]
    if len(places):
        parts.append((places, below.vector.take(places)))
    return Column(merge(size, parts), [*below.expressions, *new.expressions], [*below.raw, *new.raw])


def _shifted(vector: Vector, expressions: int, raw: int) -> Vector:
    """Return a column's vector, with *expressions* added to its codes of expressions and *raw* to its raw codes."""
    if vector.kind in (EXPRESSION, RAW):
        assert vector.data is not None
        return Vector(vector.kind, vector.data + (expressions if vector.kind == EXPRESSION else raw))
    if vector.kind != MIXED:
        return vector
    assert vector.kinds is not None and vector.codes is not None
    more = (vector.kinds == EXPRESSION) * expressions + (vector.kinds == RAW) * raw
    return Vector(MIXED, kinds=vector.kinds, codes=vector.codes + more, reals=vector.reals)


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
