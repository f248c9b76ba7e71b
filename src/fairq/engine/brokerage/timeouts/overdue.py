"""The jobs past their time limit, and the actions on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from fairq.engine.brokerage.timeouts.job import QUEUED, JobQueue, PandaJob, queue_of
from fairq.engine.brokerage.timeouts.rebrokerage import Overshoot, Waited, fast_rebrokerage, user_rebrokerage
from fairq.engine.brokerage.timeouts.table import (
    FAST,
    ORDER,
    SETS,
    TABLE,
    Action,
    Code,
    Situation,
    TimeoutPolicy,
    TimeoutRule,
)


class Timeout(Struct, frozen=True):
    """The action on one job.

    Args:
        row: the row of the table that decides, one of `ORDER`.
        action, code: the action, and PanDA's number for it.
        since: the time of the job from which *age* counts; empty if no age decides.
        age, limit: seconds; None if no age decides.
        exempt: why the job's queue is exempt: ``paused`` or ``disableReassign``; otherwise empty.
        numbers: other values compared.
    """

    job: PandaJob
    row: str
    action: Action
    code: Code | None
    since: str = ""
    age: float | None = None
    limit: float | None = None
    exempt: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


_ROWS_OF: dict[str, tuple[str, ...]] = {
    state: tuple(name for name in ORDER if state in (TABLE[name].states if name in TABLE else QUEUED))
    for state in sorted({state for row in TABLE.values() for state in row.states})
}


def timeouts(
    jobs: Iterable[PandaJob], queues: Mapping[str, JobQueue], policy: TimeoutPolicy, now: float
) -> list[Timeout]:
    """Return the actions on the *jobs* that are past a limit at *now*, at most one per job.

    The first row of `ORDER` that applies, and from which the job's queue is not exempt, decides. If the queue is exempt
    from all rows that apply, the first one is returned with the reason.
    """
    jobs = list(jobs)
    fast = fast_rebrokerage(jobs, queues, policy)
    sets = user_rebrokerage(jobs, queues, policy, now)
    unknown = JobQueue("")
    actions = []
    for job in sorted(jobs, key=lambda job: job.id):
        names = _ROWS_OF.get(job.status)
        if names is None:
            continue
        situation = Situation(job, queue_of(queues, job.queue) or unknown, policy, now)
        exempted = None
        for name in names:
            timeout = _decide(name, situation, fast, sets)
            if timeout is not None and not timeout.exempt:
                actions.append(timeout)
                break
            exempted = exempted or timeout
        else:
            if exempted is not None:
                actions.append(exempted)
    return actions


def _decide(
    name: str, situation: Situation, fast: Mapping[int, Overshoot], sets: Mapping[int, Waited]
) -> Timeout | None:
    if name == FAST:
        overshoot = fast.get(situation.job.id)
        return None if overshoot is None else _fast_timeout(situation.job, overshoot)
    if name == SETS:
        waited = sets.get(situation.job.id)
        if waited is None:
            return None
        return Timeout(situation.job, SETS, "rebroker", Code.REASSIGNED, *waited, exempt=_exemption(situation, ""))
    row = TABLE[name]
    oldest = _age(row, situation) if row.looks_at(situation.job, situation.policy.rules) else None
    if oldest is None:
        return None
    since, age = oldest
    limit = row.limit(situation)
    if age <= limit or not row.applies(situation):
        return None
    return Timeout(situation.job, name, row.action, row.code, since, age, limit, _exemption(situation, row.spared))


def _fast_timeout(job: PandaJob, overshoot: Overshoot) -> Timeout:
    numbers = {
        "queued": overshoot.queued,
        "running": overshoot.running,
        "total": overshoot.total,
        "threshold": overshoot.threshold,
        "excess": overshoot.excess,
    }
    return Timeout(job, FAST, "rebroker", Code.FAST_REBROKERAGE, numbers=numbers)


def _age(row: TimeoutRule, situation: Situation) -> tuple[str, float] | None:
    """Return the name of the time that counts, and the age; None if no time is known.

    Under the rules documented, it is the last state change or heartbeat. Otherwise a transfer counts from the end of
    the job, or from its start if the end is unknown; other rows use the longest age.
    """
    if situation.policy.rules.timeouts_of_state and row.named and not row.heard and situation.job.changed is not None:
        return "changed", situation.now - situation.job.changed
    times = [(name, getattr(situation.job, name)) for name in row.since]
    ages = [(name, situation.now - time) for name, time in times if time is not None]
    if not ages:
        return None
    return ages[0] if row.name == "transferring" else max(ages, key=lambda entry: entry[1])


def _exemption(situation: Situation, spared: str) -> str:
    """Return why the job's queue is exempt from a row; PanDA's code exempts the queues *spared*."""
    is_all = situation.policy.rules.pauses_stop_timeouts
    if situation.queue.status == "paused" and (is_all or spared == "paused"):
        return "paused"
    if situation.queue.disable_reassign and (is_all or spared == "disableReassign"):
        return "disableReassign"
    return ""
