"""The renderer: a view in the format asked for, on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from fairq.cli.output.selection import Output
from fairq.cli.output.view import Record, Table, View


def emit(view: View, output: Output) -> None:
    """Show *view* as *output* says; raises ExpressionError for a constraint that does not parse."""
    stream = sys.stdout
    if output.format == "table":
        _tables(view, output, stream)
        return
    from fairq.cli.output import machine

    if output.format == "json":
        machine.write_json(_document(view, output), stream)
        return
    table = view.tables[view.main]
    records = _selected(table, output)
    fields = view.fields or [column.attribute for column in table.columns]
    if output.format == "ndjson":
        machine.write_ndjson(records, stream)
    elif output.format == "csv":
        machine.write_csv(records, fields, output.header, stream)
    elif output.format == "tsv":
        machine.write_tsv(records, fields, output.header, stream)
    else:
        from fairq.cli.output import autoformat

        autoformat.write(records, output, stream)


def _selected(table: Table, output: Output) -> Iterable[Record]:
    if output.constraint is None or table.constrained:
        return table.records
    from fairq.cli.output.constraint import matching

    return matching(table.records, output.constraint)


def _document(view: View, output: Output) -> Any:
    if view.document is None:
        return _selected(view.tables[view.main], output)
    return {
        **view.document,
        **{table.key: list(_selected(table, output)) for table in view.tables if table.key is not None},
    }


def _tables(view: View, output: Output, stream: TextIO) -> None:
    from fairq.cli.output import plain, terminal

    style = terminal.style(stream)
    for number, table in enumerate(view.tables):
        records: Sequence[Record] = list(_selected(table, output))
        if not records and table.footer is None:
            if table.empty and not output.quiet:
                sys.stderr.write(table.empty + "\n")
            continue
        if number:
            stream.write("\n")
        if style is not None and (table.columns or table.plain is None):
            from fairq.cli.output import rich_table

            rich_table.write(table, records, output.header, style, stream)
        elif table.plain is not None:
            stream.write(table.plain(records))
        else:
            if table.title and len(view.tables) > 1:
                stream.write(table.title + "\n")
            stream.writelines(line + "\n" for line in plain.lines(table, records, output.header))
