"""Columns of many task queues' requirements, in which each distinct text and each distinct list is kept once.

A condition is then evaluated once for each distinct value, and for all queues by NumPy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FEW = 30
"""Up to so many lists are looked for one by one; for more, a dictionary of all known ones is made."""

_MOST_KEYS = 2**62
"""Numbers of kinds of rows must stay below this, so that they do not overflow."""

_EXACT = 2**53
"""Up to here an integer and a float compare in NumPy as they do in Python."""


def coded(values: Collection[Any], known: dict[Any, int]) -> Integers:
    """Return the numbers that *known* has for *values*; new ones get the next numbers."""
    # By C code, in a third of the time of a setdefault for each.
    new = [value for value in dict.fromkeys(values) if value not in known]
    known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
    return np.fromiter(map(known.__getitem__, values), np.int64, len(values))


class NumberColumn(Struct, frozen=True):
    """Numbers; those beyond `_EXACT`, and others than integers, are Python objects."""

    values: NDArray[Any]

    @classmethod
    def of(cls, values: Sequence[Any]) -> NumberColumn:
        """Return the column of *values*."""
        is_exact = all(type(value) is int and -_EXACT <= value <= _EXACT for value in set(values))
        return cls(np.array(values, np.int64 if is_exact else object))

    def __getitem__(self, place: int) -> Any:
        return self.values[place : place + 1].tolist()[0]

    def tolist(self) -> list[Any]:
        """Return all values."""
        found: list[Any] = self.values.tolist()
        return found

    def take(self, places: Integers) -> NumberColumn:
        """Return the column of the values at *places*."""
        return NumberColumn(self.values[places])

    def joined(self, other: NumberColumn) -> NumberColumn:
        """Return the column with the rows of *other* after its own."""
        return NumberColumn(np.concatenate((self.values, other.values)))

    def keys(self) -> Integers:
        """Return integers that are equal for equal rows, and only for these."""
        if self.values.dtype != object:
            exact: Integers = self.values
            return exact
        return coded(self.values.tolist(), {})

    def where(self, value: Any, places: Integers) -> Integers:
        """Return those of *places* that have *value*."""
        found: Integers = places[np.asarray(self.values[places] == value, bool)]
        return found


class TextColumn(Struct, frozen=True):
    """Texts: *codes* are their places in *names*."""

    codes: Integers
    names: list[str]

    @classmethod
    def of(cls, values: Sequence[str]) -> TextColumn:
        """Return the column of *values*."""
        known: dict[str, int] = {}
        codes = coded(values, known)
        return cls(codes, list(known))

    def __getitem__(self, place: int) -> str:
        name: str = self.names[self.codes[place]]
        return name

    def tolist(self) -> list[str]:
        """Return all values."""
        return [self.names[code] for code in self.codes.tolist()]

    def take(self, places: Integers) -> TextColumn:
        """Return the column of the values at *places*."""
        return TextColumn(self.codes[places], self.names)

    def joined(self, other: TextColumn) -> TextColumn:
        """Return the column with the rows of *other* after its own."""
        known = {name: code for code, name in enumerate(self.names)}
        places = np.fromiter((known.setdefault(name, len(known)) for name in other.names), np.int64, len(other.names))
        return TextColumn(np.concatenate((self.codes, places[other.codes])), list(known))

    def keys(self) -> Integers:
        """Return integers that are equal for equal rows, and only for these."""
        return self.codes

    def where(self, value: str, places: Integers) -> Integers:
        """Return those of *places* that have *value*."""
        if value not in self.names:
            return places[:0]
        found: Integers = places[self.codes[places] == self.names.index(value)]
        return found

    def among(self, wanted: Collection[str]) -> Mask:
        """Return which values are among *wanted*."""
        is_wanted: Mask = _among(self.names, wanted)[self.codes]
        return is_wanted


class ListColumn(Struct, frozen=True):
    """Lists of names: *codes* are places of distinct lists.

    Of the distinct lists, *lengths* has the number of names, and *items* the names one after the other, as places in
    *names*.
    """

    codes: Integers
    lengths: Integers
    items: Integers
    names: list[str]

    @classmethod
    def of(cls, values: Sequence[tuple[str, ...]]) -> ListColumn:
        """Return the column of *values*."""
        lists: dict[tuple[str, ...], int] = {}
        codes = coded(values, lists)
        items = TextColumn.of(list(chain.from_iterable(lists)))
        return cls(codes, np.fromiter(map(len, lists), np.int64, len(lists)), items.codes, items.names)

    def __getitem__(self, place: int) -> tuple[str, ...]:
        return self.take(np.array([place])).tolist()[0]

    def distinct(self) -> list[tuple[str, ...]]:
        """Return the distinct lists, by code."""
        names = [self.names[item] for item in self.items.tolist()]
        ends = list(accumulate(self.lengths.tolist(), initial=0))
        return [tuple(names[start:end]) for start, end in pairwise(ends)]

    def tolist(self) -> list[tuple[str, ...]]:
        """Return all values."""
        used = self._compact() if len(self.codes) < len(self.lengths) else self
        lists = used.distinct()
        return [lists[code] for code in used.codes.tolist()]

    def _compact(self) -> ListColumn:
        """Return the same column without the distinct lists that no row has."""
        used, codes = np.unique(self.codes, return_inverse=True)
        lengths = self.lengths[used]
        starts, first = np.cumsum(self.lengths) - self.lengths, np.cumsum(lengths) - lengths
        items = self.items[np.repeat(starts[used] - first, lengths) + np.arange(lengths.sum())]
        return ListColumn(codes, lengths, items, self.names)

    def take(self, places: Integers) -> ListColumn:
        """Return the column of the values at *places*."""
        return ListColumn(self.codes[places], self.lengths, self.items, self.names)

    def joined(self, other: ListColumn) -> ListColumn:
        """Return the column with the rows of *other* after its own."""
        more = other._compact()
        lists = more.distinct()
        many = len(lists) > _FEW
        known = {one: code for code, one in enumerate(self.distinct())} if many else {}
        found = [known.get(one) if many else self._code(one) for one in lists]
        added = [one for one, code in zip(lists, found, strict=True) if code is None]
        fresh = iter(range(len(self.lengths), len(self.lengths) + len(added)))
        places = np.array([next(fresh) if code is None else code for code in found], np.int64)
        names = {name: code for code, name in enumerate(self.names)}
        items = (names.setdefault(name, len(names)) for name in chain.from_iterable(added))
        return ListColumn(
            np.concatenate((self.codes, places[more.codes])),
            np.concatenate((self.lengths, np.fromiter(map(len, added), np.int64, len(added)))),
            np.concatenate((self.items, np.fromiter(items, np.int64))),
            list(names),
        )

    def keys(self) -> Integers:
        """Return integers that are equal for equal rows, and only for these."""
        return self.codes

    def where(self, value: tuple[str, ...], places: Integers) -> Integers:
        """Return those of *places* that have *value*."""
        code = self._code(value)
        return places[:0] if code is None else places[self.codes[places] == code]

    def _code(self, value: tuple[str, ...]) -> int | None:
        """Return the code of a list; None if no row has it."""
        if not len(self.lengths) or not set(value).issubset(self.names):
            return None
        found = np.flatnonzero(self.lengths == len(value))
        if value and len(found):
            starts = (np.cumsum(self.lengths) - self.lengths)[found]
            for place, name in enumerate(value):
                same = self.items[starts + place] == self.names.index(name)
                found, starts = found[same], starts[same]
        return int(found[0]) if len(found) else None

    def is_empty(self) -> Mask:
        """Return which lists are empty."""
        empty: Mask = (self.lengths == 0)[self.codes]
        return empty

    def has_any(self, wanted: Collection[str]) -> Mask:
        """Return which lists have at least one of *wanted*."""
        has: Mask = (self._count(wanted) > 0)[self.codes]
        return has

    def has_all(self, wanted: Iterable[str]) -> Mask:
        """Return which lists have every name of *wanted*."""
        has = np.ones(len(self.lengths), bool)
        for name in set(wanted):
            has &= self._count((name,)) > 0
        found: Mask = has[self.codes]
        return found

    def is_within(self, offered: Collection[str]) -> Mask:
        """Return which lists have no other names than *offered*."""
        within: Mask = (self._count(offered) == self.lengths)[self.codes]
        return within

    def _count(self, wanted: Collection[str]) -> Integers:
        """Return, over the distinct lists, the number of names that are among *wanted*."""
        is_wanted = _among(self.names, wanted)
        if not is_wanted.any():
            return np.zeros(len(self.lengths), np.int64)
        lists = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return np.bincount(lists[is_wanted[self.items]], minlength=len(self.lengths))


def distinct_rows(columns: Iterable[Integers]) -> tuple[Integers, Integers]:
    """Return the first row of each kind of equal rows, and over the rows the place of its kind among these.

    The kinds are in no order that means anything. There must be at least one column.
    """
    keys, size = np.zeros(0, np.int64), 0
    for column in columns:
        if not size:
            keys, size = _from_zero(column)
            continue
        codes, span = _from_zero(column)
        if size * span > _MOST_KEYS:
            keys, size = _dense(keys)
            codes, span = _dense(codes)
        keys, size = keys * span + codes, size * span
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    return first, kinds


def _from_zero(column: Integers) -> tuple[Integers, int]:
    """Return *column* with 0 as its least number, and a number that is above all of it."""
    if not len(column):
        return column, 1
    least = int(column.min())
    return column - least, int(column.max()) - least + 1


def _dense(column: Integers) -> tuple[Integers, int]:
    """Return the places of the numbers of *column* among its different ones, and how many these are."""
    different, places = np.unique(column, return_inverse=True)
    return places, max(1, len(different))


def _among(names: Sequence[str], wanted: Collection[str]) -> Mask:
    return np.fromiter((name in wanted for name in names), bool, len(names))
