"""Jobs sent back to brokerage: those of a queue above its part of a share, and users' job sets that wait too long.

Sources: PanDA's brokerage page, "Timeout Rules"; PanDA's periodic cleaner (docs/panda.md, Timeouts).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from fairq.engine.brokerage.timeouts.job import QUEUED, JobQueue, PandaJob, queue_of
from fairq.engine.brokerage.timeouts.table import HOUR, TimeoutPolicy

_THRESHOLD = "rebroker.FAST_REBRO_THRESHOLD"

_TOLERANCE = 1e-9
"""Tolerance as a part of the waiting jobs: in binary, 0.29 of 100 is less than 29."""


class Overshoot(Struct, frozen=True):
    """A queue with too many waiting jobs of a share.

    Args:
        queued, running: its jobs of the share. *total*: waiting jobs of the share at all queues.
        threshold: the ``FAST_REBRO_THRESHOLD_NQUEUE`` of the share.
        excess: number of jobs above the highest of the three limits.
    """

    queue: str
    share: str
    queued: int
    running: int
    total: int
    threshold: float
    excess: int


def overshoots(jobs: Iterable[PandaJob], queues: Mapping[str, JobQueue], policy: TimeoutPolicy) -> list[Overshoot]:
    """Return the queues and shares that exceed all three limits of *policy*.

    A queue with a ``numSlots`` row is left out, under the rules panda also from the totals: many jobs wait there on
    purpose.
    """
    every, config = policy.rules.fast_rebrokerage_total == "all", policy.config
    ratio, fraction = (config.amount(f"{_THRESHOLD}_{name}") for name in ("NQNR_RATIO", "NQUEUE_FRAC"))
    queued: Counter[tuple[str, str]] = Counter()
    running: Counter[tuple[str, str]] = Counter()
    total: Counter[str] = Counter()
    for job in jobs:
        counts = _counts(job, queues)
        if job.status in QUEUED and (counts or (every and _is_placed(job))):
            total[job.share] += 1
        if not counts:
            continue
        if job.status in QUEUED:
            queued[job.queue, job.share] += 1
        elif job.status == "running":
            running[job.queue, job.share] += 1
    exceeding = []
    for (queue, share), waiting in sorted(queued.items()):
        threshold = config.number(f"{_THRESHOLD}_NQUEUE", share)
        if threshold is None or _is_exempt(queue_of(queues, queue), policy):
            continue
        excess = min(
            waiting - ratio * running[queue, share],
            waiting - threshold,
            waiting - fraction * total[share],
        )
        excess -= _TOLERANCE * waiting
        if excess > 0:
            numbers = (waiting, running[queue, share], total[share], threshold, ceil(excess))
            exceeding.append(Overshoot(queue, share, *numbers))
    return exceeding


def fast_rebrokerage(
    jobs: Iterable[PandaJob], queues: Mapping[str, JobQueue], policy: TimeoutPolicy
) -> dict[int, Overshoot]:
    """Return the jobs to send back, by id: the oldest waiting jobs of each queue above the limits.

    PanDA sends back one job less than the excess (docs/panda.md).
    """
    jobs = list(jobs)
    overshoots_by_queue = {
        (overshoot.queue, overshoot.share): overshoot for overshoot in overshoots(jobs, queues, policy)
    }
    remaining = {
        key: overshoot.excess - (0 if policy.rules.fast_rebrokerage_all else 1)
        for key, overshoot in overshoots_by_queue.items()
    }
    chosen = {}
    for job in sorted(jobs, key=lambda job: job.id):
        key = (job.queue, job.share)
        if remaining.get(key, 0) > 0 and job.status in QUEUED and _counts(job, queues):
            remaining[key] -= 1
            chosen[job.id] = overshoots_by_queue[key]
    return chosen


def _counts(job: PandaJob, queues: Mapping[str, JobQueue]) -> bool:
    queue = queue_of(queues, job.queue)
    return _is_placed(job) and (queue is None or not queue.has_slots)


def _is_placed(job: PandaJob) -> bool:
    return not job.special and bool(job.queue)


def _is_exempt(queue: JobQueue | None, policy: TimeoutPolicy) -> bool:
    if queue is None or not policy.rules.pauses_stop_timeouts:
        return False
    return queue.status == "paused" or queue.disable_reassign


_SHORT = 3 * HOUR
"""The limit if the queue is offline or in test, and the time for which an active set is exempt."""

_DOES_NOT_MOVE = frozenset({"closed", "failed", "starting"})


class Waited(NamedTuple):
    """The time that a set has waited, and its limit, in seconds."""

    since: str
    age: float
    limit: float


class _Key(NamedTuple):
    task: int
    job_set: int
    user: str
    queue: str


def user_rebrokerage(
    jobs: Iterable[PandaJob], queues: Mapping[str, JobQueue], policy: TimeoutPolicy, now: float
) -> dict[int, Waited]:
    """Return the jobs of the sets to send back, by id.

    The time counts from the activation of its first job or, if none is activated, from the creation of its last job. A
    set is exempt if one of its jobs has changed state in the last three hours, unless its queue is down.
    """
    sets: defaultdict[_Key, list[PandaJob]] = defaultdict(list)
    for job in jobs:
        if job.of_user and job.task is not None and job.job_set is not None:
            sets[_Key(job.task, job.job_set, job.user, job.queue)].append(job)
    chosen: dict[int, Waited] = {}
    for key, members in sets.items():
        queue = queue_of(queues, key.queue)
        waited = None if queue is None or not queue.known else _waited(members, queue, policy, now)
        if waited is not None:
            chosen |= {job.id: waited for job in members if job.status in QUEUED}
    return chosen


def _waited(members: list[PandaJob], queue: JobQueue, policy: TimeoutPolicy, now: float) -> Waited | None:
    """Return the waiting time of a set, or None if it is within the limit."""
    of_task = [job for job in members if job.from_jedi]
    active = [job for job in of_task if job.status in ("activated", "starting")]
    if active:
        since, start = "activated", min(active, key=lambda job: job.id).activated
    else:
        times_created = [
            job.created for job in of_task if job.status in ("defined", "assigned") and job.created is not None
        ]
        since, start = "created", max(times_created, default=None)
    if start is None:
        return None
    is_down = queue.status in ("offline", "test")
    limit = _SHORT
    if not is_down:
        group = min(members, key=lambda job: job.id).working_group
        limit = max(_SHORT, policy.sets(group))
    if now - start <= limit:
        return None
    if not is_down and any(_moves(job, now) for job in members):
        return None
    return Waited(since, now - start, limit)


def _moves(job: PandaJob, now: float) -> bool:
    return job.status not in _DOES_NOT_MOVE and job.changed is not None and now - job.changed < _SHORT
