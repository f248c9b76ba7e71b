"""The jobs past their time limit, and the actions on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from fairq.engine.brokerage.timeouts.job import QUEUED, JobQueue, PandaJob, queue_of
from fairq.engine.brokerage.timeouts.policy import TimeoutPolicy
from fairq.engine.brokerage.timeouts.rebrokerage import Overshoot, Waited, fast_rebrokerage, user_rebrokerage
from fairq.engine.brokerage.timeouts.table import FAST, ORDER, SETS, TABLE, Action, Code, Situation, TimeoutRule


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

    The first row of `ORDER` that applies decides. A job whose queue is exempt from that row is returned with the
    reason, unless a later row applies from which its queue is not exempt.
    """
    jobs = list(jobs)
    fast = fast_rebrokerage(jobs, queues, policy)
    sets = user_rebrokerage(jobs, queues, policy, now)
    unknown = JobQueue("")
    found = []
    for job in sorted(jobs, key=lambda job: job.id):
        names = _ROWS_OF.get(job.status)
        if names is None:
            continue
        of = Situation(job, queue_of(queues, job.queue) or unknown, policy, now)
        spared = None
        for name in names:
            one = _decide(name, of, fast, sets)
            if one is not None and not one.exempt:
                found.append(one)
                break
            spared = spared or one
        else:
            if spared is not None:
                found.append(spared)
    return found


def _decide(name: str, of: Situation, fast: Mapping[int, Overshoot], sets: Mapping[int, Waited]) -> Timeout | None:
    if name == FAST:
        over = fast.get(of.job.id)
        return None if over is None else _sent_back_fast(of.job, over)
    if name == SETS:
        waited = sets.get(of.job.id)
        if waited is None:
            return None
        return Timeout(of.job, SETS, "rebroker", Code.REASSIGNED, *waited, exempt=_exemption(of, ""))
    row = TABLE[name]
    oldest = _age(row, of) if row.looks_at(of.job, of.policy.rules) else None
    if oldest is None:
        return None
    since, age = oldest
    limit = row.limit(of)
    if age <= limit or not row.applies(of):
        return None
    return Timeout(of.job, name, row.action, row.code, since, age, limit, _exemption(of, row.spared))


def _sent_back_fast(job: PandaJob, over: Overshoot) -> Timeout:
    numbers = {
        "queued": over.queued,
        "running": over.running,
        "total": over.total,
        "threshold": over.threshold,
        "excess": over.excess,
    }
    return Timeout(job, FAST, "rebroker", Code.FAST_REBROKERAGE, numbers=numbers)


def _age(row: TimeoutRule, of: Situation) -> tuple[str, float] | None:
    """Return the name of the time that counts, and the age; None if no time is known.

    Under the rules documented, the time is that of the last state change or heartbeat. Otherwise a transfer counts from
    the end of the job, or from its start if the end is unknown.
    """
    if of.policy.rules.timeouts_of_state and row.named and not row.heard and of.job.changed is not None:
        return "changed", of.now - of.job.changed
    times = [(name, getattr(of.job, name)) for name in row.since]
    ages = [(name, of.now - time) for name, time in times if time is not None]
    if not ages:
        return None
    return ages[0] if row.name == "transferring" else max(ages, key=lambda one: one[1])


def _exemption(of: Situation, spared: str) -> str:
    """Return why the job's queue is exempt from a row; PanDA's code exempts the queues *spared*."""
    is_all = of.policy.rules.pauses_stop_timeouts
    if of.queue.status == "paused" and (is_all or spared == "paused"):
        return "paused"
    if of.queue.disable_reassign and (is_all or spared == "disableReassign"):
        return "disableReassign"
    return ""
