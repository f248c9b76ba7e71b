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

_EXACT = 2**53
"""Up to here an integer and a float compare in NumPy as they do in Python."""


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

    def extended(self, values: Sequence[Any]) -> NumberColumn:
        """Return the column with *values* after its own."""
        return NumberColumn(np.concatenate((self.values, NumberColumn.of(values).values)))

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
        return cls(np.empty(0, np.int64), []).extended(values)

    def __getitem__(self, place: int) -> str:
        name: str = self.names[self.codes[place]]
        return name

    def tolist(self) -> list[str]:
        """Return all values."""
        return [self.names[code] for code in self.codes.tolist()]

    def take(self, places: Integers) -> TextColumn:
        """Return the column of the values at *places*."""
        return TextColumn(self.codes[places], self.names)

    def extended(self, values: Sequence[str]) -> TextColumn:
        """Return the column with *values* after its own."""
        known = {name: code for code, name in enumerate(self.names)}
        added = np.fromiter((known.setdefault(name, len(known)) for name in values), np.int64, len(values))
        return TextColumn(np.concatenate((self.codes, added)), list(known))

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
        none = np.empty(0, np.int64)
        return cls(none, none, none, []).extended(values)

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

    def extended(self, values: Sequence[tuple[str, ...]]) -> ListColumn:
        """Return the column with *values* after its own."""
        known = {name: code for code, name in enumerate(self.names)}
        lists: dict[tuple[str, ...], int] = {}
        added: list[tuple[str, ...]] = []
        for one in values:
            if one not in lists:
                code = self._code(one)
                lists[one] = len(self.lengths) + len(added) if code is None else code
                if code is None:
                    added.append(one)
        items = (known.setdefault(name, len(known)) for name in chain.from_iterable(added))
        return ListColumn(
            np.concatenate((self.codes, np.fromiter((lists[one] for one in values), np.int64, len(values)))),
            np.concatenate((self.lengths, np.fromiter(map(len, added), np.int64, len(added)))),
            np.concatenate((self.items, np.fromiter(items, np.int64))),
            list(known),
        )

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


def _among(names: Sequence[str], wanted: Collection[str]) -> Mask:
    return np.fromiter((name in wanted for name in names), bool, len(names))
