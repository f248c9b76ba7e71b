"""``fairq log``: the events of a job."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.figures import second
from fairq.cli.output import Column, Table, View, emit
from fairq.errors.pool import InvalidJobIdError

app = App()

_NAMES = {0: "submitted", 1: "started", 4: "evicted", 5: "ended", 9: "removed", 12: "held", 13: "released"}


@app.listing(
    examples="""
        fairq log 7.3              # what happened to a job
        fairq log 7 --json         # all jobs of a cluster, for scripts
    """
)
def log(
    context: Context,
    job: Annotated[str, Argument(metavar="JOB", help="Job (7.0) or cluster (7).")],
) -> None:
    """Show the events of a job: submitted, started, ended, evicted, held, released, removed.

    With log = FILE in the submit description, the same events are written to FILE, which HTCondor's tools can read.
    Events of jobs that have left the queue are kept for launch.keep_history. Of jobs that ended without a launcher, as
    by fairq finish, the history has them.
    """
    from fairq.steps.jobs.selection import parse_targets
    from fairq.steps.launch.output import events_of

    invocation, output = context.obj, context.obj.output
    (target,) = parse_targets([job])
    if target.cluster is None or (target.first_proc is not None and not target.is_one_job):
        raise InvalidJobIdError(value=job)
    job_events = events_of(invocation.existing_state, target.cluster, target.first_proc)
    records = [
        {
            "EventTime": event.time,
            "Job": _procs(event.cluster, event.first_proc, event.last_proc, target.first_proc),
            "EventTypeNumber": event.number,
            "Event": _NAMES.get(event.number, str(event.number)),
            "Detail": _detail(event.number, event.body),
            **{name: value for name, value in event.body.items() if value is not None},
        }
        for event in job_events
    ]
    columns = [
        Column("Time", "EventTime", second, "left"),
        Column("Job", "Job", align="left", level=1),
        Column("Event", "Event"),
        Column("Detail", "Detail"),
    ]
    emit(View(tables=[Table(columns=columns, records=records, empty="no events are recorded")]), output)


def _procs(cluster: int, first: int, last: int, proc: int | None) -> str:
    if proc is not None:
        return f"{cluster}.{proc}"
    return f"{cluster}.{first}" + (f"-{last}" if last > first else "")


def _detail(number: int, body: dict[str, Any]) -> str:
    if number in (0, 1):
        where = body.get("host" if number == 0 else "slot")
        return f"{'from' if number == 0 else 'on'} {where}" if where else ""
    parts = []
    if number in (4, 5):
        if body.get("signal") is not None:
            parts.append(f"signal {body['signal']}")
        elif body.get("exit_code") is not None:
            parts.append(f"exit code {body['exit_code']}")
        if body.get("wall"):
            parts.append(f"{body['wall']:.1f} s, {body['user'] + body['system']:.1f} s of CPU, {body['memory']} MB")
    if body.get("reason"):
        parts.append(str(body["reason"]))
    if number == 12 and body.get("code") is not None:
        parts.append(f"(code {body['code']}.{body.get('subcode') or 0})")
    return " ".join(parts) if number == 12 else ", ".join(parts)
