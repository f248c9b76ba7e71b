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
        condor_status -json | fairq import --slots -           # slots of a live pool
        fairq import --slots slots.json --jobs jobs.json --accounting accounting.json
        fairq import pool.json                                 # a whole state, as fairq export wrote it
    """
)
def import_(
    invocation: Invocation,
    output: Report,
    document: Annotated[
        str | None,
        typer.Argument(metavar="[DOCUMENT]", help="State document from fairq export; - is stdin."),
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option("--slots", metavar="FILE", help="Slot ads; replace all slots; - is stdin."),
    ] = None,
    jobs: Annotated[
        str | None,
        typer.Option("--jobs", metavar="FILE", help="Job ads; replace the queue; - is stdin."),
    ] = None,
    accounting: Annotated[
        str | None,
        typer.Option(
            "--accounting",
            metavar="FILE",
            help="Accounting ads; replace records of the same name.",
        ),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Import slots, jobs and accounting records from HTCondor dumps, or a whole state.

    Slots and jobs are the output of condor_status and condor_q with -json or -long. The format is recognised by its
    content; gzip is accepted. Accounting ads, in the same formats, have Name, Priority (the real priority) and
    PriorityFactor, and optionally Ceiling, Floor, AccumulatedUsage, WeightedAccumulatedUsage, BeginUsageTime,
    LastUsageTime and LastUpdate. Missing values are those of a new submitter.

    All files are imported in one step: if one has an error, nothing is changed. Data that you do not give stays
    unchanged. A running job stays on its slot if both still exist. A slot whose ad names a running job of the queue is
    claimed for that job. If only another slot names the job, the job has moved there. If no slot is left for a job, it
    is idle again. Ended jobs and those of the grid (without WantMatching), scheduler or local universe are left out.

    A DOCUMENT replaces the whole state, its history included. Exporting it again gives the same document.
    """
    given = [name for name in (document, slots, jobs, accounting) if name is not None]
    if not given:
        raise UsageError(message="nothing to import; name a state document, --slots, --jobs or --accounting")
    if given.count("-") > 1:
        raise UsageError(message="stdin can be read only once; give - for one file only")
    if document is not None and len(given) > 1:
        raise UsageError(message="a state document has all data; leave out --slots, --jobs and --accounting")
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
    for note in imported.notes:
        invocation.note(note)
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
