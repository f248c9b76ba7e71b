"""The cells of a table as text, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from fairq.cli.output.text import escape, shown, unsigned, width
from fairq.cli.output.view import Column, Record


class Cells(Struct):
    """One column as text: its *heading*, its *texts*, and whether they are right-aligned."""

    column: Column
    heading: str
    texts: list[str]
    right: bool

    def widest(self) -> int:
        """Return the width of the widest text."""
        measure = len if "".join(self.texts).isascii() else width
        return max(map(measure, self.texts), default=0)


def grid(columns: Sequence[Column], rows: Sequence[Record]) -> list[Cells]:
    """Return the cells that *rows* have in *columns*."""
    return [Cells(column, escape(column.heading), *_texts(column, rows)) for column in columns]


def values(column: Column, records: Sequence[Record]) -> list[Any]:
    """Return the value that each record has for *column*."""
    lowered = column.attribute.lower()
    with suppress(KeyError):
        return [record[column.attribute] for record in records]
    result: list[Any] = []
    for record in records:
        value = record.get(column.attribute)
        if value is None and column.attribute not in record:
            value = next((item for name, item in record.items() if name.lower() == lowered), None)
        result.append(value)
    return result


def _texts(column: Column, records: Sequence[Record]) -> tuple[list[str], bool]:
    """Return the texts of *column*, and whether they are right-aligned."""
    column_values = values(column, records)
    if column.align is not None:
        right = column.align == "right"
    else:
        present = [value for value in column_values if value is not None]
        right = bool(present) and all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in present
        )
    form = column.shown
    if form is None and set(map(type, column_values)) == {str} and "".join(column_values).isprintable():
        return column_values, right
    texts = [
        shown(value) if form is None or value is None else unsigned(escape(form(value))) for value in column_values
    ]
    return texts, right
