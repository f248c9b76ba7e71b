"""``fairq import``: import a pool."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now, valued
from fairq.cli.output import Output, View, emit, progress, write_text
from fairq.errors.base import UsageError
from fairq.errors.pool import IncompleteImportError

if TYPE_CHECKING:
    from fairq.steps.pool.bundle import Bundle
    from fairq.steps.pool.import_ import Imported

app = App()


@app.report(
    examples="""
        fairq import --live                                    # the running pool of this machine
        fairq import --live --pool cm.example.org:9618         # another pool
        fairq import --script > fairq-dump.sh                  # run this on a machine without fairq ...
        fairq import pool.tar.gz                               # ... and import the archive that it writes
        condor_status -sort no -json | fairq import --slots -  # only slots
        fairq import --slots slots.json --jobs jobs.json --accounting accounting.long
        fairq import --slurm site.tar.gz --script > dump.sh    # the same for Slurm: run this there ...
        fairq import --slurm site.tar.gz                       # ... and import what it writes
        fairq import pool.json                                 # a whole state, as fairq export wrote it
    """
)
def import_(
    context: Context,
    document: Annotated[
        str | None,
        Argument(metavar="[DOCUMENT]", help="State document, or archive of dumps; - is stdin."),
    ] = None,
    slots: Annotated[
        str | None,
        valued("--slots", "Slot ads; replace all slots; - is stdin.", "FILE"),
    ] = None,
    jobs: Annotated[
        str | None,
        valued("--jobs", "Job ads; replace the queue; - is stdin.", "FILE"),
    ] = None,
    accounting: Annotated[
        str | None,
        valued("--accounting", "Accounting ads; replace records of the same name.", "FILE"),
    ] = None,
    schedds: Annotated[
        str | None,
        valued("--schedds", "Schedd ads, with the maxima of running jobs; - is stdin.", "FILE"),
    ] = None,
    live: Annotated[bool, Option("--live", help="Query a running pool and import everything.")] = False,
    pool: Annotated[
        str | None,
        valued("--pool", "Collector for --live [default: COLLECTOR_HOST].", "HOST"),
    ] = None,
    slurm: Annotated[
        str | None,
        valued("--slurm", "Archive or directory of a Slurm site; import everything.", "NAME"),
    ] = None,
    script: Annotated[bool, Option("--script", help="Print the script that writes an archive of dumps.")] = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Import a pool from HTCondor or Slurm: live, from dumps or from an archive; or a whole state.

    --live queries the collector, the schedds, the accountant and the negotiator's configuration, and imports everything
    in one step. It needs none of HTCondor's tools. It lists what it could not get, and then ends with an exit code of
    its own. On a machine without fairq, run the
    script that --script prints. The script writes an archive; import it as the DOCUMENT. Both ways replace the settings
    file, as 'fairq config import' does.

    --slurm imports a Slurm site: its nodes as slots, its jobs with their claims, its accounts as groups with quotas,
    their usage as priorities, and the records of jobs that have ended. The script of --slurm ARCHIVE --script writes
    the archive; a directory with the same files does as well. fairq names files and limits that it did not import, and
    what the files are needed for.

    Slots and jobs are the output of condor_status -sort no and condor_q -global -allusers with -json or -long. The
    format is recognised by its content; gzip is accepted. Several JSON documents in one file are one dump. A dump of
    another kind is refused, and so is an empty one that would delete slots or jobs: [] is a dump without ads.

    Accounting is the output of condor_userprio -long -allusers, or Accounting ads in any form, alone or among others
    (condor_status -any). Such ads have the effective priority. Other ads have Name, Priority (the real priority) and
    PriorityFactor, and optionally Ceiling, Floor, AccumulatedUsage, WeightedAccumulatedUsage, BeginUsageTime,
    LastUsageTime and LastUpdate. Missing values are those of a new submitter. The use that
    the records report is charged up to the time of the import. From then on, use is counted from the slots.

    A schedd offers no more jobs than its MaxJobsRunning less what it runs. --schedds takes these numbers from the
    output of condor_status -schedd or -submitters; such ads among the slots count as well.

    The rules htcondor follow the newest HTCondor version that a slot or the setting condor_version names.

    All files are imported in one step: if one has an error, nothing is changed. Data that you do not give stays
    unchanged. A running job stays on its slot if both still exist. A slot whose ad names a running job of the queue is
    claimed for that job. If only another slot names the job, the job has moved there. If no slot is left for a job, it
    is idle again. Jobs that have ended are left out. So are the jobs that a schedd does not offer to the negotiator:
    those of the scheduler, local, MPI and parallel universes, those of the grid universe without WantMatching, those of
    the dedicated scheduler, those that another program manages, no-op jobs, and idle jobs in their cool-down.

    A state document replaces the whole state, its history included. Exporting it again gives the same document.
    """
    invocation, output = context.obj, context.obj.output
    sources = [name for name in (document, slots, jobs, accounting, schedds) if name is not None]
    if script:
        from fairq.steps.pool.bundle import script as text

        write_text(text(slurm))
        return
    _check_use(sources, document, live, pool, slurm)
    if slurm is not None:
        from fairq.steps.pool.slurm.site import read_site

        _import_bundle(invocation, output, read_site(slurm, invocation.now(now)), now, dry_run=dry_run)
        return
    if live:
        from fairq.steps.pool.live import ask_pool

        bundle = ask_pool(pool)
        _import_bundle(invocation, output, bundle, now, dry_run=dry_run)
        if bundle.missing:
            raise IncompleteImportError(missing=counted(len(bundle.missing), "part is missing", "parts are missing"))
        return
    if document is not None and _is_archive(document):
        from fairq.steps.pool.bundle import read_archive

        _import_bundle(invocation, output, read_archive(document), now, dry_run=dry_run)
        return
    if document is not None:
        from fairq.steps.pool.import_document import import_document
        from fairq.steps.rights import require_administrator

        if not dry_run:
            require_administrator(invocation.actor(invocation.now(now)), "replace the state")
        counts = import_document(invocation.state_path, document, dry_run=dry_run)
        emit(View(document=counts, text=_sentence(counts, dry_run)), output)
        return
    import socket

    from fairq.steps.pool.import_ import Dumps, import_dumps

    with progress("Importing", _size(sources), invocation.quiet) as advance:
        imported = import_dumps(
            invocation.state_path,
            Dumps(slots, jobs, accounting, schedds),
            invocation.settings,
            invocation.actor(invocation.now(now)),
            host=socket.gethostname(),
            dry_run=dry_run,
            advance=advance,
        )
    _print_notes(invocation, imported)
    summary = _summary(imported)
    emit(View(document=summary, text=_sentence(summary, dry_run)), output)


def _check_use(sources: Sequence[str], document: str | None, live: bool, pool: str | None, slurm: str | None) -> None:
    if live and sources:
        raise UsageError(message="--live imports everything; leave out the files")
    if slurm is not None and (sources or live):
        raise UsageError(message="--slurm imports everything; leave out the files and --live")
    if pool is not None and not live:
        raise UsageError(message="--pool is only for --live; add --live")
    if not sources and not live and slurm is None:
        raise UsageError(
            message="nothing to import; name a document, --slots, --jobs or --accounting, or give --live or --slurm"
        )
    if sources.count("-") > 1:
        raise UsageError(message="stdin can be read only once; give - for one file only")
    if document is not None and len(sources) > 1:
        raise UsageError(message="a state document has all data; leave out --slots, --jobs and --accounting")


def _is_archive(document: str) -> bool:
    from fairq.steps.pool.bundle import is_archive

    return is_archive(document)


def _import_bundle(invocation: Invocation, output: Output, bundle: Bundle, now: int | None, *, dry_run: bool) -> None:
    """Import all dumps of a pool together; *now* overrides the time of the dumps."""
    import socket

    from fairq.cli.config_import import import_notes
    from fairq.steps.pool.bundle import import_bundle

    time = bundle.time if now is None and bundle.time is not None else invocation.now(now)
    result = import_bundle(
        invocation.settings_files,
        invocation.state_path,
        bundle,
        invocation.settings,
        invocation.actor(time),
        host=socket.gethostname(),
        dry_run=dry_run,
    )
    for problem in bundle.missing:
        invocation.note(f"not imported: {problem}")
    summary: dict[str, Any] = {}
    if result.config is not None:
        import_notes(invocation, result.config)
        settings = f"{'would write' if dry_run else 'wrote'} {result.config.file}"
        if result.config.former is not None:
            settings += f" (the former one is {result.config.former})"
        invocation.note(settings)
        summary["settings"] = str(result.config.file)
    _print_notes(invocation, result.imported)
    summary |= _summary(result.imported) | ({"missing": bundle.missing} if bundle.missing else {})
    emit(View(document=summary, text=_sentence(summary, dry_run)), output)


def _print_notes(invocation: Invocation, imported: Imported) -> None:
    for reason, count in imported.left_out.items():
        invocation.note(f"left out: {count} ({reason})")
    for note in imported.notes:
        invocation.note(note)


def _size(names: list[str]) -> int:
    """Return the number of bytes to read; an unreadable file counts as 0 here."""
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
    if imported.ended:
        summary["ended_jobs"] = imported.ended
    if imported.left_out:
        summary["left_out"] = dict(imported.left_out)
    return summary


_WORDS = {
    "slots": ("slot",),
    "jobs": ("job",),
    "clusters": ("cluster",),
    "accounting_records": ("accounting record",),
    "claims": ("claim",),
    "ended_claims": ("claim ended", "claims ended"),
    "ended_jobs": ("ended job",),
}
"""The singular of each, and the plural where it is not the singular with an s."""


def _sentence(summary: dict[str, Any], dry_run: bool) -> str:
    parts = [counted(summary[key], *words) for key, words in _WORDS.items() if key in summary]
    return f"{'would import' if dry_run else 'imported'} {', '.join(parts)}"
