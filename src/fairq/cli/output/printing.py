"""The renderer: prints a view in the requested format on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

from fairq import committed
from fairq.alike_records import AlikeRecords
from fairq.cli.output import activity
from fairq.cli.output.messages import tell
from fairq.cli.output.selection import Output
from fairq.cli.output.text import escape
from fairq.cli.output.view import Record, Table, View
from fairq.errors.base import DoneNotShownError, FairqError, OutputError

DRAWN_AT_MOST = 1000
"""Maximum number of records for a table drawn on a terminal; Rich would take seconds for ten thousand."""


def emit(view: View, output: Output) -> None:
    """Show *view* as *output* specifies.

    With ``-q``, a command that has stored a change shows its view only in an explicitly requested format.

    Raises:
        ExpressionError: constraint or ``--af`` do not parse.
        DoneNotShownError: a change is stored, and showing it failed.
    """
    if output.quiet and output.format == "table" and committed.happened():
        return
    make_room()
    try:
        _emit(view, output, sys.stdout)
    except FairqError as error:
        if not committed.happened() or isinstance(error, OutputError):
            raise
        raise DoneNotShownError(reason=error) from error


def _emit(view: View, output: Output, stream: TextIO) -> None:
    if output.format == "table":
        _people(view, output, stream)
    elif output.format == "json":
        from fairq.cli.output.machine import write_json

        write_json(_document(view, output), stream)
    else:
        _records(view, output, stream)


def write_text(text: str) -> None:
    """Print the lines of *text*: the one value that a command such as ``state path`` gives."""
    if text:
        make_room()
        _write_lines(text.removesuffix("\n"), sys.stdout)


def make_room() -> None:
    """Remove the status line if it is on the same terminal as stdout."""
    if sys.stdout.isatty():
        activity.end()


def _write_lines(text: str, stream: TextIO) -> None:
    # Not str.splitlines: it also splits at form feeds and similar characters, which may occur in a name.
    stream.writelines(escape(line) + "\n" for line in text.split("\n"))


def _selected(table: Table, output: Output) -> Iterable[Record]:
    if output.constraint is None or table.constrained:
        return table.records
    from fairq.cli.output.constraint import matching

    return matching(table.records, output.constraint)


def _kept(table: Table, output: Output) -> Sequence[Record]:
    found = _selected(table, output)
    return found if isinstance(found, AlikeRecords) else list(found)


def _document(view: View, output: Output) -> Any:
    if view.document is None:
        return _selected(view.tables[view.main], output)
    return {
        **view.document,
        **{table.key: _kept(table, output) for table in view.tables if table.key is not None},
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
    from fairq.cli.output import plain, terminal

    style = terminal.style(stream)
    written = False
    for piece in [view.text] if isinstance(view.text, str) else view.text or ():
        write_text(piece)
        written = written or bool(piece)
    for table in view.tables:
        exact = table.plain if style is None or not table.columns else None
        records, rest = _read(table, output)
        if not records and table.footer is None and exact is None:
            if table.empty and not output.quiet:
                tell(table.empty)
            continue
        if written:
            stream.write("\n")
        written = True
        if rest is not None:
            from fairq.cli.output import pages

            pages.write(table, records, rest, output.header, stream)
            continue
        if style is not None and exact is None and len(records) <= DRAWN_AT_MOST:
            from fairq.cli.output import rich_table

            rich_table.write(table, records, output.header, style, stream)
            continue
        if table.title and len(view.tables) > 1:
            stream.write(escape(table.title) + "\n")
        if exact is not None:
            drawn = exact(records)
            if drawn:
                _write_lines(drawn.removesuffix("\n"), stream)
        else:
            stream.writelines(line + "\n" for line in plain.lines(table, records, output.header))


def _read(table: Table, output: Output) -> tuple[Sequence[Record], Iterator[Record] | None]:
    """Return the records of *table*; of a long one that is printed in pages, the first ones and the others."""
    if table.widest is None:
        return _kept(table, output), None
    left = iter(_selected(table, output))
    first = list(islice(left, DRAWN_AT_MOST + 1))
    return first, left if len(first) > DRAWN_AT_MOST else None
