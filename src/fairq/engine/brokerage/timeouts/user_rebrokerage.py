"""Rebrokerage of users' jobs: a job set that waits too long at a queue is sent back as a whole.

Sources: PanDA's periodic cleaner (docs/panda.md, Timeouts, last row).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fairq.engine.brokerage.timeouts.job import QUEUED, JobQueue, PandaJob, queue_of
from fairq.engine.brokerage.timeouts.policy import HOUR, TimeoutPolicy

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
        made = [job.created for job in of_task if job.status in ("defined", "assigned") and job.created is not None]
        since, start = "created", max(made, default=None)
    if start is None:
        return None
    is_down = queue.status in ("offline", "test")
    limit = _SHORT
    if not is_down:
        group = min(members, key=lambda job: job.id).working_group
        limit = max(_SHORT, policy.rebroker_sets_of.get(group, policy.rebroker_sets) if group else policy.rebroker_sets)
    if now - start <= limit:
        return None
    if not is_down and any(_moves(job, now) for job in members):
        return None
    return Waited(since, now - start, limit)


def _moves(job: PandaJob, now: float) -> bool:
    return job.status not in _DOES_NOT_MOVE and job.changed is not None and now - job.changed < _SHORT
