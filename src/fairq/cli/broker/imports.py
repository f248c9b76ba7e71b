"""Shared parts of the imports of brokerage data: the step, and the remarks on the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.columns.broker.column import Kind

Lenient = Annotated[bool, Option("--lenient", help="Accept values that are read as something else.")]
"""``lenient: Lenient = False``"""

_SHOWN = 20
"""Number of remarks on a file that are shown without ``-v``."""


def run_import(
    kind: Kind,
    invocation: Invocation,
    file: str,
    *,
    replace: bool,
    now: int | None,
    dry_run: bool,
    lenient: bool,
) -> None:
    """Import *file*, print the result, and raise the errors of refused or (unless *lenient*) reinterpreted values."""
    from fairq.cli.output.renderer import write_text
    from fairq.errors.broker import RecordsRefusedError
    from fairq.steps.broker.imports import import_records, more, soften

    actor = invocation.actor(invocation.now(now))
    records = import_records(invocation.state_path, kind, file, actor, replace=replace, dry_run=dry_run)
    print_remarks(invocation, records.refused[1:], records.remarks)
    if not invocation.quiet:
        would = "would be " if dry_run else ""
        removed = f", {records.removed} {would}removed" if replace else ""
        write_text(f"{kind.name}: {records.number} {would}imported, {records.added} of them new{removed}")
    if records.refused:
        fate = f"the other {records.number} {kind.name} were taken" if records.number > 1 else "the other one was taken"
        raise RecordsRefusedError(source=file, refused=records.refused[0], others=more(records.refused), fate=fate)
    if not lenient:
        soften(records.softened, file, dry_run=dry_run)


def print_remarks(invocation: Invocation, refused: list[str], remarks: list[str]) -> None:
    """Print refused records and remarks: the first ones, or all with ``-v``."""
    from fairq.steps.broker.reader import distinct

    notes = [*refused, *distinct(remarks)]
    shown = notes if invocation.verbose else notes[:_SHOWN]
    for remark in shown:
        invocation.note(remark)
    if len(notes) > len(shown):
        invocation.note(f"... and {len(notes) - len(shown)} more remarks; -v shows all")
