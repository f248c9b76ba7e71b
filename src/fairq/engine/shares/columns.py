"""Many records by column; each distinct text, list or number of a column is stored once.

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
"""Keys of row combinations must stay below this, so that they do not overflow."""


class Column(Struct, frozen=True):
    """Values of many rows: *codes* has the index of each row's value in *values*, which are distinct."""

    codes: Integers
    values: list[Any]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Column:
        """Return the column of hashable *values*."""
        distinct = list(dict.fromkeys(values))
        code_of_value = dict(zip(distinct, range(len(distinct)), strict=True))
        return cls(np.fromiter(map(code_of_value.__getitem__, values), np.int64, len(values)), distinct)

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
        code_of_value = dict(zip(self.values, range(len(self.values)), strict=True))
        other_codes = [code_of_value.setdefault(value, len(code_of_value)) for value in other.values]
        return Column(np.concatenate((self.codes, np.array(other_codes, np.int64)[other.codes])), list(code_of_value))

    def mapped(self, change: Callable[[Any], Any]) -> Column:
        """Return the column with *change* applied to each value."""
        return Column.of(list(map(change, self.values))).take(self.codes)

    def where(self, test: Callable[[Any], bool]) -> Mask:
        """Return the rows whose value passes *test*."""
        passing: Mask = np.fromiter(map(test, self.values), bool, len(self.values))[self.codes]
        return passing

    def compact(self) -> Column:
        """Return the same column without unused values."""
        used = np.bincount(self.codes, minlength=len(self.values)) > 0
        return Column((np.cumsum(used) - 1)[self.codes], [self.values[code] for code in np.flatnonzero(used).tolist()])


class Table(Struct, Generic[Record], frozen=True):
    """Records by column: it has the fields of the *record*, each a `Column`, a NumPy array or another table."""

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

    def row(self, index: int) -> Record:
        """Return the record of one row."""
        return self.take(np.array([index])).tolist()[0]

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
    """Group equal rows: return the first row of each group, and for each of the *size* rows the index of its group.

    The order of the groups has no meaning. A code may be -1, for no value.
    """
    keys, key_count = np.zeros(size, np.int64), 1
    for column in columns:
        code_count = len(column.values) + 1
        if key_count * code_count > _MOST_KEYS:
            keys = np.unique(keys, return_inverse=True)[1]
            key_count = size
        keys, key_count = keys * code_count + column.codes + 1, key_count * code_count
    _, first_rows, group_of_row = np.unique(keys, return_index=True, return_inverse=True)
    return first_rows, group_of_row
