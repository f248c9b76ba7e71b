"""``fairq history``: the jobs that have ended."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace
from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, duration, moment
from fairq.cli.invocation import Invocation, operating_system_user
from fairq.cli.job_options import ALL, PEOPLE, Jobs, Limit, Long, Mine, Procs, selection_given
from fairq.cli.options import Now, parse_time, valued
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.cli.output.constraint import matching
from fairq.cli.output.long import long_texts
from fairq.cli.tools import HISTORY
from fairq.errors.base import InvalidNumberError, UsageError

if TYPE_CHECKING:
    from fairq.steps.jobs.past import Past

app = App()

_LINES = 1000
"""Maximum number of table lines without --limit."""


@app.listing(
    dialect=HISTORY,
    selection=(*ALL, *PEOPLE),
    examples="""
        fairq history                                  # the latest jobs first
        fairq history alice --since yesterday          # the jobs of an owner
        fairq history --exit failed --since -7d        # jobs with an exit code other than 0, or a signal
        fairq history --since 2026-10-01 --until 2026-11-01 --csv > october.csv
        fairq history --constraint 'MemoryUsage > RequestMemory' --af ClusterId ProcId MemoryUsage
    """,
)
def history(
    context: Context,
    jobs: Jobs = None,
    since: Annotated[str | None, valued("--since", "Show jobs that ended at this time or later.", "TIME")] = None,
    until: Annotated[str | None, valued("--until", "Show jobs that ended before this time.", "TIME")] = None,
    group: Annotated[
        str | None, valued("--group", "Show jobs of an accounting group and its subgroups.", "GROUP")
    ] = None,
    exit_: Annotated[
        str | None,
        valued("--exit", "Show jobs with this exit code, or failed jobs [failed].", "CODE"),
    ] = None,
    mine: Mine = False,
    completed: Annotated[bool, Option("--completed", help="Show only completed jobs.")] = False,
    removed: Annotated[bool, Option("--removed", help="Show only removed jobs.")] = False,
    procs: Procs = False,
    long: Long = False,
    limit: Limit = None,
    now: Now = None,
) -> None:
    """Show jobs that have left the queue, the latest first.

    WAIT is the time from submission to the first start, or to the end of a job that never ran. RUN is the time of all
    runs. ST is C (completed) or X (removed). EXIT is the exit code, or the signal as in SIG 9. CPU is the CPU time that
    the job used, as a share of the cores that it requested. MEMORY is the peak and, after the slash, the request, in
    MB. Both need a launcher. JSON, CSV, TSV, --af and --long have the complete ad of every job.

    Without --limit a table has at most 1000 lines; the other formats have all jobs. Ended jobs are kept for
    history.keep_jobs. The options of condor_history also work with one dash and abbreviated: -limit, -long, -json,
    -constraint, -af, -completedsince.
    """
    from fairq.steps.jobs.past import Past, Wanted, still_queued, wanted_jobs

    invocation, output = context.obj, context.obj.output
    me = operating_system_user() if mine else None
    selection = selection_given(invocation, jobs, now, constraint=output.constraint, mine=me)
    output = replace(output, constraint=selection.condition)
    user = selection.user
    if completed and removed:
        raise UsageError(message="--completed and --removed exclude each other; give only one")
    time = invocation.now(now)
    code = _exit_code(exit_)
    query = Wanted(
        since=None if since is None else parse_time(since, "--since", time),
        until=None if until is None else parse_time(until, "--until", time),
        owner=user if user is not None and "@" not in user else None,
        submitter=user if user is not None and "@" in user else None,
        group=group,
        status=4 if completed else 3 if removed else None,
        exit_code=code,
        failed=exit_ is not None and code is None,
    )
    query = wanted_jobs(query, selection.targets)
    past = Past(invocation.existing_state, query)
    view = _view(invocation, past, output, limit, procs=procs, long=long)
    if view.tables and not view.tables[0].records:
        anything = query == Wanted() and output.constraint is None
        nothing = "no job has ended" if anything else "no job that has ended matches; 'fairq history' shows all"
        view.tables[0].empty = still_queued(invocation.existing_state, selection.targets) or nothing
    emit(view, output)


def _exit_code(text: str | None) -> int | None:
    """Return the exit code given by ``--exit``; None without the option, and for ``failed``."""
    if text is None or text == "failed":
        return None
    try:
        return int(text)
    except ValueError:
        expected = "give an exit code such as 1, or failed"
        raise InvalidNumberError(what="--exit", value=text, expected=expected) from None


def _view(invocation: Invocation, past: Past, output: Output, limit: int | None, *, procs: bool, long: bool) -> View:
    if output.format != "table" or long:
        ads = islice(matching(past.ads(), output.constraint), limit)
        if output.format == "table":
            return View(text=long_texts(ads))
        return View(tables=[Table(columns=_COLUMNS, records=ads, constrained=True)], fields=_FIELDS)
    # One ad may represent many jobs only if no constraint can distinguish them.
    lines = iter(matching(past.each() if procs or output.constraint else past.rows(), output.constraint))
    records = list(islice(lines, limit or _LINES))
    if limit is None and len(records) == _LINES and next(lines, None) is not None:
        invocation.note(f"only the last {_LINES} lines are shown; give --limit or --since")
    columns = [*_COLUMNS, _REASON] if any(ad["Reason"] for ad in records) else _COLUMNS
    tables = [Table(columns=columns, records=records, constrained=True)]
    if output.constraint is None and records:
        total = counted(len(past), "job")
        tables.append(Table(columns=[], records=[{}], plain=lambda _: total + "\n", constrained=True))
    return View(tables=tables)


def _share(value: float) -> str:
    return f"{100 * value:.0f}%"


_COLUMNS = [
    Column("ID", "Jobs"),
    Column("SUBMITTER", "Submitter"),
    Column("SUBMITTED", "QDate", moment, "right", level=5),
    Column("WAIT", "WaitTime", duration, "right", level=3),
    Column("RUN", "RemoteWallClockTime", duration, "right"),
    Column("ENDED", "EnteredCurrentStatus", moment, "right"),
    Column("ST", "JobStatus", lambda status: "C" if status == 4 else "X", "left"),
    Column("EXIT", "Exit", str, "right"),
    Column("CPU", "CpuEfficiency", _share, "right", level=2),
    Column("MEMORY", "Memory", str, "right", level=4),
    Column("CMD", "Command", narrow="cut", level=1),
]

_REASON = Column("REASON", "Reason")

_FIELDS = [
    "ClusterId",
    "ProcId",
    "Owner",
    "Submitter",
    "QDate",
    "JobStartDate",
    "EnteredCurrentStatus",
    "JobStatus",
    "ExitCode",
    "ExitSignal",
    "NumJobStarts",
    "RemoteWallClockTime",
    "CumulativeSlotTime",
    "RemoteUserCpu",
    "RemoteSysCpu",
    "MemoryUsage",
    "RequestCpus",
    "RequestMemory",
    "LastRemoteHost",
    "RemoveReason",
    "HoldReason",
    "Cmd",
    "Args",
    "Arguments",
]
