"""``fairq broker KIND import|list``, the same for every kind of record."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Annotated, Any

from typer import Argument, Option

from fairq.cli.broker.imports import Lenient, run_import
from fairq.cli.command import App, Context
from fairq.cli.figures import moment
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column as Shown
from fairq.cli.output import Table, View, emit
from fairq.columns.broker.column import NESTED, WORDS, Column, Kind
from fairq.columns.broker.kinds import KINDS


def app_of(name: str) -> App:
    """Return the commands of the kind of records *name*."""
    kind = KINDS[name]
    app = App(help="\n\n".join(filter(None, [kind.summary, kind.help])), default="list")
    a_file = f"fairq broker {kind.name} import {kind.name}.json"
    replacing = f"fairq broker {kind.name} import {kind.name}.csv --replace --dry-run    # preview"

    def import_(
        context: Context,
        file: Annotated[str, Argument(metavar="FILE", help="JSON or CSV file, optionally gzip; - is stdin.")],
        replace: Annotated[bool, Option("--replace", help="Remove records that are not in the file.")] = False,
        lenient: Lenient = False,
        now: Now = None,
        dry_run: DryRun = False,
    ) -> None:
        invocation = context.obj
        run_import(kind, invocation, file, replace=replace, now=now, dry_run=dry_run, lenient=lenient)

    import_.__doc__ = _import_help(kind)
    app.command("import", examples="\n".join(filter(None, [kind.example or a_file, replacing])))(import_)

    def list_(
        context: Context,
        keys: Annotated[
            list[str] | None,
            Argument(metavar="FIRST...", help="Show only records with this value in the first column."),
        ] = None,
    ) -> None:
        from fairq.steps.broker.lists import list_records

        invocation, output = context.obj, context.obj.output
        records = list_records(invocation.state_path, kind, keys or [])
        emit(_view(kind, records), output)

    list_.__doc__ = f"Show the {kind.several}.\n\nJSON, CSV, TSV and --af have every column; see import."
    app.listing("list", examples=f"fairq broker {kind.name} list --json")(list_)
    return app


def _view(kind: Kind, records: list[dict[str, Any]]) -> View:
    shown = (column for column in kind.columns if column.shown)
    columns = [
        Shown(column.name, column.name, _form(column), level=0 if column.key else level)
        for level, column in enumerate(shown)
    ]
    empty = f"there are no {kind.several}; see fairq broker {kind.name} import --help"
    fields = [column.name for column in kind.columns]
    return View(tables=[Table(columns=columns, records=records, empty=empty)], fields=fields)


def _form(column: Column) -> Callable[[Any], str] | None:
    if column.type in NESTED:
        return _joined
    return moment if column.type == "time" else None


def _joined(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={item}" for name, item in value.items())
    return ",".join(map(str, value))


def _import_help(kind: Kind) -> str:
    """Return the help of the import: every column; common rules are in the help of ``fairq broker``."""
    columns = "\b\nColumns:\n" + "\n".join(line for column in kind.columns for line in _described(column))
    about = "FILE is JSON (a list of objects, or an object of objects by name) or CSV (headings in the first line)."
    return f"Import {kind.several}.\n\n{about}\n\n{columns}"


def _described(column: Column) -> list[str]:
    facts = [f"one of {', '.join(column.words)}" if column.words else WORDS[column.type]]
    if column.unit:
        facts.append(column.unit)
    if column.key:
        facts.append("key")
    if not (column.key and column.default is None) and column.default not in (None, "", (), {}):
        value = column.default
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        facts.append(f"default {','.join(value) if isinstance(value, tuple) else shown}")
    if column.aliases:
        facts.append("also named " + ", ".join(column.aliases))
    text = f"{column.name}: {column.help} ({', '.join(facts)})"
    return textwrap.wrap(text, 72, initial_indent="  ", subsequent_indent="      ")
