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

_TEXT_ENOUGH = 24
"""Width of a text column in cells for which other columns are left out."""


def write(table: Table, records: Sequence[Record], header: bool, style: Style, stream: TextIO) -> None:
    """Draw *table* for *records* on *stream*."""
    shown = list(zip(table.columns, grid(table, records), strict=True))
    levels = sorted({column.level for column in table.columns if column.level})
    while style.width is not None and levels and sum(_least(shown, header, _TEXT_ENOUGH)) + _gaps(shown) > style.width:
        top = levels.pop()
        shown = [one for one in shown if one[0].level < top]
    columns = [texts for _, texts in shown]
    sizes = _sizes(shown, header)
    gaps = _gaps(shown)
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
    least = _least(shown, header)
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
    colours = [_colours(column, records) for column, _ in shown]
    for row in range(len(records)):
        drawn.add_row(*(Text(texts[row], style=of[row]) for (_, texts, _), of in zip(columns, colours, strict=True)))
    if table.footer is not None:
        drawn.add_section()
        drawn.add_row(*(Text(texts[len(records)], style="bold") for _, texts, _ in columns))
    console.print(drawn)
    if len(shown) < len(table.columns):
        kept = {column.heading for column, _ in shown}
        left = ", ".join(column.heading for column in table.columns if column.heading not in kept)
        console.print(Text(f"The terminal is too narrow for {left}."))


_Shown = Sequence[tuple[Column, tuple[str, list[str], bool]]]
"""Columns, each with its heading, its cells, and whether they are right-aligned."""


def _sizes(shown: _Shown, header: bool) -> list[int]:
    """Return the width of each column in cells."""
    return [max([width(heading) if header else 0, *map(width, texts)]) for _, (heading, texts, _) in shown]


def _least(shown: _Shown, header: bool, text: int = _TEXT_MINIMUM) -> list[int]:
    """Return the minimum width of each column in cells: text may be folded to *text* cells, numbers may not."""
    sizes = _sizes(shown, header)
    return [size if right else min(size, text) for size, (_, (_, _, right)) in zip(sizes, shown, strict=True)]


def _gaps(shown: _Shown) -> int:
    """Return the number of cells between the columns."""
    return 2 * (len(shown) - 1)


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
