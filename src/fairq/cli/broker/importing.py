"""What the imports of the brokerage's data share: the step, and what is told of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairq.brokerdata.column import Kind
    from fairq.cli.invocation import Invocation

_TOLD = 20
"""Remarks on a file that are told without ``-v``."""


def run_import(
    kind: Kind,
    invocation: Invocation,
    file: str,
    *,
    replace: bool,
    now: int | None,
    dry_run: bool,
    **special: Any,
) -> None:
    """Import *file*, tell what came of it, and raise what was refused; *special* goes to the step."""
    from fairq.cli.output.emit import write_text
    from fairq.steps.broker.importing import distinct, import_records, refuse

    actor = invocation.actor(invocation.now(now))
    done = import_records(invocation.state_path, kind, file, actor, replace=replace, dry_run=dry_run, **special)
    told = [*done.refused[1:], *distinct(done.remarks)]
    shown = told if invocation.verbose else told[:_TOLD]
    for remark in shown:
        invocation.note(remark)
    if len(told) > len(shown):
        invocation.note(f"... and {len(told) - len(shown)} more remarks; -v shows all")
    if not invocation.quiet:
        would = "would be " if dry_run else ""
        removed = f", {done.removed} {would}removed" if replace else ""
        write_text(f"{kind.name}: {done.number} {would}imported, {done.added} of them new{removed}")
    refuse(kind, done, file)
