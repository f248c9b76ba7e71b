"""A table as aligned plain text: complete, never wrapped, without trailing blanks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from fairq.alike_records import column as column_of
from fairq.cli.output.text import escape, shown, unsigned, width
from fairq.cli.output.view import Column, Record, Table


def values_of(column: Column, records: Sequence[Record]) -> list[Any]:
    """Return the value that each record has for *column*."""
    lowered = column.attribute.lower()
    with suppress(KeyError):
        return column_of(records, column.attribute)
    values: list[Any] = []
    for record in records:
        value = record.get(column.attribute)
        if value is None and column.attribute not in record:
            value = next((item for name, item in record.items() if name.lower() == lowered), None)
        values.append(value)
    return values


def cells(column: Column, records: Sequence[Record]) -> tuple[list[str], bool]:
    """Return the cells of *column*, and whether they are right-aligned."""
    values = values_of(column, records)
    if column.align is not None:
        right = column.align == "right"
    else:
        present = [value for value in values if value is not None]
        right = bool(present) and all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in present
        )
    form = column.shown
    if form is None and set(map(type, values)) == {str} and "".join(values).isprintable():
        return values, right
    texts = [shown(value) if form is None or value is None else unsigned(escape(form(value))) for value in values]
    return texts, right


def grid(table: Table, records: Sequence[Record]) -> list[tuple[str, list[str], bool]]:
    """Return heading, cells and alignment of every column; the footer's cells are last."""
    rows = [*records, table.footer] if table.footer is not None else records
    return [(escape(column.heading), *cells(column, rows)) for column in table.columns]


def lines(table: Table, records: Sequence[Record], header: bool) -> Iterator[str]:
    """Yield the lines of *table* for *records*: headings, rows, a rule and the footer."""
    columns = grid(table, records)
    sizes = _sizes(columns, header)
    rights = [right for _, _, right in columns]
    if header:
        yield _line([heading for heading, _, _ in columns], sizes, rights)
    yield from _rows(columns, len(records), sizes, rights)
    if table.footer is not None:
        yield "  ".join("-" * size for size in sizes)
        yield _line([texts[len(records)] for _, texts, _ in columns], sizes, rights)


class Pages:
    """A table without a footer, drawn a page of records at a time."""

    def __init__(self, table: Table, first: Sequence[Record], header: bool) -> None:
        """Lay *table* out for its *first* records and for the widest ones that it names."""
        columns = grid(table, [*first, *(table.widest or ())])
        self._table = table
        self._header = header
        self._sizes = _sizes(columns, header)
        self._rights = [right for _, _, right in columns]

    def lines(self, records: Sequence[Record]) -> Iterator[str]:
        """Yield the lines of the next *records*, the first time with the headings; wider values widen a column."""
        columns = grid(self._table, records)
        self._sizes = [max(sizes) for sizes in zip(self._sizes, _sizes(columns, self._header), strict=True)]
        if self._header:
            self._header = False
            yield _line([heading for heading, _, _ in columns], self._sizes, self._rights)
        yield from _rows(columns, len(records), self._sizes, self._rights)


_Columns = Sequence[tuple[str, list[str], bool]]
"""Heading, cells and alignment of every column, see `grid`."""


def _sizes(columns: _Columns, header: bool) -> list[int]:
    return [max(width(heading) if header else 0, _widest(texts)) for heading, texts, _ in columns]


def _widest(texts: Sequence[str]) -> int:
    measure = len if "".join(texts).isascii() else width
    return max(map(measure, texts), default=0)


def _rows(columns: _Columns, count: int, sizes: Sequence[int], rights: Sequence[bool]) -> Iterator[str]:
    """Yield the lines of the first *count* rows; padding a column at a time takes a third of the time."""
    cells = [texts[:count] for _, texts, _ in columns]
    padded = list(map(_all_padded, cells, sizes, rights))
    if cells and not rights[-1]:
        padded[-1] = cells[-1]  # the blanks behind it would be stripped
    return map(str.rstrip, map("  ".join, zip(*padded, strict=True)))


def _all_padded(texts: Sequence[str], size: int, right: bool) -> list[str]:
    if "".join(texts).isascii():
        return [text.rjust(size) for text in texts] if right else [text.ljust(size) for text in texts]
    return [_padded(text, size, right) for text in texts]


def _line(texts: Sequence[str], sizes: Sequence[int], rights: Sequence[bool]) -> str:
    return "  ".join(map(_padded, texts, sizes, rights)).rstrip()


def _padded(text: str, size: int, right: bool) -> str:
    blanks = " " * (size - width(text))
    return blanks + text if right else text + blanks
