"""Many ads stored by column, as files and the state provide them: cheaper to store and read than single ads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from fairq.columns.rows import Rows
from fairq.common.records import Ad

_ALWAYS_ONE = frozenset({str, int, bool, NoneType})
_SIMPLE = frozenset({str, int, bool, float})
"""Types whose values are the same if they are written the same."""


class Part(NamedTuple):
    """Ads with the same attributes in the same order: their *names*, their *rows* (ascending), and the columns."""

    names: tuple[str, ...]
    rows: Sequence[int]
    columns: Sequence[Sequence[Any]]

    def column_at(self, number: int, positions: Sequence[int]) -> Sequence[Any]:
        """Return the values of a column at *positions* (ascending)."""
        column = self.columns[number]
        return column if len(positions) == len(column) else picked(column, positions)


class AdTable(Rows[Ad]):
    """Ads in JSON form; ads of the same shape share their names and are stored by column.

    Read it only after all rows are added. Reading an ad builds a new dict, which the caller may change.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._size = 0

    def put(self, rows: Sequence[int], ads: Sequence[Ad]) -> None:
        """Add *ads* as *rows* (ascending) of the table; every row is added once."""
        if not ads:
            return
        shapes: dict[tuple[str, ...], list[int]] = {}
        for position, ad in enumerate(ads):
            shapes.setdefault(tuple(ad), []).append(position)
        for names, positions in shapes.items():
            columns = list(map(shared, zip(*[ads[position].values() for position in positions], strict=True)))
            is_one_shape = len(positions) == len(ads)
            self.parts.append(
                Part(names, rows if is_one_shape else [rows[position] for position in positions], columns)
            )
        self._size += len(ads)

    def put_columns(self, names: tuple[str, ...], rows: Sequence[int], columns: Sequence[Sequence[Any]]) -> None:
        """Add ads as *rows* (ascending), by column; all have the attributes *names* in this order."""
        if rows:
            self.parts.append(Part(names, rows, columns))
            self._size += len(rows)

    def split(self, separate: Collection[int]) -> tuple[AdTable, dict[int, Ad]]:
        """Return the ads without the *separate* rows, and the ads of these rows by row."""
        if not separate:
            return self, {}
        others, ads = AdTable(), dict[int, Ad]()
        for part in self.parts:
            positions = [position for position, row in enumerate(part.rows) if row not in separate]
            columns = [part.column_at(column, positions) for column in range(len(part.names))]
            others.put_columns(part.names, [part.rows[position] for position in positions], columns)
            if len(positions) < len(part.rows):
                for position, row in enumerate(part.rows):
                    if row in separate:
                        ads[row] = dict(zip(part.names, (column[position] for column in part.columns), strict=True))
        return others, dict(sorted(ads.items()))

    def __len__(self) -> int:
        return self._size

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        for part in self.parts:
            if part.rows[0] <= row <= part.rows[-1]:
                position = bisect_left(part.rows, row)
                if part.rows[position] == row:
                    return {name: column[position] for name, column in zip(part.names, part.columns, strict=True)}
        raise IndexError(row)

    def __iter__(self) -> Iterator[Ad]:
        ads: list[Ad] = [{}] * self._size
        for part in self.parts:
            values = zip(*part.columns, strict=True) if part.columns else [()] * len(part.rows)
            for row, row_values in zip(part.rows, values, strict=True):
                ads[row] = dict(zip(part.names, row_values, strict=True))
        return iter(ads)

    def brief(self, lower: Collection[str]) -> Iterator[Ad]:
        """Yield the ads with only the attributes in *lower*, which are lower-case names."""
        table = AdTable()
        for names, rows, columns in self.parts:
            positions = [position for position, name in enumerate(names) if name.lower() in lower]
            table.put_columns(
                tuple(names[position] for position in positions), rows, [columns[position] for position in positions]
            )
        return iter(table)

    def names(self) -> set[str]:
        """Return all names as spelled in any ad."""
        return {name for part in self.parts for name in part.names}

    def order(self) -> list[int]:
        """Return the row of each value that `values` returns."""
        return [row for part in self.parts for row in part.rows]

    def one_value(self, spellings: Sequence[str]) -> str | float | None:
        """Return an attribute's value if all ads are known to have the same text, number or truth value, else None."""
        values: list[Any] = []
        for part, position in self._positions(spellings):
            column = None if position is None else part.columns[position]
            if not isinstance(column, Repeated):
                return None
            values.append(column[0])
        types = set(map(type, values))
        # As written, 0.0 and -0.0 differ.
        is_same = len(types) == 1 and types <= _SIMPLE and len(set(map(repr, values))) == 1
        return values[0] if is_same else None

    def _positions(self, spellings: Sequence[str]) -> Iterator[tuple[Part, int | None]]:
        """Yield every part with the position of an attribute, by any of these *spellings*; the last one counts."""
        accepted = set(spellings)
        positions: dict[tuple[str, ...], int | None] = {}
        for part in self.parts:
            if part.names not in positions:
                matching = (index for index in reversed(range(len(part.names))) if part.names[index] in accepted)
                positions[part.names] = next(matching, None)
            yield part, positions[part.names]

    def columns(self, spellings: Sequence[str]) -> Iterator[Sequence[Any] | None]:
        """Yield an attribute's column from every part, by any of these *spellings*; None if the part lacks it."""
        return (None if position is None else part.columns[position] for part, position in self._positions(spellings))

    def values(self, spellings: Sequence[str], absent: Any) -> list[Any]:
        """Return an attribute of every ad, by any of these *spellings* (the last in an ad counts), else *absent*."""
        values: list[Any] = []
        for part, position in self._positions(spellings):
            values.extend([absent] * len(part.rows) if position is None else part.columns[position])
        return values


class EditedAds(Rows[Ad]):
    """The *rows* of other ads, where *changed* has the ads of some rows instead."""

    def __init__(self, ads: Sequence[Ad], rows: Sequence[int], changed: Mapping[int, Ad]) -> None:
        self._ads = ads
        self._rows = rows
        self._changed = changed

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        changed = self._changed.get(row)
        return self._ads[self._rows[row]] if changed is None else changed


class Repeated(tuple[Any, ...]):
    """A column in which all rows have the same value, so that one of them is enough to read."""

    __slots__ = ()


def shared(column: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return *column* with one shared value if all rows have the same, to save memory and time."""
    return repeated(column[0], len(column)) if is_one_value(column) else column


def repeated(value: Any, size: int) -> Repeated:
    """Return a column of *size* rows that all have *value*."""
    return Repeated((value,) * size)


def steady(value: Any, size: int) -> tuple[Any, ...]:
    """Return a column of *size* rows that all have *value*, as `shared` returns it."""
    column = (value,) * size
    kind = type(value)
    return Repeated(column) if kind in _ALWAYS_ONE or (kind is float and value) else column


def picked(column: Sequence[Any], positions: Sequence[int]) -> tuple[Any, ...]:
    """Return the rows of *column* at *positions*."""
    if isinstance(column, Repeated):
        return repeated(column[0], len(positions))
    values = column if isinstance(column, tuple) else tuple(column)
    return tuple([values[position] for position in positions])


def is_one_value(column: Sequence[Any]) -> bool:
    """Return whether all rows of a column (not empty) have the same value: a text, a number, a truth value or None."""
    first = column[0]
    if isinstance(column, Repeated) or is_one_text(column):
        return True
    if type(first) not in (int, bool, float, NoneType) or first != column[-1] or column.count(first) != len(column):
        return False
    # 1, 1.0 and true are equal, and so are 0.0 and -0.0.
    return len(set(map(type, column))) == 1 and not (type(first) is float and first == 0)


def is_one_text(column: Sequence[Any]) -> bool:
    """Return whether all rows of a column (not empty) have the same text."""
    first = column[0]
    return type(first) is str and first == column[-1] and column.count(first) == len(column)
