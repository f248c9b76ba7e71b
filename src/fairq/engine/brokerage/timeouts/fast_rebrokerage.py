"""Fast rebrokerage: send back the waiting jobs of a queue that exceed its part of a share.

Sources: PanDA's brokerage page, "Timeout Rules"; docs/panda.md, Timeouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil

from msgspec import Struct

from fairq.engine.brokerage.timeouts.job import QUEUED, JobQueue, PandaJob, queue_of
from fairq.engine.brokerage.timeouts.policy import TimeoutPolicy

_TOLERANCE = 1e-9
"""Part of the waiting jobs that is no excess: 0.29 of 100 is less than 29 in binary."""


class Overshoot(Struct, frozen=True):
    """A queue with too many waiting jobs of a share.

    Args:
        queued, running: its jobs of the share. *total*: waiting jobs of the share at all queues.
        threshold: the ``FAST_REBRO_THRESHOLD_NQUEUE`` of the share.
        excess: number of jobs above the mildest of the three limits.
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
    every = policy.rules.fast_rebrokerage_total == "all"
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
    found = []
    for (queue, share), waiting in sorted(queued.items()):
        threshold = policy.fast_queued.get(share)
        if threshold is None or _is_exempt(queue_of(queues, queue), policy):
            continue
        beyond = min(
            waiting - policy.fast_ratio * running[queue, share],
            waiting - threshold,
            waiting - policy.fast_fraction * total[share],
        )
        beyond -= _TOLERANCE * waiting
        if beyond > 0:
            numbers = (waiting, running[queue, share], total[share], threshold, ceil(beyond))
            found.append(Overshoot(queue, share, *numbers))
    return found


def fast_rebrokerage(
    jobs: Iterable[PandaJob], queues: Mapping[str, JobQueue], policy: TimeoutPolicy
) -> dict[int, Overshoot]:
    """Return the jobs to send back, by id: the oldest waiting jobs of each queue above the limits.

    PanDA sends back one job less than the excess (docs/panda.md).
    """
    jobs = list(jobs)
    found = {(one.queue, one.share): one for one in overshoots(jobs, queues, policy)}
    left = {place: one.excess - (0 if policy.rules.fast_rebrokerage_all else 1) for place, one in found.items()}
    chosen = {}
    for job in sorted(jobs, key=lambda job: job.id):
        place = (job.queue, job.share)
        if left.get(place, 0) > 0 and job.status in QUEUED and _counts(job, queues):
            left[place] -= 1
            chosen[job.id] = found[place]
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
