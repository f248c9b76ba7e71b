"""A command that exists only for the tests: it shows the records, or fails in the way, it is told."""

from __future__ import annotations

import json
import os
from typing import Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.options import Constraint, DryRun, Now, joined
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.errors.base import InvalidNameError
from fairq.state import meta
from fairq.state.connection import writing

app = App(help="A sample.", default="show")


@app.listing("show", examples="fairq sample show   # all of it")
def show(
    context: Context,
    now: Now = None,
    dry_run: DryRun = False,
    records: Annotated[str, Option("--records", metavar="JSON")] = "[]",
    footer: Annotated[str | None, Option("--footer", metavar="JSON")] = None,
) -> None:
    """Show RECORDS."""
    output = context.obj.output
    columns = [
        Column("User", "Name"),
        Column("Priority", "Priority", shown=lambda value: f"{value:.2f}"),
        Column("Jobs", "Jobs"),
    ]
    total = json.loads(footer) if footer else None
    emit(View([Table(columns, json.loads(records), footer=total, empty="nothing there")]), output)


@app.command("words")
def words(
    context: Context,
    program: Annotated[list[str], Argument(metavar="PROGRAM...")],
    name: Annotated[str, Option("--name")] = "",
    constraint: Constraint = None,
    now: Now = None,
) -> None:
    """Show the words."""
    invocation = context.obj
    document = {
        "program": program,
        "name": name,
        "constraint": joined(constraint),
        "state": str(invocation.state_path),
        "quiet": invocation.quiet,
        "verbose": invocation.verbose,
        "config": str(invocation.config_path),
        "now": invocation.now(now),
        "command": invocation.actor(0).command,
    }
    emit(View(document=document), Output(format="json"))


@app.command("fail")
def fail(
    context: Context,
    kind: Annotated[str, Argument(metavar="KIND")],
    change: Annotated[bool, Option("--change")] = False,
) -> None:
    """Fail, perhaps after a change is stored."""
    invocation = context.obj
    if change:
        with writing(invocation.state_path) as state:
            meta.set(state, "changed", "yes")
    if kind == "fairq":
        raise InvalidNameError(what="the name", value="a\nb\x1b[31m", expected="mend it")
    if kind == "deep":
        deep(0)
    raise {
        "bug": ValueError("what\nwas that"),
        "memory": MemoryError(),
        "interrupt": KeyboardInterrupt(),
        "file": FileNotFoundError(2, "No such file or directory", "/nowhere"),
        "odd": OSError(9999, os.strerror(9999)),
        "bare": OSError("the tape broke"),
        "empty": OSError(),
        "two": OSError(17, "File exists", "a", None, "b"),
        "bytes": OSError(17, "File exists", b"a\xff"),
    }[kind]


def deep(level: int) -> int:
    return deep(level + 1) + 1


@app.report("report")
def report(context: Context) -> None:
    """Report one thing."""
    output = context.obj.output
    emit(View(text="one thing", document={"things": 1}), output)
