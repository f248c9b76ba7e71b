"""A table as text: complete and without trailing blanks in a pipe, fitted to its width on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from fairq.cli.output.cells import Cells, grid
from fairq.cli.output.fit import Fitted, fit
from fairq.cli.output.terminal import Style
from fairq.cli.output.text import cut, width, wrapped
from fairq.cli.output.view import Column, Record, Table


class Drawing:
    """A table that is drawn page by page; a table with a footer has only one page."""

    def __init__(self, table: Table, first: Sequence[Record], header: bool, style: Style | None, more: bool) -> None:
        """Lay out *table* for its *first* records and, if *more* follow, for the widest records of the table."""
        self._table = table
        self._header = header
        self._style = style
        self._limit = style.width if style else None
        if more or self._limit is not None:
            rows = [*self._rows(first), *(table.widest or ())] if more else self._rows(first)
            self._fitted = fit(table.columns, rows, header, self._limit)
        else:
            self._fitted = Fitted(table.columns, [0] * len(table.columns), [])

    def lines(self, records: Sequence[Record]) -> Iterator[str]:
        """Yield the lines of the next *records*, the first time with the headings; then a rule and the footer.

        In a pipe, wider values widen a column.
        """
        fitted = self._fitted
        columns = grid(fitted.columns, self._rows(records))
        fitted.rights = fitted.rights or [column.right for column in columns]
        if self._limit is None:
            headings = [width(column.heading) if self._header else 0 for column in columns]
            fitted.sizes = [max(sizes) for sizes in zip(fitted.sizes, headings, _widest(columns), strict=True)]
        if self._header:
            self._header = False
            yield from map(self._bold, self._joined(self._headings(columns)))
        count = len(records)
        texts = [column.texts[:count] for column in columns]
        colours = [self._colours(column, records) for column in fitted.columns]
        yield from self._joined(texts, colours)
        if self._table.footer is not None:
            yield (" " * fitted.gap).join("-" * size for size in fitted.sizes)
            yield from map(self._bold, self._joined([column.texts[count:] for column in columns]))

    def note(self) -> list[str]:
        """Return the lines that name the columns for which the terminal is too narrow."""
        if not self._fitted.left_out or self._limit is None:
            return []
        return wrapped(f"The terminal is too narrow for {', '.join(self._fitted.left_out)}.", self._limit)

    def _rows(self, records: Sequence[Record]) -> Sequence[Record]:
        return records if self._table.footer is None else [*records, self._table.footer]

    def _headings(self, columns: Sequence[Cells]) -> list[list[str]]:
        """Return the lines of each heading, the last line just above the values."""
        broken = [wrapped(column.heading, size) for column, size in zip(columns, self._fitted.sizes, strict=True)]
        height = max(map(len, broken), default=0)
        return [[""] * (height - len(lines)) + lines for lines in broken]

    def _colours(self, column: Column, records: Sequence[Record]) -> list[str] | None:
        if column.colour is None or self._style is None or not self._style.colour:
            return None
        return list(map(column.colour, records))

    def _joined(self, texts: list[list[str]], colours: Sequence[list[str] | None] | None = None) -> Iterator[str]:
        """Yield the lines of the rows; padding a column at a time takes a third of the time."""
        fitted = self._fitted
        if self._limit is not None:
            texts, colours = self._shortened(texts, colours)
        padded = list(map(_padded, texts, fitted.sizes, fitted.rights))
        if padded and not fitted.rights[-1]:
            padded[-1] = texts[-1]  # the blanks behind it would be stripped
        for index, names in enumerate(colours or ()):
            if names is not None:
                padded[index] = list(map(_coloured, padded[index], names))
        return map(str.rstrip, map((" " * fitted.gap).join, zip(*padded, strict=True)))

    def _shortened(
        self, texts: list[list[str]], colours: Sequence[list[str] | None] | None
    ) -> tuple[list[list[str]], Sequence[list[str] | None] | None]:
        """Return the rows with each cell that is too wide on several lines, or cut."""
        sizes, columns = self._fitted.sizes, self._fitted.columns
        if all(width(text) <= size for column_texts, size in zip(texts, sizes, strict=True) for text in column_texts):
            return texts, colours
        dots = self._style.dots if self._style else ""
        lines: list[list[str]] = [[] for _ in texts]
        heights = []
        for row in zip(*texts, strict=True):
            cells = [_pieces(text, column, size, dots) for text, column, size in zip(row, columns, sizes, strict=True)]
            heights.append(max(map(len, cells)))
            for pieces in zip_longest(*cells, fillvalue=""):
                for line, piece in zip(lines, pieces, strict=True):
                    line.append(piece)
        longer = [names and [n for n, height in zip(names, heights, strict=True) for _ in range(height)]
                  for names in colours or ()]  # fmt: skip
        return lines, longer

    def _bold(self, line: str) -> str:
        return bold(line) if self._style else line


def bold(line: str) -> str:
    """Return *line* in bold letters."""
    return f"\x1b[1m{line}\x1b[0m" if line else line


def _pieces(text: str, column: Column, size: int, dots: str) -> list[str]:
    """Return a cell in lines of at most *size* cells."""
    if column.narrow == "wrap" and " " in text.strip():
        return wrapped(text, size, dots)
    return [cut(text, size, dots)]


def _widest(columns: Sequence[Cells]) -> list[int]:
    return [column.widest() for column in columns]


def _padded(texts: Sequence[str], size: int, right: bool) -> list[str]:
    if "".join(texts).isascii():
        return [text.rjust(size) for text in texts] if right else [text.ljust(size) for text in texts]
    blanks = (" " * (size - width(text)) for text in texts)
    return [gap + text if right else text + gap for text, gap in zip(texts, blanks, strict=True)]


_CODES = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}


def _coloured(text: str, name: str) -> str:
    return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if name and text.strip() else text
