"""A table on a terminal, drawn by Rich; if the terminal is too narrow, a record view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from fairq.cli.output.plain import grid
from fairq.cli.output.terminal import Style
from fairq.cli.output.text import escape, folded, width
from fairq.cli.output.view import Column, Record, Table

_TEXT_MINIMUM = 12
"""Minimum width of a text column in cells; if it is narrower, each record is shown as one line per value."""


def write(table: Table, records: Sequence[Record], header: bool, style: Style, stream: TextIO) -> None:
    """Draw *table* for *records* on *stream*."""
    columns = grid(table, records)
    sizes = [max([width(heading) if header else 0, *map(width, texts)]) for heading, texts, _ in columns]
    gaps = 2 * (len(columns) - 1)
    console = Console(
        file=stream,
        width=style.width if style.width is not None else sum(sizes) + gaps,
        force_terminal=True,
        no_color=not style.colour,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    if table.title:
        console.print(Text(escape(table.title), style="bold"))
    rights = [right for _, _, right in columns]
    least = [size if right else min(size, _TEXT_MINIMUM) for size, right in zip(sizes, rights, strict=True)]
    if sum(least) + gaps > console.width:
        _records(console, columns, len(records) + (table.footer is not None))
        return
    drawn = RichTable(box=box.SIMPLE_HEAD, show_header=header, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for (heading, _, right), minimum in zip(columns, least, strict=True):
        drawn.add_column(
            Text(heading),
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
            min_width=minimum,
        )
    colours = [_colours(column, records) for column in table.columns]
    for row in range(len(records)):
        drawn.add_row(*(Text(texts[row], style=of[row]) for (_, texts, _), of in zip(columns, colours, strict=True)))
    if table.footer is not None:
        drawn.add_section()
        drawn.add_row(*(Text(texts[len(records)], style="bold") for _, texts, _ in columns))
    console.print(drawn)


def _colours(column: Column, records: Sequence[Record]) -> list[str]:
    """Return the style of each cell of *column*."""
    if column.colour is None:
        return [""] * len(records)
    return [column.colour(record) for record in records]


def _records(console: Console, columns: list[tuple[str, list[str], bool]], count: int) -> None:
    """Show every record as lines of heading and value, for a terminal too narrow for the table."""
    label = max(width(heading) for heading, _, _ in columns)
    for row in range(count):
        if row:
            console.print()
        for heading, texts, _ in columns:
            line = Text(heading + " " * (label - width(heading)), style="bold")
            for piece in folded(texts[row], max(console.width - label - 2, 8)):
                console.print(line.append("  " + piece, style="not bold"), overflow="fold")
                line = Text(" " * label)
