"""The columns of a table, fitted to the width of a terminal: they shorten and go in a fixed order until they fit."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fairq.cli.output.cells import Cells, grid
from fairq.cli.output.text import width, wrapped
from fairq.cli.output.view import Column, Form, Record

_WHOLE = 1000
_ENOUGH = (14, 25, _WHOLE)
"""Width in cells to which a name, a text of several words, and what is to be kept whole shorten at first."""

_LITTLE = (14, 16, _WHOLE)
"""The same before a column of the two lowest levels above 0 goes."""

_FURTHER = ((8, 12, _WHOLE), (8, 12, 36), (8, 12, 24), (8, 12, 12))
"""The same when the columns that are left have to stay."""

_FIGURE = 20
"""Maximum width in cells of a right-aligned text that never shortens: a number, a time, a duration."""


class Fitted(Struct):
    """The *columns* of a table with their *sizes* in cells, and the *gap* between them.

    *rights* says which are right-aligned, *left_out* are the headings of the columns that found no room.
    """

    columns: Sequence[Column]
    sizes: list[int]
    rights: list[bool]
    gap: int = 2
    left_out: Sequence[str] = ()


def fit(columns: Sequence[Column], rows: Sequence[Record], header: bool, limit: int | None) -> Fitted:
    """Fit *columns* to a terminal of *limit* cells, None for any width.

    First, values take their brief form. If all headings are single words, one blank stands between the columns, else
    two. Columns without a value go, those of one level together. Texts shorten and headings break at blanks. Columns
    go, those of the highest level first; before those of levels 2 and 1, texts of several words shorten further. All
    texts shorten further. At last columns go from the right; the first one stays.
    """
    cells = grid(columns, rows)
    gap = 2
    if limit is None or _total(_sizes(cells, header), gap) <= limit:
        return _fitted(cells, _sizes(cells, header), gap)
    cells = grid(list(map(_brief, columns)), rows)
    if _total(_sizes(cells, header), gap) <= limit:
        return _fitted(cells, _sizes(cells, header), gap)
    if not any(" " in one.heading for one in cells):
        gap = 1
    used = {one.column.level for one in cells if any(one.texts)}
    cells = [one for one in cells if any(one.texts) or 0 < one.column.level in used] or cells[:1]
    known = [one.heading for one in cells]
    levels = sorted({one.column.level for one in cells} - {0})
    for texts, lowest in ((_ENOUGH, 3), (_LITTLE, 1)):
        while levels and levels[-1] >= lowest and _total(_least(cells, header, texts), gap) > limit:
            top = levels.pop()
            cells = [one for one in cells if one.column.level < top] or cells[:1]
    texts = _ENOUGH
    for texts in (_ENOUGH, _LITTLE, *_FURTHER):
        if _total(_least(cells, header, texts), gap) <= limit:
            break
    while len(cells) > 1 and _total(_least(cells, header, texts), gap) > limit:
        cells.pop()
    sizes = _least(cells, header, texts)
    for wanted in ([one.widest() for one in cells], _sizes(cells, header)):
        _grow(sizes, wanted, limit - _total(sizes, gap))
    for one in cells:
        known.remove(one.heading)
    return _fitted(cells, [min(size, limit) for size in map(_trimmed, cells, sizes)], gap, known)


def _fitted(cells: Sequence[Cells], sizes: list[int], gap: int, left_out: Sequence[str] = ()) -> Fitted:
    return Fitted([one.column for one in cells], sizes, [one.right for one in cells], gap, left_out)


def _brief(column: Column) -> Column:
    return replace(column, shown=column.shown.brief) if isinstance(column.shown, Form) else column


def _total(sizes: Sequence[int], gap: int) -> int:
    return sum(sizes) + gap * (len(sizes) - 1)


def _sizes(cells: Sequence[Cells], header: bool) -> list[int]:
    """Return the width of each column."""
    return [max(one.widest(), width(one.heading) if header else 0) for one in cells]


def _least(cells: Sequence[Cells], header: bool, texts: tuple[int, int, int]) -> list[int]:
    """Return the minimum width of each column, where its cells shorten to *texts*."""
    return [max(_least_text(one, *texts), _longest_word(one.heading) if header else 0) for one in cells]


def _least_text(one: Cells, name: int, prose: int, kept: int) -> int:
    size = one.widest()
    if one.right and size <= _FIGURE:
        return size
    if one.column.narrow == "keep":
        return min(size, kept)
    is_prose = one.column.narrow == "wrap" and any(" " in text.strip() for text in one.texts)
    return min(size, prose if is_prose else name)


def _longest_word(heading: str) -> int:
    return max(map(width, heading.split(" ")))


def _trimmed(one: Cells, size: int) -> int:
    """Return what a column needs of *size* cells when its heading is broken."""
    return max(min(one.widest(), size), *map(width, wrapped(one.heading, size)))


def _grow(sizes: list[int], wanted: Sequence[int], spare: int) -> None:
    """Deal *spare* cells to the columns that are smaller than *wanted*, one by one to the smallest."""
    for _ in range(spare):
        small = [place for place, size in enumerate(sizes) if size < wanted[place]]
        if not small:
            return
        sizes[min(small, key=sizes.__getitem__)] += 1
