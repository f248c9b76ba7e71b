"""The grid at a glance: queues by status, tasks by state, why tasks are pending, and the last run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from msgspec import Struct, field

from fairq.columns.broker.places import QUEUES
from fairq.columns.broker.work import JOBS, TASKS
from fairq.state import broker_cycles, broker_data
from fairq.state.connection import reading
from fairq.steps.broker.run import ASSIGNED, PENDING, is_due


class ReasonCount(Struct, frozen=True):
    """The number of pending tasks with one reason of their last run (without queue numbers), and the first task."""

    tasks: int
    reason: str
    example: int


class LastRun(Struct, frozen=True):
    """The last run: its number, *time* (seconds since 1970), rules, and its tasks by new state."""

    number: int
    time: int
    rules: str
    counts: dict[str, int]


class GridStatus(Struct):
    """The grid at *time* (seconds since 1970).

    *queues* counts the queues by status in CRIC, *tasks* the tasks by state, *jobs* the imported jobs by state.
    *due* is the number of tasks that a run would broker now, *next_retry_time* the time of the next retry of a pending
    task. *used_queues* are the queues that have an assigned task. *reasons* are those of the pending tasks, most first.
    """

    state: str
    time: int
    queues: dict[str, int]
    tasks: dict[str, int]
    jobs: dict[str, int]
    due: int = 0
    next_retry_time: int | None = None
    used_queues: int = 0
    run: LastRun | None = None
    reasons: list[ReasonCount] = field(default_factory=list)


def grid_status(path: Path, now: int) -> GridStatus:
    """Return the status of the grid."""
    with reading(path) as state:
        status_now = GridStatus(
            str(state.path),
            now,
            _largest_first(Counter(dict(broker_data.counts(state, QUEUES, ["status"])))),
            _largest_first(Counter(dict(broker_data.counts(state, TASKS, ["status"])))),
            _largest_first(Counter(dict(broker_data.counts(state, JOBS, ["jobStatus"])))),
        )
        rows = broker_data.load(state, TASKS, ["jediTaskID", "status", "retryTime", "assigned", "reason"])
        last = broker_cycles.load(state, broker_cycles.next_number(state) - 1)
    reasons: Counter[str] = Counter()
    examples: dict[str, int] = {}
    used: set[str] = set()
    retries = []
    for task, status, retry, assigned, reason in rows:
        if is_due(status, retry, now):
            status_now.due += 1
        elif status == PENDING:
            retries.append(retry)
        if status == ASSIGNED:
            used.update(name.partition("/")[0] for name in assigned)
        if status == PENDING:
            stage = reason.partition(": ")[0]
            reasons[stage] += 1
            examples.setdefault(stage, task)
    status_now.next_retry_time = min(retries, default=None)
    status_now.used_queues = len(used)
    if last is not None:
        status_now.run = LastRun(last.number, last.time, last.rules, last.document["counts"])
    ordered = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    status_now.reasons = [ReasonCount(number, reason, examples[reason]) for reason, number in ordered]
    return status_now


def _largest_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
