"""The renderer: prints a view in the requested format on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

from fairq.cli.output import activity
from fairq.cli.output.constraint import matching
from fairq.cli.output.messages import tell
from fairq.cli.output.selection import Output
from fairq.cli.output.text import escape, prose
from fairq.cli.output.view import Record, Table, View
from fairq.common import commit
from fairq.errors.base import DoneNotShownError, FairqError, OutputError

_FIRST_PAGE = 1000
"""Number of records that determine the layout of a table that is printed while it is being read."""


def emit(view: View, output: Output) -> None:
    """Show *view* as *output* specifies.

    With ``-q``, a command that has stored a change shows its view only in an explicitly requested format.

    Raises:
        ExpressionError: constraint or ``--af`` do not parse.
        DoneNotShownError: a change is stored, and showing it failed.
    """
    if output.quiet and output.format == "table" and commit.happened():
        return
    make_room()
    try:
        _emit(view, output, sys.stdout)
        _flush_terminal()
    except FairqError as error:
        if not commit.happened() or isinstance(error, OutputError):
            raise
        raise DoneNotShownError(reason=error) from error


def _flush_terminal() -> None:
    """Flush a terminal, so that later messages on stderr come after the printed data."""
    if sys.stdout.isatty():
        sys.stdout.flush()


def _emit(view: View, output: Output, stream: TextIO) -> None:
    if output.format == "table":
        _people(view, output, stream)
    elif output.format == "json":
        from fairq.cli.output.machine import write_json

        write_json(_document(view, output), stream)
    else:
        _records(view, output, stream)


def write_text(text: str, limit: int | None = None) -> None:
    """Print the lines of *text*, such as the one value of ``config get``; *limit*: wrapped to so many cells."""
    if text:
        make_room()
        _write_lines(text.removesuffix("\n"), sys.stdout, limit)
        _flush_terminal()


def make_room() -> None:
    """Remove the status line if it is on the same terminal as stdout."""
    if sys.stdout.isatty():
        activity.end()


def _write_lines(text: str, stream: TextIO, limit: int | None = None) -> None:
    # Not str.splitlines: it also splits at form feeds and similar characters, which may occur in a name.
    for line in text.split("\n"):
        stream.writelines(f"{piece}\n" for piece in prose(escape(line), limit))


def _selected(table: Table, output: Output) -> Iterable[Record]:
    return matching(table.records, None if table.constrained else output.constraint)


def _document(view: View, output: Output) -> Any:
    if view.document is None:
        return _selected(view.tables[view.main], output)
    return {
        **view.document,
        **{table.key: list(_selected(table, output)) for table in view.tables if table.key is not None},
    }


def _records(view: View, output: Output, stream: TextIO) -> None:
    records: Iterable[Record]
    if view.tables:
        table = view.tables[view.main]
        records = _selected(table, output)
        fields = view.fields or [column.attribute for column in table.columns]
    else:
        records = [view.document or {}]
        fields = view.fields or list(view.document or {})
    from fairq.cli.output import autoformat, machine

    if output.format == "ndjson":
        machine.write_ndjson(records, stream)
    elif output.format == "csv":
        machine.write_csv(records, fields, output.header, stream)
    elif output.format == "tsv":
        machine.write_tsv(records, fields, output.header, stream)
    else:
        autoformat.write(records, output, stream)


def _people(view: View, output: Output, stream: TextIO) -> None:
    from fairq.cli.output import terminal
    from fairq.cli.output.terminal_table import Drawing, bold

    style = terminal.style(stream)
    limit = style.width if style else None
    written = False
    pieces = [(view.text, limit)] if isinstance(view.text, str) else ((piece, None) for piece in view.text or ())
    for piece, cells in pieces:
        write_text(piece, cells)
        written = written or bool(piece)
    for table in view.tables:
        exact = table.plain if style is None or not table.columns else None
        records, remaining = _read(table, output)
        if not records and table.footer is None and exact is None:
            if table.empty and not output.quiet:
                tell(table.empty)
            continue
        if written:
            stream.write("\n")
        written = True
        if exact is not None:
            drawn = exact(records)
            if drawn:
                _write_lines(drawn.removesuffix("\n"), stream, limit)
            continue
        if table.title and (style is not None or len(view.tables) > 1):
            lines = prose(escape(table.title), limit)
            stream.writelines(f"{bold(line) if style else line}\n" for line in lines)
        drawing = Drawing(table, records, output.header, style, remaining is not None)
        if remaining is not None:
            from fairq.cli.output import pages

            pages.write(table, drawing, records, remaining, stream)
        else:
            stream.writelines(f"{line}\n" for line in drawing.lines(records))
        stream.writelines(f"{line}\n" for line in drawing.note())


def _read(table: Table, output: Output) -> tuple[Sequence[Record], Iterator[Record] | None]:
    """Return the records of *table*; of a long one that is printed in pages, the first records and an iterator."""
    if table.widest is None:
        return list(_selected(table, output)), None
    remaining = iter(_selected(table, output))
    first = list(islice(remaining, _FIRST_PAGE + 1))
    return first, remaining if len(first) > _FIRST_PAGE else None
