"""Find the jobs past their time limit; close them, fail them or send them back to brokerage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.columns.broker.column import value_of
from fairq.columns.broker.counts import OUTCOMES, PILOTS, SLOTS
from fairq.columns.broker.places import QUEUES
from fairq.columns.broker.work import JOBS, TASKS
from fairq.common.records import Actor, Change
from fairq.engine.brokerage.pool.flags import read_flags
from fairq.engine.brokerage.timeouts.job import JobQueue, PandaJob
from fairq.engine.brokerage.timeouts.overdue import Timeout, timeouts
from fairq.engine.brokerage.timeouts.table import ORDER, TimeoutPolicy
from fairq.state import broker_data, history
from fairq.state.connection import State, reading, writing
from fairq.steps.broker.actions import actions_of_timeouts
from fairq.steps.broker.config import load_config
from fairq.steps.broker.flows import rules_in_force

if TYPE_CHECKING:
    from fairq.settings import Settings


_FIELDS = {
    "id": "PandaID",
    "status": "jobStatus",
    "queue": "computingSite",
    "share": "gshare",
    "label": "prodSourceLabel",
    "priority": "currentPriority",
    "processing_type": "processingType",
    "task": "jediTaskID",
    "job_set": "jobDefinitionID",
    "user": "prodUserName",
    "working_group": "workingGroup",
    "relocation_flag": "relocationFlag",
    "event_service": "eventService",
    "sub_status": "jobSubStatus",
    "special": "specialResource",
    "has_report": "hasReport",
    "output_complete": "outputComplete",
    "created": "creationTime",
    "modified": "modificationTime",
    "changed": "stateChangeTime",
    "activated": "activatedTime",
    "started": "startTime",
    "ended": "endTime",
}
"""The column of each field that is stored in one."""

_JEDI = "jedi"


def load_jobs(state: State) -> list[PandaJob]:
    """Return every job, oldest first."""
    columns = [*_FIELDS.values(), "lockedby", "transformation"]
    names = list(_FIELDS)
    task = names.index("task")
    return [
        PandaJob(
            **dict(zip(names, row, strict=False)),
            from_jedi=row[-2] == _JEDI if row[-2] else row[task] is not None,
            build="build" in row[-1],
        )
        for row in broker_data.load(state, JOBS, columns)
    ]


def load_job_queues(state: State, now: float) -> dict[str, JobQueue]:
    """Return the queues at *now*; expired requests for slots do not count."""
    started: dict[str, float | None] = dict(broker_data.load(state, PILOTS, ["queue", "lastStart"]))
    slots = {
        queue
        for queue, expires in broker_data.load(state, SLOTS, ["queue", "expires"])
        if expires is None or expires > now
    }
    columns = ["name", "status", "workflow", "catchall", "params", "cric"]
    return {
        name: JobQueue(
            name,
            status or "unknown",
            workflow,
            disable_reassign=read_flags(catchall, params).disable_reassign,
            last_start=started.get(name),
            has_slots=name in slots,
            transfer_days_high=_days(cric, "transtimehi"),
            transfer_days_low=_days(cric, "transtimelo"),
        )
        for name, status, workflow, catchall, params, cric in broker_data.load(state, QUEUES, columns)
    }


def _days(cric: Any, name: str) -> float | None:
    """Return a number of days from CRIC's fields of a queue."""
    try:
        days = float(cric[name])
    except (KeyError, TypeError, ValueError):
        return None
    return days if 0 < days < 1e6 else None


Record = dict[str, Any]

BECOMES = {"kill": "closed", "fail": "failed", "rebroker": "closed"}
"""The state of a job after each action."""

_SUB_STATUS = {"kill": "timeout", "fail": "timeout", "rebroker": "toreassign"}


class Cleaned(Struct, frozen=True):
    """The jobs past their time limit, and the actions on them.

    Args:
        time, rules: the time and the rules of the check.
        applied: whether the actions were carried out.
        found: a record per job past its limit, in order of the table and then of the jobs.
        exempt: the same for jobs that are exempt because of their queue.
        tasks: the tasks that return to brokerage.
    """

    time: int
    rules: str
    applied: bool
    found: Sequence[Record]
    exempt: Sequence[Record]
    tasks: Sequence[int]

    @property
    def rows(self) -> list[Record]:
        """Number of jobs by row of the table."""
        counted = Counter(record["row"] for record in self.found)
        return [{"row": row, "jobs": counted[row], "action": self._action(row)} for row in ORDER if row in counted]

    def _action(self, row: str) -> str:
        return next(str(record["action"]) for record in self.found if record["row"] == row)


def clean(
    path: Path,
    settings: Settings,
    actor: Actor,
    *,
    rules: str | None = None,
    constraint: str | None = None,
    apply: bool = False,
    out: Callable[[Record], None] | None = None,
) -> Cleaned:
    """Find the jobs past their time limit at the actor's time; with *apply*, carry out the table's actions.

    Everything is stored in one transaction, with an entry in the history for each job. *constraint* selects the jobs
    whose record satisfies it. A task whose jobs are closed becomes ready for brokerage again, and the jobs count as
    closed there. *out* receives the actions for PanDA (see `fairq.steps.broker.actions`) before anything is stored.

    Raises ExpressionError.
    """
    in_force = rules_in_force(settings, rules)
    with writing(path) if apply else reading(path) as state:
        policy = TimeoutPolicy.of(load_config(state).given, in_force)
        overdue = timeouts(load_jobs(state), load_job_queues(state, actor.time), policy, actor.time)
        records = [
            (timeout, _record(timeout)) for timeout in sorted(overdue, key=lambda timeout: ORDER.index(timeout.row))
        ]
        if constraint is not None:
            records = _matching(records, constraint)
        actionable = [(timeout, record) for timeout, record in records if not timeout.exempt]
        tasks = _tasks_to_broker(state, [timeout for timeout, _ in actionable])
        exempt = [record for timeout, record in records if timeout.exempt]
        cleaned = Cleaned(actor.time, in_force.name, apply, [record for _, record in actionable], exempt, tasks)
        if out is not None:
            out(actions_of_timeouts(cleaned))
        if apply and actionable:
            _apply(state, [timeout for timeout, _ in actionable], tasks, actor)
    return cleaned


def _record(timeout: Timeout) -> Record:
    job = timeout.job
    return {
        "panda_id": job.id,
        "job_status": job.status,
        "computing_site": job.queue,
        "gshare": job.share,
        "prod_source_label": job.label,
        "current_priority": job.priority,
        "jedi_task_id": job.task,
        "prod_user_name": job.user,
        "row": timeout.row,
        "since": timeout.since,
        "age": timeout.age,
        "limit": timeout.limit,
        "action": timeout.action,
        "code": timeout.code,
        "becomes": job.status if timeout.exempt else BECOMES[timeout.action],
        "exempt": timeout.exempt,
        "numbers": dict(timeout.numbers),
    }


def _matching(records: list[tuple[Timeout, Record]], constraint: str) -> list[tuple[Timeout, Record]]:
    from fairq.engine.classad import parse
    from fairq.steps.evaluation.budget import evaluated, listing_budget

    values = evaluated(parse(constraint), (record for _, record in records), listing_budget())
    return [
        pair for pair, value in zip(records, values, strict=True) if isinstance(value, (bool, int, float)) and value
    ]


def _tasks_to_broker(state: State, overdue: list[Timeout]) -> list[int]:
    """Return the assigned tasks that must return to brokerage."""
    task_numbers = {
        timeout.job.task for timeout in overdue if timeout.action == "rebroker" and timeout.job.task is not None
    }
    if not task_numbers:
        return []
    rows = broker_data.load(state, TASKS, ["jediTaskID", "status"])
    return [task for task, status in rows if task in task_numbers and status == "assigned"]


def _apply(state: State, overdue: list[Timeout], tasks: list[int], actor: Actor) -> None:
    columns = ["jobStatus", "jobSubStatus", "stateChangeTime", "modificationTime", "endTime", "endCode", "endReason"]
    broker_data.change(
        state,
        JOBS,
        columns,
        (
            (BECOMES[timeout.action], _SUB_STATUS[timeout.action], actor.time, actor.time, actor.time,
             timeout.code, timeout.row, timeout.job.id)
            for timeout in overdue
        ),
    )  # fmt: skip
    broker_data.change(state, TASKS, ["status", "retryTime", "reason"], (("ready", None, "", task) for task in tasks))
    _count_closed(state, overdue)
    changes = [
        Change(f"broker job {timeout.job.id}", {"jobStatus": timeout.job.status}, _change(timeout))
        for timeout in overdue
    ]
    history.record(state, actor, [*changes, *(Change(f"broker task {task}", "assigned", "ready") for task in tasks)])


def _change(timeout: Timeout) -> Record:
    change: Record = {"jobStatus": BECOMES[timeout.action], "row": timeout.row, "code": timeout.code}
    if timeout.age is not None:
        change |= {"age": round(timeout.age), "limit": timeout.limit}
    return change | dict(timeout.numbers)


def _count_closed(state: State, overdue: list[Timeout]) -> None:
    """Add the closed jobs to the outcomes of their tasks, so that brokerage prefers other queues."""
    closed = Counter(
        (timeout.job.task, timeout.job.queue)
        for timeout in overdue
        if timeout.action == "rebroker" and timeout.job.task is not None and timeout.job.queue
    )
    if not closed:
        return
    positions = OUTCOMES.positions
    stored = {(row[positions["task"]], row[positions["queue"]]): row for row in broker_data.load(state, OUTCOMES)}
    rows = []
    for task_and_queue, count in closed.items():
        row = list(
            stored.get(task_and_queue)
            or (value_of(column, _key_value(task_and_queue, column.name)) for column in OUTCOMES.columns)
        )
        row[positions["closed"]] += count
        rows.append(tuple(row))
    broker_data.store(state, OUTCOMES, rows)


def _key_value(task_and_queue: tuple[int | None, str], column: str) -> Any:
    return {"task": task_and_queue[0], "queue": task_and_queue[1]}.get(column)
