"""The columns of a table, fitted to a terminal: they shorten and are left out in a fixed order until they fit."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fairq.cli.output.cells import Cells, grid
from fairq.cli.output.text import width, wrapped
from fairq.cli.output.view import Column, Form, Record

_UNLIMITED = 1000
_USUAL_MINIMA = (14, 25, _UNLIMITED)
"""Minimum width in cells of a name, a text of several words, and a text that should not be cut, at first."""

_SMALL_MINIMA = (14, 16, _UNLIMITED)
"""The same before a column of the two lowest levels above 0 is left out."""

_SMALLEST_MINIMA = ((8, 12, _UNLIMITED), (8, 12, 36), (8, 12, 24), (8, 12, 12))
"""The same when no more columns can be left out."""

_WIDEST_FIGURE = 20
"""Maximum width in cells of a right-aligned text that never shortens: a number, a time, a duration."""


class Fitted(Struct):
    """The *columns* of a table with their *sizes* in cells, and the *gap* between them.

    *rights* tells which are right-aligned, *left_out* are the headings of the columns that are left out.
    """

    columns: Sequence[Column]
    sizes: list[int]
    rights: list[bool]
    gap: int = 2
    left_out: Sequence[str] = ()


def fit(columns: Sequence[Column], rows: Sequence[Record], header: bool, limit: int | None) -> Fitted:
    """Fit *columns* to a terminal of *limit* cells, None for any width.

    First, values take their brief form. If all headings are single words, one blank separates the columns, else two.
    Columns without a value are left out, those of one level together. Texts shorten and headings break at blanks.
    Columns are left out, those of the highest level first; before those of levels 2 and 1, texts of several words
    shorten further. All texts shorten further. Finally, columns are left out from the right; the first one stays.
    """
    cells = grid(columns, rows)
    gap = 2
    if limit is None or _total(_sizes(cells, header), gap) <= limit:
        return _fitted(cells, _sizes(cells, header), gap)
    cells = grid(list(map(_brief, columns)), rows)
    if _total(_sizes(cells, header), gap) <= limit:
        return _fitted(cells, _sizes(cells, header), gap)
    if not any(" " in cell.heading for cell in cells):
        gap = 1
    used = {cell.column.level for cell in cells if any(cell.texts)}
    cells = [cell for cell in cells if any(cell.texts) or 0 < cell.column.level in used] or cells[:1]
    hidden = [cell.heading for cell in cells]
    levels = sorted({cell.column.level for cell in cells} - {0})
    for texts, lowest in ((_USUAL_MINIMA, 3), (_SMALL_MINIMA, 1)):
        while levels and levels[-1] >= lowest and _total(_minimum_sizes(cells, header, texts), gap) > limit:
            top = levels.pop()
            cells = [cell for cell in cells if cell.column.level < top] or cells[:1]
    texts = _USUAL_MINIMA
    for texts in (_USUAL_MINIMA, _SMALL_MINIMA, *_SMALLEST_MINIMA):
        if _total(_minimum_sizes(cells, header, texts), gap) <= limit:
            break
    while len(cells) > 1 and _total(_minimum_sizes(cells, header, texts), gap) > limit:
        cells.pop()
    sizes = _minimum_sizes(cells, header, texts)
    for target_sizes in ([cell.widest() for cell in cells], _sizes(cells, header)):
        _grow(sizes, target_sizes, limit - _total(sizes, gap))
    for cell in cells:
        hidden.remove(cell.heading)
    return _fitted(cells, [min(size, limit) for size in map(_width_needed, cells, sizes)], gap, hidden)


def _fitted(cells: Sequence[Cells], sizes: list[int], gap: int, left_out: Sequence[str] = ()) -> Fitted:
    return Fitted([cell.column for cell in cells], sizes, [cell.right for cell in cells], gap, left_out)


def _brief(column: Column) -> Column:
    return replace(column, shown=column.shown.brief) if isinstance(column.shown, Form) else column


def _total(sizes: Sequence[int], gap: int) -> int:
    return sum(sizes) + gap * (len(sizes) - 1)


def _sizes(cells: Sequence[Cells], header: bool) -> list[int]:
    """Return the width of each column."""
    return [max(cell.widest(), width(cell.heading) if header else 0) for cell in cells]


def _minimum_sizes(cells: Sequence[Cells], header: bool, texts: tuple[int, int, int]) -> list[int]:
    """Return the minimum width of each column, where its cells shorten to *texts*."""
    return [max(_minimum_text(cell, *texts), _longest_word(cell.heading) if header else 0) for cell in cells]


def _minimum_text(cell: Cells, name: int, prose: int, whole_limit: int) -> int:
    """Return the minimum width of one column."""
    size = cell.widest()
    if cell.right and size <= _WIDEST_FIGURE:
        return size
    if cell.column.narrow == "keep":
        return min(size, whole_limit)
    is_prose = cell.column.narrow == "wrap" and any(" " in text.strip() for text in cell.texts)
    return min(size, prose if is_prose else name)


def _longest_word(heading: str) -> int:
    return max(map(width, heading.split(" ")))


def _width_needed(cell: Cells, size: int) -> int:
    """Return the width that a column of *size* cells needs after its heading is broken."""
    return max(min(cell.widest(), size), *map(width, wrapped(cell.heading, size)))


def _grow(sizes: list[int], targets: Sequence[int], spare: int) -> None:
    """Give *spare* cells to the columns that are smaller than *targets*, one by one to the smallest."""
    for _ in range(spare):
        small = [index for index, size in enumerate(sizes) if size < targets[index]]
        if not small:
            return
        sizes[min(small, key=sizes.__getitem__)] += 1
