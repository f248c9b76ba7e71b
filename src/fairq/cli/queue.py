"""``fairq queue``: the jobs."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, duration, moment
from fairq.cli.invocation import operating_system_user
from fairq.cli.job_options import ALL, PEOPLE, STATUSES, SUBMITTED, Jobs, Limit, Long, Mine, Procs, selection_given
from fairq.cli.options import Now, valued
from fairq.cli.output import Column, Form, Output, Record, Table, View, emit, terminal
from fairq.cli.output.long import long_texts
from fairq.cli.tools import QUEUE
from fairq.common.expression_form import is_expression, unwrapped
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fairq.common.records import Ad
    from fairq.steps.jobs.view import Queue, QueuePages

app = App()

_LETTERS = {1: "I", 2: "R", 3: "X", 4: "C", 5: "H", 6: ">", 7: "S", 9: "W", -1: "M"}
_IDLE, _HELD_STATUS, _WAITING = 1, 5, 9
_MATCHED = -1
"""The displayed status of a job that is matched and not started."""


@app.listing(
    dialect=QUEUE,
    selection=(*ALL, *STATUSES, *PEOPLE, *SUBMITTED),
    watch=True,
    examples="""
        fairq queue                                # all jobs, identical ones on one line
        fairq queue --mine --watch                 # your own, drawn anew every 5 seconds
        fairq queue alice -hold                    # the held jobs of an owner
        fairq queue --sort -JobPrio --limit 20     # the 20 lines with the highest priority
        fairq queue --batch                        # a line for each batch
        fairq queue --start                        # when idle jobs will start
        fairq queue --order                        # in which order the next cycle offers them, and why
        fairq queue 7.0-99 --procs                 # each of a hundred jobs on its own line
        fairq queue --constraint 'RequestCpus > 8' --af ClusterId ProcId Owner
    """,
)
def queue(
    context: Context,
    jobs: Jobs = None,
    mine: Mine = False,
    procs: Procs = False,
    long: Long = False,
    totals: Annotated[bool, Option("--totals", help="Show only the number of jobs.")] = False,
    sort: Annotated[str | None, valued("--sort", "Sort by this attribute [-ATTR: descending].", "ATTR")] = None,
    limit: Limit = None,
    batch: Annotated[bool, Option("--batch", help="Show batches: jobs with one name, else clusters.")] = False,
    start: Annotated[bool, Option("--start", help="Show when idle jobs will start.")] = False,
    order: Annotated[bool, Option("--order", help="Show the order in which idle jobs are offered.")] = False,
    now: Now = None,
) -> None:
    """Show the jobs.

    Alike jobs of a cluster share a line, with the values of the first one. ST is the status: I idle, R running, H held,
    S suspended, M matched (fairq gave the job a slot, but no launcher has started it), or W waiting for other jobs, a
    time or a limit of its own. If there is such a job, WAITS_FOR says for what each one waits, the others for the cycle
    or a release. It also has why Slurm or HTCondor has not started a job, in their words. BORROWED marks running jobs
    above the quota of their group, if there are any: others may take these slots back. In JSON, a waiting job is idle
    and has WaitsFor. RUN_TIME is the time since the current run started. With --held, the table shows the reason of
    each hold and its code. JSON, CSV, TSV, --af and --long have the complete ad of every job. The number of jobs below
    the table counts all selected jobs, whatever --limit is.

    --batch shows a line for each batch, as condor_q does: the jobs of an owner with the same batch_name (--name of
    submit), otherwise those of a cluster. DONE counts jobs of the batch that have left the queue.

    --start shows the idle jobs, and those that wait for something, with their place in line and their start. It is
    estimated by running cycles ahead on a copy of the state. Run times come from the last jobs of the same cluster that
    have ended, else of the submitter, the group, or the pool, and are at most the declared limit. Jobs that others wait
    for are taken to succeed. FROM is the first job of a line, TO the last one. Both assume that nobody submits more
    jobs. EARLIEST assumes short run times. LATEST assumes long run times, and that the jobs of the last 24 hours are
    submitted again each day. An empty field is a start that is not in sight. OFF is on how many machines that are off a
    job would start now, if there are any. In JSON, EstimatedStart, EarliestStart, LatestStart, PlaceInLine and
    MachinesOff are those of each job.

    --order shows the idle jobs as the next cycle would offer them: by the turn of their group, the effective priority
    of their submitter, their own priority, and their age. GROUP_ORDER is the value that sorts the groups, lower first.
    MATCH is how many of them that cycle would match. Slices of the pie and limits decide how many jobs a submitter may
    match in its turn; why has them.

    The options of condor_q also work with one dash and abbreviated: -run, -hold, -idle, -long, -constraint, -af, -json,
    -nobatch, -totals, -submitter, -batch. -global, -allusers and -wide are accepted and change nothing.
    """
    invocation, output = context.obj, context.obj.output
    user = operating_system_user() if mine else None
    selection = selection_given(invocation, jobs, now, constraint=output.constraint, mine=user)
    statuses = selection.status_numbers or None
    state, time = invocation.existing_state, invocation.now(now)
    reasons = list(selection.statuses) == ["held"]
    is_whole = selection.is_by_status and not (start or batch or order) and sort is None
    if output.format == "table":
        invocation.note_pause(time)
    if is_whole and limit is None and output.format == "table" and not (long or totals):
        from fairq.steps.jobs.view import queue_pages

        with queue_pages(state, invocation.settings, time, statuses) as pages:
            emit(_pages_view(pages, procs=procs, reasons=reasons), output)
        return
    from fairq.steps.jobs.batches import batches
    from fairq.steps.jobs.view import look, look_first

    if is_whole and (totals or limit is not None):
        jobs_found = look_first(state, invocation.settings, 1 if totals else limit or 1, time, statuses)
    else:
        jobs_found = look(state, invocation.settings, selection, time)
    for note in jobs_found.notes:
        invocation.note(note)
    if sort is not None and not jobs_found.sort(sort.removeprefix("-"), descending=sort.startswith("-")):
        invocation.note(f"no job has the attribute {sort.removeprefix('-')}; the jobs are in the order of the queue")
    if batch:
        if start or procs or long or totals:
            raise UsageError(message="--batch is a view of its own; leave out the other options of the view")
        emit(_batches_view(batches(state, jobs_found), limit), output)
        return
    if order:
        from fairq.cli.queue_views import order_view

        if start or procs or long or totals or statuses not in (None, {_IDLE}):
            raise UsageError(message="--order shows idle jobs in a table; leave out the other options of the view")
        emit(order_view(invocation, jobs_found, limit), output)
        return
    if start:
        from fairq.cli.queue_views import starts_view

        if statuses not in (None, {_IDLE, _WAITING}) or long or totals:
            raise UsageError(message="--start shows idle jobs in a table; leave out the other options of the view")
        emit(starts_view(invocation, jobs_found, output, limit, procs=procs), output)
        return
    emit(_view(jobs_found, output, limit, procs=procs, long=long, totals=totals, reasons=reasons), output)


def _view(
    jobs: Queue,
    output: Output,
    limit: int | None,
    *,
    procs: bool = False,
    long: bool = False,
    totals: bool = False,
    reasons: bool = False,
) -> View:
    if output.format != "table":
        ads = islice(jobs.ads(), limit)
        return View(tables=[Table(columns=_COLUMNS, records=ads, constrained=True)], fields=FIELDS)
    if long:
        return View(text=long_texts(islice(jobs.ads(), limit)))
    if totals:
        return View(tables=[_summary(jobs)])
    rows = islice(jobs.each() if procs else jobs.rows(), limit)
    columns = queue_columns(jobs, reasons=reasons)
    return View(
        tables=[
            Table(columns=columns, records=shown_rows(rows, waits=jobs.has_waits()), constrained=True),
            _summary(jobs),
        ]
    )


def _batches_view(records: list[dict[str, Any]], limit: int | None) -> View:
    waiting = [Column("WAIT", "Waiting")] if any(record["Waiting"] for record in records) else []
    columns = [
        Column("OWNER", "Owner"),
        Column("BATCH_NAME", "JobBatchName", narrow="cut"),
        Column("SUBMITTED", "QDate", moment, "right", level=2),
        *(Column(*column) for column in (("DONE", "Done"), ("RUN", "Running"), ("IDLE", "Idle"))),
        *waiting,
        *(Column(*column) for column in (("HOLD", "Held"), ("TOTAL", "Total"))),
        Column("JOB_IDS", "JobIds", level=1),
    ]
    return View(tables=[Table(columns, records[:limit], constrained=True, empty="no jobs")])


def _pages_view(pages: QueuePages, *, procs: bool, reasons: bool) -> View:
    table = Table(
        columns=queue_columns(pages, reasons=reasons),
        records=shown_rows(pages.each() if procs else pages.rows(), waits=pages.has_waits()),
        constrained=True,
        widest=list(shown_rows(pages.widest(), waits=False)),
        release=pages.release,
    )
    return View(tables=[table, _summary(pages)])


def shown_rows(rows: Iterable[Ad], *, waits: bool) -> Iterator[Ad]:
    """Yield *rows*, completed by what the table shows of their status; with *waits*, what they wait for."""
    for ad in rows:
        ad["Shown"] = _status(ad)
        if waits:
            ad["Waiting"] = _wait(ad)
        yield ad


def _status(ad: Record) -> Any:
    if ad.get("Matched"):
        return _MATCHED
    return _WAITING if "WaitsFor" in ad else ad.get("JobStatus")


def _wait(ad: Record) -> Any:
    """Return the reason for which a job waits: its own, an engine's, its user's, or the next cycle."""
    reason = ad.get("WaitsFor") or ad.get("EngineReason")
    return reason or {_IDLE: "the cycle", _HELD_STATUS: "a release"}.get(ad.get("JobStatus", 0))


def queue_columns(jobs: Queue | QueuePages, *, reasons: bool = False) -> list[Column]:
    """Return the columns of the table; with *reasons*, those of held jobs."""
    columns = [*_COLUMNS[:-1], *_HELD] if reasons else _COLUMNS
    more = [_WAITS_FOR] * jobs.has_waits() + [_BORROWED] * jobs.has_borrowed()
    return [*columns[:-1], *more, columns[-1]]


def _summary(jobs: Queue | QueuePages) -> Table:
    def line(_: object) -> str:
        return summary_line(jobs, is_brief=terminal.style(sys.stdout) is not None) + "\n"

    return Table(columns=[], records=[{}], plain=line, constrained=True)


def summary_line(jobs: Queue | QueuePages, *, is_brief: bool) -> str:
    """Return the line of condor_q; a brief one leaves out counts of 0."""
    counts = jobs.counts()
    shown_statuses = [(4, "completed"), (3, "removed"), (1, "idle"), (2, "running"), (5, "held"), (7, "suspended")]
    matched = jobs.matched()
    total = counted(sum(counts.values()), "job")
    if counts.get(_WAITING):
        shown_statuses.append((_WAITING, "waiting"))
    parts = [(counts.get(status, 0) - (matched if status == 2 else 0), name) for status, name in shown_statuses]
    shown = [f"{count} {name}" for count, name in parts if count or not is_brief]
    if matched:
        shown.append(f"{matched} matched")
    return "; ".join(filter(None, [total, ", ".join(shown)]))


def _submitted(form: Callable[[float], str]) -> Callable[[Any], str]:
    return lambda time: form(time) if isinstance(time, int) else str(time)


def _letter(status: Any) -> str:
    return _LETTERS.get(status, "?")


def _plain(value: Any) -> str:
    """Return an amount; a computed request is shown as its expression."""
    text = str(value)
    return unwrapped(text) if is_expression(text) else text


_COLOURS = {1: "yellow", 2: "green", 5: "red", 7: "magenta", _WAITING: "blue", _MATCHED: "cyan"}
"""Colours of idle, running, held, suspended, waiting and matched jobs."""


def _colour(job: Record) -> str:
    return _COLOURS.get(job["Shown"], "")


_COLUMNS = [
    Column("ID", "Jobs"),
    Column("SUBMITTER", "Submitter"),
    Column("SUBMITTED", "QDate", Form(_submitted(moment.full), _submitted(moment.brief)), "right", level=3),
    Column("RUN_TIME", "RunTime", duration, "right", level=1),
    Column("ST", "Shown", _letter, "left", _colour),
    Column("PRI", "JobPrio", level=5),
    Column("CPUS", "RequestCpus", _plain, "right", level=2),
    Column("MEMORY", "RequestMemory", _plain, "right", level=4),
    Column("CMD", "Command", narrow="cut"),
]

_HELD = [
    Column("CODE", "HoldReasonCode"),
    Column("HOLD_REASON", "HoldReason"),
]

_WAITS_FOR = Column("WAITS_FOR", "Waiting")
_BORROWED = Column("BORROWED", "Borrowed", lambda is_borrowed: "yes" if is_borrowed else "", "left")

FIELDS = [
    "ClusterId",
    "ProcId",
    "Owner",
    "User",
    "QDate",
    "JobStatus",
    "JobPrio",
    "RequestCpus",
    "RequestMemory",
    "RequestDisk",
    "AccountingGroup",
    "RemoteHost",
    "Cmd",
    "Args",
    "Arguments",
]
