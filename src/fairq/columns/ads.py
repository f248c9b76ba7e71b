"""Many ads stored by column, as a file or the state provides them: cheaper to store and read than single ads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from fairq.columns.rows import Rows
from fairq.common.records import Ad

_ALWAYS_ONE = frozenset({str, int, bool, NoneType})
_SIMPLE = frozenset({str, int, bool, float})
"""The types of values that are the same if they are written the same."""


class Part(NamedTuple):
    """Ads with the same attributes in the same order: their *names*, their *rows* (ascending), and the columns."""

    names: tuple[str, ...]
    rows: Sequence[int]
    columns: Sequence[Sequence[Any]]

    def column_at(self, number: int, places: Sequence[int]) -> Sequence[Any]:
        """Return the values that a column has at *places* (ascending)."""
        column = self.columns[number]
        return column if len(places) == len(column) else picked(column, places)


class AdTable(Rows[Ad]):
    """Ads in JSON form; ads of the same shape share their names and are stored by column.

    It is read when all its rows are there. Reading an ad builds a new dict, which the caller may change.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._size = 0

    def put(self, rows: Sequence[int], ads: Sequence[Ad]) -> None:
        """Add *ads* as *rows* (ascending) of the table; each row at most once."""
        if not ads:
            return
        shapes: dict[tuple[str, ...], list[int]] = {}
        for place, ad in enumerate(ads):
            shapes.setdefault(tuple(ad), []).append(place)
        for names, places in shapes.items():
            columns = list(map(shared, zip(*[ads[place].values() for place in places], strict=True)))
            whole = len(places) == len(ads)
            self.parts.append(Part(names, rows if whole else [rows[place] for place in places], columns))
        self._size += len(ads)

    def put_columns(self, names: tuple[str, ...], rows: Sequence[int], columns: Sequence[Sequence[Any]]) -> None:
        """Add ads as *rows* (ascending), given by column. All of them have the attributes *names* in this order."""
        if rows:
            self.parts.append(Part(names, rows, columns))
            self._size += len(rows)

    def __len__(self) -> int:
        return self._size

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        for part in self.parts:
            if part.rows[0] <= row <= part.rows[-1]:
                place = bisect_left(part.rows, row)
                if part.rows[place] == row:
                    return {name: column[place] for name, column in zip(part.names, part.columns, strict=True)}
        raise IndexError(row)

    def __iter__(self) -> Iterator[Ad]:
        ads: list[Ad] = [{}] * self._size
        for part in self.parts:
            values = zip(*part.columns, strict=True) if part.columns else [()] * len(part.rows)
            for row, of_row in zip(part.rows, values, strict=True):
                ads[row] = dict(zip(part.names, of_row, strict=True))
        return iter(ads)

    def brief(self, lower: Collection[str]) -> Iterator[Ad]:
        """Yield the ads with these attributes only, which are given in *lower* case."""
        found = AdTable()
        for names, rows, columns in self.parts:
            left = [place for place, name in enumerate(names) if name.lower() in lower]
            found.put_columns(tuple(names[place] for place in left), rows, [columns[place] for place in left])
        return iter(found)

    def names(self) -> set[str]:
        """Return all names as spelled in any ad."""
        return {name for part in self.parts for name in part.names}

    def order(self) -> list[int]:
        """Return the rows in the order of the values from `values`."""
        return [row for part in self.parts for row in part.rows]

    def one_value(self, spellings: Sequence[str]) -> str | float | None:
        """Return the value of an attribute if every ad is known to have the same text, number or truth value."""
        found: list[Any] = []
        for part, place in self._places(spellings):
            column = None if place is None else part.columns[place]
            if not isinstance(column, Repeated):
                return None
            found.append(column[0])
        kinds = set(map(type, found))
        # As written, 0.0 and -0.0 differ.
        is_same = len(kinds) == 1 and kinds <= _SIMPLE and len(set(map(repr, found))) == 1
        return found[0] if is_same else None

    def _places(self, spellings: Sequence[str]) -> Iterator[tuple[Part, int | None]]:
        """Yield every part with the place in it of an attribute with any of these *spellings*; the last one wins."""
        wanted = set(spellings)
        places: dict[tuple[str, ...], int | None] = {}
        for part in self.parts:
            if part.names not in places:
                spelled = (at for at in reversed(range(len(part.names))) if part.names[at] in wanted)
                places[part.names] = next(spelled, None)
            yield part, places[part.names]

    def columns(self, spellings: Sequence[str]) -> Iterator[Sequence[Any] | None]:
        """Yield an attribute of every part by column, by any of these *spellings*; None if the part has none."""
        return (None if place is None else part.columns[place] for part, place in self._places(spellings))

    def values(self, spellings: Sequence[str], absent: Any) -> list[Any]:
        """Return an attribute of every ad, by any of these *spellings* (the last in an ad wins), else *absent*."""
        found: list[Any] = []
        for part, place in self._places(spellings):
            found.extend([absent] * len(part.rows) if place is None else part.columns[place])
        return found


class EditedAds(Rows[Ad]):
    """The *rows* of other ads, with *changed* values in some places."""

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
    """A column in which all rows have the same value: who reads it need not look at every row."""

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


def picked(column: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    """Return the rows of *column* at *places*."""
    if isinstance(column, Repeated):
        return repeated(column[0], len(places))
    values = column if isinstance(column, tuple) else tuple(column)
    return tuple([values[place] for place in places])


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
