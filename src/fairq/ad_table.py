"""Many ads stored by column, as a file or the state provides them: cheaper to store and read than single ads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

from fairq.records import Ad


class Part(NamedTuple):
    """Ads with the same attributes in the same order: their *names*, their *rows* (ascending), and the columns."""

    names: tuple[str, ...]
    rows: Sequence[int]
    columns: list[tuple[Any, ...]]


class AdTable(Sequence[Ad]):
    """Ads in JSON form; ads of the same shape share their names and are stored by column.

    Reading an ad builds a new dict, which the caller may change.
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

    def put_columns(self, names: tuple[str, ...], rows: Sequence[int], columns: list[tuple[Any, ...]]) -> None:
        """Add ads as *rows* (ascending), given by column. All of them have the attributes *names* in this order."""
        if rows:
            self.parts.append(Part(names, rows, columns))
            self._size += len(rows)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, row: int) -> Ad: ...
    @overload
    def __getitem__(self, row: slice) -> list[Ad]: ...
    def __getitem__(self, row: int | slice) -> Ad | list[Ad]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(self._size))]
        if row < 0:
            row += self._size
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

    def names(self) -> set[str]:
        """Return all names as spelled in any ad."""
        return {name for part in self.parts for name in part.names}

    def order(self) -> list[int]:
        """Return the rows in the order of the values from `values`."""
        return [row for part in self.parts for row in part.rows]

    def values(self, spellings: Sequence[str], absent: Any) -> list[Any]:
        """Return an attribute of every ad, by any of these *spellings* (the last in an ad wins), else *absent*."""
        found: list[Any] = []
        wanted = set(spellings)
        places: dict[tuple[str, ...], int | None] = {}
        for part in self.parts:
            if part.names not in places:
                spelled = (at for at in reversed(range(len(part.names))) if part.names[at] in wanted)
                places[part.names] = next(spelled, None)
            place = places[part.names]
            found.extend([absent] * len(part.rows) if place is None else part.columns[place])
        return found


class EditedAds(Sequence[Ad]):
    """The *rows* of other ads, with *changed* values in some places."""

    def __init__(self, ads: Sequence[Ad], rows: Sequence[int], changed: Mapping[int, Ad]) -> None:
        self._ads = ads
        self._rows = rows
        self._changed = changed

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> Ad: ...
    @overload
    def __getitem__(self, row: slice) -> list[Ad]: ...
    def __getitem__(self, row: int | slice) -> Ad | list[Ad]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        changed = self._changed.get(row)
        return self._ads[self._rows[row]] if changed is None else changed


def shared(column: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return *column* stored as one shared text if all rows have that text, to save memory."""
    return (column[0],) * len(column) if is_one_text(column) else column


def is_one_text(column: Sequence[Any]) -> bool:
    """Return whether all rows of a column (not empty) have the same text."""
    first = column[0]
    return type(first) is str and first == column[-1] and column.count(first) == len(column)
