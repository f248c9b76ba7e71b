"""Job priorities that count across schedds among submitters of equal priority (USE_GLOBAL_JOB_PRIOS).

Every submitter has one entry per priority of its idle jobs. After sorting, neighbouring entries of one submitter
at one schedd become one entry with a range of priorities, whose turn offers only jobs in the range.
docs/htcondor.md 2.6; matchmaker.cpp, submitterLessThan, consolidateGlobalJobPrioSubmitterAds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from fairq.engine.negotiation.matches import ProcRange
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.requests import JobRequest, Request, RequestQueue
from fairq.engine.negotiation.submitter_turn import SubmitterTurn


def split_by_priority(submitter: SubmitterTurn, queue: RequestQueue, most: int) -> list[SubmitterTurn]:
    """Return *submitter* once for each priority of its idle jobs, best first, at most *most* times.

    Jobs of all lower priorities go with the last.
    """
    priorities = sorted(queue.priorities(), reverse=True)
    if len(priorities) < 2 or most < 2:
        only = priorities[0] if priorities else None
        return [replace(submitter, job_priority=only)]
    highest = priorities[:most]
    lowest = [*highest[:-1], priorities[-1]]
    return [
        replace(submitter, job_priority=high, queue=PriorityRange(queue, high, low))
        for high, low in zip(highest, lowest, strict=True)
    ]


def merge_neighbours(submitters: Iterable[SubmitterTurn]) -> list[SubmitterTurn]:
    """Return *submitters* with neighbours made one that are the same submitter at the same schedd."""
    merged: list[SubmitterTurn] = []
    for submitter in submitters:
        last = merged[-1] if merged else None
        if (
            last is not None
            and (last.name, last.schedd) == (submitter.name, submitter.schedd)
            and isinstance(last.queue, PriorityRange)
            and isinstance(submitter.queue, PriorityRange)
        ):
            merged[-1] = replace(last, queue=last.queue.down_to(submitter.queue))
        else:
            merged.append(submitter)
    return merged


class PriorityRange:
    """The jobs of a queue with priorities from *high* down to *low*; *own_low* is the lowest before it was merged."""

    def __init__(self, queue: RequestQueue, high: int, low: int, own_low: int | None = None) -> None:
        self._queue = queue
        self._high = high
        self._low = low
        self._own_low = low if own_low is None else own_low
        self.idle_jobs = queue.idle_jobs
        self.kept_out = queue.kept_out

    def down_to(self, other: PriorityRange) -> PriorityRange:
        """The range from this one down to *other*."""
        return PriorityRange(self._queue, self._high, other._low, self._own_low)

    def unmerged(self) -> PriorityRange:
        """The range as it was before others were merged into it."""
        return PriorityRange(self._queue, self._high, self._own_low)

    @property
    def autoclusters(self) -> set[int]:
        """The autoclusters of all jobs of the queue."""
        return self._queue.autoclusters

    @property
    def jobs_left(self) -> bool:
        """Whether any job of the range is left that may be matched."""
        return any(request.left for request in self._queue.in_range((self._low, self._high)))

    def session(self) -> Iterator[JobRequest]:
        """Begin a turn: the requests in the range that still have jobs, alike neighbours as one."""
        parts: list[Request] = []
        for request in self._queue.session((self._low, self._high)):
            if parts and (parts[-1].key, parts[-1].autocluster) != (request.key, request.autocluster):
                yield JoinedRequest(parts)
                parts = []
            parts.append(request)
        if parts:
            yield JoinedRequest(parts)


class JoinedRequest:
    """Neighbouring requests that differ in nothing but their jobs' priority, as one."""

    def __init__(self, parts: Sequence[Request]) -> None:
        self._parts = parts
        self.autocluster = parts[0].autocluster
        self.key = parts[0].key

    @property
    def count(self) -> int:
        """How many jobs are on offer."""
        return sum(part.count for part in self._parts)

    def first_job(self) -> tuple[int, int]:
        """The cluster and proc that is matched next."""
        return self._first().first_job()

    def take(self) -> tuple[int, int]:
        """Take the next job: its cluster and proc."""
        return self._first().take()

    def take_many(self, jobs: int) -> list[ProcRange]:
        """Take so many of the next jobs, as `take` would; no more than are on offer."""
        taken: list[ProcRange] = []
        for part in self._parts:
            some = min(part.count, jobs)
            taken += part.take_many(some)
            jobs -= some
        return taken

    def pack(self, jobs: int) -> None:
        """Leave so many *jobs* to the schedd, which packs them: as many are offered again in the next turn."""
        for part in self._parts:
            packed = min(jobs, part.count)
            part.pack(packed)
            jobs -= packed

    def _first(self) -> Request:
        return next(part for part in self._parts if part.count)


def in_order(submitters: Iterable[SubmitterTurn], policy: NegotiationPolicy) -> list[SubmitterTurn]:
    """Put *submitters* into the order of their turns.

    In today's negotiator, an entry that an earlier pie merged with others begins anew with its own priority, while the
    others are gone: their jobs are not offered again in the cycle.
    """
    ordered = sorted(submitters, key=lambda submitter: submitter.turn_order)
    if policy.global_job_prios is None:
        return ordered
    return merge_neighbours(map(_unmerged, ordered) if policy.ads_per_job_priority else ordered)


def _unmerged(submitter: SubmitterTurn) -> SubmitterTurn:
    queue = submitter.queue
    return replace(submitter, queue=queue.unmerged()) if isinstance(queue, PriorityRange) else submitter
