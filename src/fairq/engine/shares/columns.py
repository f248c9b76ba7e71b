"""Many records by column; each distinct text, list or number of a column is kept once.

A condition is evaluated once for each distinct value, and for all rows by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Record = TypeVar("Record")
AnyTable = TypeVar("AnyTable", bound="Table[Any]")

_MOST_KEYS = 2**62
"""Numbers of kinds of rows must stay below this, so that they do not overflow."""


class Column(Struct, frozen=True):
    """Values of many rows: *codes* are the places of each row's value in *values*, where no two are equal."""

    codes: Integers
    values: list[Any]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Column:
        """Return the column of *values*, which are hashable."""
        different = list(dict.fromkeys(values))
        places = dict(zip(different, range(len(different)), strict=True))
        return cls(np.fromiter(map(places.__getitem__, values), np.int64, len(values)), different)

    def __len__(self) -> int:
        return len(self.codes)

    def tolist(self) -> list[Any]:
        """Return all values."""
        return [self.values[code] for code in self.codes.tolist()]

    def take(self, rows: Integers) -> Column:
        """Return the column of the values at *rows*."""
        return Column(self.codes[rows], self.values)

    def joined(self, other: Column) -> Column:
        """Return the column with the rows of *other* after its own."""
        places = dict(zip(self.values, range(len(self.values)), strict=True))
        of_other = [places.setdefault(value, len(places)) for value in other.values]
        return Column(np.concatenate((self.codes, np.array(of_other, np.int64)[other.codes])), list(places))

    def changed(self, change: Callable[[Any], Any]) -> Column:
        """Return the column of what *change* makes of each value."""
        return Column.of(list(map(change, self.values))).take(self.codes)

    def where(self, test: Callable[[Any], bool]) -> Mask:
        """Return the rows whose value passes *test*."""
        passes: Mask = np.fromiter(map(test, self.values), bool, len(self.values))[self.codes]
        return passes

    def compact(self) -> Column:
        """Return the same column without the values that no row has."""
        used = np.bincount(self.codes, minlength=len(self.values)) > 0
        return Column((np.cumsum(used) - 1)[self.codes], [self.values[code] for code in np.flatnonzero(used).tolist()])


class Table(Struct, Generic[Record], frozen=True):
    """Records by column: its fields are those of the *record*, each a `Column`, a NumPy array or another table."""

    record: ClassVar[Callable[..., Any]]

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns in the order of the fields of the record."""
        return tuple(getattr(self, name) for name in self.__struct_fields__)

    def __len__(self) -> int:
        return len(self.columns[0])

    def tolist(self) -> list[Record]:
        """Return the record of each row."""
        return list(map(self.record, *(column.tolist() for column in self.columns)))

    def row(self, place: int) -> Record:
        """Return the record of one row."""
        return self.take(np.array([place])).tolist()[0]

    def take(self: AnyTable, rows: Integers) -> AnyTable:
        """Return the table of the records at *rows*."""
        return type(self)(*(column.take(rows) for column in self.columns))

    def joined(self: AnyTable, other: AnyTable) -> AnyTable:
        """Return the table with the rows of *other* after its own."""
        if not len(other) or not len(self):
            return self if len(self) else other
        pairs = zip(self.columns, other.columns, strict=True)
        return type(self)(
            *(np.concatenate(pair) if isinstance(pair[0], np.ndarray) else pair[0].joined(pair[1]) for pair in pairs)
        )


def distinct_rows(columns: Iterable[Column], size: int) -> tuple[Integers, Integers]:
    """Return the first row of each kind of equal rows, and over the *size* rows the place of its kind among these.

    The kinds are in no order that means anything. A code may be -1, for no value.
    """
    keys, span = np.zeros(size, np.int64), 1
    for column in columns:
        of_column = len(column.values) + 1
        if span * of_column > _MOST_KEYS:
            keys = np.unique(keys, return_inverse=True)[1]
            span = size + 1
        keys, span = keys * of_column + column.codes + 1, span * of_column
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    return first, kinds
