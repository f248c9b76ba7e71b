"""``fairq import``: a pool in."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Report, View, emit, progress
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.pool.import_ import Imported

app = App()


@app.command(
    examples="""
        condor_status -json | fairq import --slots -           # the machines of a live pool
        fairq import --slots slots.json --jobs jobs.json --accounting accounting.json
        fairq import pool.json                                 # a whole state, as fairq export wrote it
    """
)
def import_(
    invocation: Invocation,
    output: Report,
    document: Annotated[
        str | None,
        typer.Argument(metavar="[DOCUMENT]", help="The whole state, as fairq export writes it; - is stdin."),
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option("--slots", metavar="FILE", help="Slot ads, which replace the pool's slots; - is stdin."),
    ] = None,
    jobs: Annotated[
        str | None,
        typer.Option("--jobs", metavar="FILE", help="Job ads, which replace the queue; - is stdin."),
    ] = None,
    accounting: Annotated[
        str | None,
        typer.Option(
            "--accounting",
            metavar="FILE",
            help="Accounting ads, which replace the records that they name; - is stdin.",
        ),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Bring a pool in: HTCondor's dumps, or a whole state.

    Slots and jobs are what condor_status and condor_q print with -json or with -long; the form is told by the
    content, and gzip is read as it is. Accounting ads, in the same forms, have Name, Priority (the real one)
    and PriorityFactor, and may have Ceiling, Floor, AccumulatedUsage, WeightedAccumulatedUsage,
    BeginUsageTime, LastUsageTime and LastUpdate; what an ad leaves out is that of a newcomer.

    All is imported in one step: if anything in any of the files is wrong, nothing is changed. What is not
    given stays as it is. A running job stays on its slot if both are still there, and a slot whose ad names
    a running job of the queue is taken as claimed for it. If only another slot names the job, the job goes on
    running there: it has moved, or its host has a new name. If no slot is left for it, the job is idle again.
    Jobs that have ended, and those of the grid (unless WantMatching), scheduler and local universe, are left
    out.

    A DOCUMENT replaces the whole state, its history included: an export of it is the same document again.
    """
    given = [name for name in (document, slots, jobs, accounting) if name is not None]
    if not given:
        raise UsageError(message="nothing to import; name a state document, --slots, --jobs or --accounting")
    if given.count("-") > 1:
        raise UsageError(message="the standard input can be read only once; give - for one of the files")
    if document is not None and len(given) > 1:
        raise UsageError(message="a state document has it all; give it without --slots, --jobs, --accounting")
    if document is not None:
        from fairq.steps.pool.import_document import import_document

        counts = import_document(invocation.state_path, document, dry_run=dry_run)
        emit(View(document=counts, text=_sentence(counts, dry_run)), output)
        return
    import socket

    from fairq.steps.pool.import_ import Dumps, import_dumps

    with progress("Importing", _size(given), invocation.quiet) as advance:
        imported = import_dumps(
            invocation.state_path,
            Dumps(slots, jobs, accounting),
            invocation.settings,
            invocation.actor(invocation.now(now)),
            host=socket.gethostname(),
            dry_run=dry_run,
            advance=advance,
        )
    for reason, count in imported.left_out.items():
        invocation.note(f"left out: {count} ({reason})")
    summary = _summary(imported)
    emit(View(document=summary, text=_sentence(summary, dry_run)), output)


def _size(names: list[str]) -> int:
    """The bytes there are to read; a file that cannot be looked at counts nothing here."""
    total = 0
    for name in names:
        with suppress(OSError, ValueError):
            total += Path(name).stat().st_size
    return total


def _summary(imported: Imported) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    if imported.slots is not None:
        summary["slots"] = imported.slots
    if imported.jobs is not None:
        summary |= {"jobs": imported.jobs, "clusters": imported.clusters}
    if imported.accounting is not None:
        summary["accounting_records"] = imported.accounting
    if imported.claims:
        summary["claims"] = imported.claims
    if imported.lost_claims:
        summary["ended_claims"] = imported.lost_claims
    if imported.left_out:
        summary["left_out"] = dict(imported.left_out)
    return summary


_WORDS = {
    "slots": "slots",
    "jobs": "jobs",
    "clusters": "clusters",
    "accounting_records": "accounting records",
    "claims": "claims",
    "ended_claims": "claims ended",
}


def _sentence(summary: dict[str, Any], dry_run: bool) -> str:
    parts = [f"{summary[key]} {word}" for key, word in _WORDS.items() if key in summary]
    return f"{'would import' if dry_run else 'imported'} {', '.join(parts)}"
