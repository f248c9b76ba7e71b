"""A submitter's idle jobs on offer, by column: ranges in job order; equal neighbours are one request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.columns.idle_jobs import IdleJobs, Kinds
from fairq.common.expression_form import is_expression, unwrapped
from fairq.common.records import Ad, JobRange
from fairq.engine.negotiation.autoclusters import PRIORITY_KEYS, Autoclusters, KindsInCycle, has_priorities
from fairq.engine.negotiation.decision import ProcRange
from fairq.engine.negotiation.policy import JobOrder, SkipBy


class SubmitterQueue(Struct, frozen=True):
    """One submitter at one schedd: its idle jobs in any order, its number of running jobs, and their slot weight."""

    name: str
    schedd: str
    running_jobs: int
    idle: Sequence[JobRange]
    running_weight: float = 0.0


class Jobs(Struct, frozen=True):
    """All submitters' queues, the shared ads of their jobs by ad id, and the known *kinds* of jobs."""

    queues: Sequence[SubmitterQueue]
    ads: Mapping[int, Ad]
    kinds: Kinds = field(default_factory=Kinds)


JobKey = Callable[[JobRange], tuple[float, ...]]

_INTEGER = re.compile(r"[-+]?\d{1,18}", re.ASCII)

_KEY_OF = {name.lower(): name for name in PRIORITY_KEYS}


def job_order(ads: Mapping[int, Ad], rule: JobOrder = "submission_time") -> JobKey:
    """Return the sort key of a schedd's jobs (HTCondor 8 manual, "Negotiation"; qmgmt.cpp, prio_compar).

    PreJobPrio1, PreJobPrio2, JobPrio, PostJobPrio1 and PostJobPrio2, each higher first and 0 if missing, then by
    *rule* the time of submission: older jobs go first; then cluster and proc.
    """
    shared: dict[int, dict[str, float]] = {}
    by_time = rule == "submission_time"

    def key(jobs: JobRange) -> tuple[float, ...]:
        values = shared.get(jobs.ad_id)
        if values is None:
            values = shared[jobs.ad_id] = _priorities(ads[jobs.ad_id])
        if jobs.own or jobs.template:
            values = {**values, **_priorities(jobs.overrides_for(jobs.first_proc))}
        since = jobs.queue_date if by_time else 0
        if not values:
            return (0.0, 0.0, -jobs.priority, 0.0, 0.0, since, jobs.cluster, jobs.first_proc)
        values = {**values, "JobPrio": jobs.priority}
        return (*(-values.get(name, 0) for name in PRIORITY_KEYS), since, jobs.cluster, jobs.first_proc)

    return key


def _priorities(ad: Ad) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in ad.items():
        key = _KEY_OF.get(name.lower())
        if key is None:
            continue
        # What depends on the number of the job, such as 2$(ProcId), is a number in the form of an expression.
        if is_expression(value) and _INTEGER.fullmatch(text := unwrapped(value)):
            found[key] = int(text)
        elif isinstance(value, int | float):
            found[key] = value
    return found


def with_one_priority(jobs: JobRange) -> Iterable[JobRange]:
    """Return the range *jobs*, or each job alone if their priorities depend on their numbers."""
    return jobs.each() if has_priorities(jobs.template or {}) else [jobs]


Numbers = NDArray[np.int64]

JobId = tuple[int, int]


class Ranges(Struct):
    """Ranges of idle jobs in job order, by column; *kind* is the autocluster."""

    cluster: Numbers
    first: Numbers
    last: Numbers
    kind: Numbers
    priority: Numbers

    def where(self, selected: NDArray[np.bool_]) -> Ranges:
        """Return the *selected* ranges."""
        columns = (self.cluster, self.first, self.last, self.kind, self.priority)
        return Ranges(*(column[selected] for column in columns))


def ranges_in_order(
    queue: SubmitterQueue, order: JobKey, autoclusters: Autoclusters, kinds: KindsInCycle, by_time: bool
) -> Ranges:
    """Return the ranges of a queue, split where the autocluster changes."""
    idle = queue.idle
    numbers = kinds.autoclusters_of(idle) if isinstance(idle, IdleJobs) else None
    if numbers is not None:
        assert isinstance(idle, IdleJobs)
        columns = idle.columns
        keys = [columns["first_proc"], columns["cluster"], *([columns["queue_date"]] if by_time else [])]
        rows = np.lexsort([*keys, -columns["priority"]])
        return Ranges(
            columns["cluster"][rows],
            columns["first_proc"][rows],
            columns["last_proc"][rows],
            numbers[rows],
            columns["priority"][rows],
        )
    parts = [
        (jobs.cluster, first, last, kind, jobs.priority)
        for jobs in sorted(chain.from_iterable(map(with_one_priority, idle)), key=order)
        for kind, first, last in autoclusters.split(jobs)
    ]
    cluster, first_proc, last_proc, kind, priority = np.array(parts, np.int64).reshape(-1, 5).T
    return Ranges(cluster, first_proc, last_proc, kind, priority)


class Queue:
    """All requests of one submitter at one schedd, and the jobs left in them.

    Args:
        ranges: the idle jobs.
        skip_by: which jobs to skip after a failure; a request has no jobs that would be skipped separately.
        jobs_per_turn: maximum number of jobs offered in one turn, matched or not (schedd.cpp,
            `SCHEDD_ENABLE_PER_USER_MATCH_LIMITS`); then the turn ends as if there were no more.
        admits: returns whether the jobs of an autocluster may be matched; None: all may.
        cluster_of: returns the cluster of an autocluster's jobs, if attributes define clusters.
        schedd_jobs_left: returns how many jobs the schedd still offers; None: any number.
        by_priority: a request has jobs of one priority only.
    """

    def __init__(
        self,
        ranges: Ranges,
        skip_by: SkipBy,
        jobs_per_turn: int | None = None,
        admits: Callable[[int], bool] | None = None,
        cluster_of: Callable[[int], object] | None = None,
        schedd_jobs_left: Callable[[], int | None] = lambda: None,
        *,
        by_priority: bool = False,
    ) -> None:
        self.skip_by, self._jobs_per_turn, self._schedd_jobs_left = skip_by, jobs_per_turn, schedd_jobs_left
        self.idle_jobs = int((ranges.last - ranges.first + 1).sum())
        if admits is not None:
            kinds, kind_indices = np.unique(ranges.kind, return_inverse=True)
            ranges = ranges.where(np.array([admits(kind) for kind in kinds.tolist()], np.bool_)[kind_indices])
        self._cluster, self._first, self._last = ranges.cluster, ranges.first, ranges.last
        ends = np.cumsum(ranges.last - ranges.first + 1)
        self._before = np.append(0, ends)
        """Per range, the number of jobs in the ranges before it; last, the number of all jobs."""
        self.excluded_jobs = self.idle_jobs - int(self._before[-1])
        keys = self._keys(ranges, cluster_of)
        is_start = np.ones(len(keys), np.bool_)
        is_start[1:] = (ranges.kind[1:] != ranges.kind[:-1]) | (keys[1:] != keys[:-1])
        if by_priority:
            is_start[1:] |= ranges.priority[1:] != ranges.priority[:-1]
        starts = np.flatnonzero(is_start)
        self.kinds, self.keys, self.priorities = ranges.kind[starts], keys[starts], ranges.priority[starts]
        """By request, its autocluster, its key (requests with equal keys are skipped together), and its priority."""
        self.by_kind = keys is ranges.kind
        self._next = self._before[starts]
        self._end = np.append(self._next[1:], ends[-1:])
        self._row = starts
        """By request, the index of the range of its next job."""
        self._starts = starts.copy()
        self.key_count = int(keys.max(initial=0)) + 1
        self.kind_count = int(self.kinds.max(initial=0)) + 1
        self._high = self._low = self._own_low = 0
        self.is_range = False
        """Whether only jobs in a range of priorities are on offer."""

    def _keys(self, ranges: Ranges, cluster_of: Callable[[int], object] | None) -> Numbers:
        if self.skip_by != "cluster":
            return ranges.kind
        if cluster_of is not None:
            numbers: dict[object, int] = {}
            keys_of_ranges = [numbers.setdefault(cluster_of(kind), len(numbers)) for kind in ranges.kind.tolist()]
            return np.array(keys_of_ranges, np.int64)
        # In a cluster of one autocluster, skipping the cluster is skipping the autocluster.
        order = np.lexsort((ranges.kind, ranges.cluster))
        clusters, kinds = ranges.cluster[order], ranges.kind[order]
        mixed = clusters[1:][(clusters[1:] == clusters[:-1]) & (kinds[1:] != kinds[:-1])]
        if not len(mixed):
            return ranges.kind
        is_mixed = np.isin(ranges.cluster, mixed)
        which = np.unique(ranges.cluster, return_inverse=True)[1]
        return np.where(is_mixed, ranges.kind.max() + 1 + which, ranges.kind)

    def within(self, high: int, low: int) -> Queue:
        """Return the queue with only the jobs of priorities from *high* down to *low*; jobs taken are shared."""
        queue = copy(self)
        queue._high, queue._low, queue._own_low, queue.is_range = high, low, low, True
        return queue

    def down_to(self, other: Queue) -> Queue:
        """Return the queue from its highest priority down to the lowest of *other*."""
        queue = copy(self)
        queue._low = other._low
        return queue

    def unmerged(self) -> Queue:
        """Return the queue as it was before `down_to` extended it."""
        queue = copy(self)
        queue._low = self._own_low
        return queue

    @property
    def jobs_left(self) -> bool:
        """Whether any job is left that may be matched."""
        return bool(self.jobs_left_by_request().any())

    def jobs_left_by_request(self) -> Numbers:
        """Return the number of jobs left by request."""
        jobs_left: Numbers = self._end - self._next
        if self.is_range:
            jobs_left = np.where((self.priorities <= self._high) & (self.priorities >= self._low), jobs_left, 0)
        return jobs_left

    def max_jobs(self) -> int | None:
        """Return the maximum number of jobs offered in this turn, None for any number."""
        maxima = [jobs for jobs in (self._jobs_per_turn, self._schedd_jobs_left()) if jobs is not None]
        return min(maxima, default=None)

    def autocluster_of(self, cluster: int, proc: int) -> int | None:
        """Return the autocluster of a job; None if the job is not in the queue."""
        rows = np.flatnonzero((self._cluster == cluster) & (self._first <= proc) & (self._last >= proc))
        if not len(rows):
            return None
        return int(self.kinds[np.searchsorted(self._starts, rows[0], "right") - 1])

    def first_job(self, request: int) -> JobId:
        """Return the cluster and proc of the next job of a request."""
        row = self._row.item(request)
        return self._cluster.item(row), self._first.item(row) + self._next.item(request) - self._before.item(row)

    def first_jobs(self, requests: Numbers) -> tuple[Numbers, Numbers]:
        """Return clusters and procs of the next jobs of several *requests*."""
        rows = self._row[requests]
        return self._cluster[rows], self._first[rows] + self._next[requests] - self._before[rows]

    def take(self, request: int, count: int) -> list[ProcRange]:
        """Take the next *count* jobs of a request."""
        job, row, proc_ranges = self._next.item(request), self._row.item(request), []
        while count:
            before, end = self._before.item(row), self._before.item(row + 1)
            number = min(end - job, count)
            first = self._first.item(row) + job - before
            proc_ranges.append(ProcRange(self._cluster.item(row), first, first + number - 1))
            job, count, row = job + number, count - number, row + (job + number == end)
        self._next[request], self._row[request] = job, row
        return proc_ranges


class Session:
    """One turn over a queue: the requests to offer, in order, without those skipped after refusals.

    In a range of priorities, neighbours that differ only in their jobs' priority are offered as one.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._jobs_left = queue.jobs_left_by_request()
        max_jobs = queue.max_jobs()
        if max_jobs is not None:
            self._jobs_left = np.diff(np.minimum(np.cumsum(self._jobs_left), max_jobs), prepend=0)
        self._requests_left = np.flatnonzero(self._jobs_left)
        self._kinds, self._keys = queue.kinds[self._requests_left], queue.keys[self._requests_left]
        self._rejected = bytearray(queue.key_count)
        self._failed = bytearray(queue.kind_count)
        self._stopped = bytearray(queue.kind_count)
        self._position = 0
        self._requests: list[int] = []
        """The request on offer, and the requests offered as one with it."""

    @property
    def count(self) -> int:
        """The number of jobs of the request on offer."""
        return sum([self._jobs_left.item(request) for request in self._requests])

    @property
    def kind(self) -> int:
        """The autocluster of the request."""
        return self.queue.kinds.item(self._requests[0])

    def first_job(self) -> JobId:
        """Return the cluster and proc of the next job of the request on offer."""
        next_request = next((request for request in self._requests if self._jobs_left[request]), self._requests[-1])
        return self.queue.first_job(next_request)

    def take(self, count: int) -> list[ProcRange]:
        """Take the next *count* jobs of the request."""
        proc_ranges: list[ProcRange] = []
        for request in self._requests:
            jobs = min(count, self._jobs_left.item(request))
            if jobs:
                proc_ranges += self.queue.take(request, jobs)
                self._jobs_left[request] -= jobs
                count -= jobs
        return proc_ranges

    def pack(self, jobs: int) -> None:
        """Leave *jobs* jobs to the schedd, which packs them onto the slot: they are offered again in the next turn."""
        for request in self._requests:
            packed = min(jobs, self._jobs_left.item(request))
            self._jobs_left[request] -= packed
            jobs -= packed

    def next_kind(self) -> int | None:
        """Return the autocluster of the next request that is not skipped, None at the end."""
        while True:
            self._position = index = first_unmarked(self._rejected, self._keys, self._position)
            if index == len(self._keys):
                return None
            kind = self._kinds.item(index)
            if self._failed[kind]:
                # It would find no slot either; then its cluster is skipped, too.
                self._rejected[self._keys.item(index)] = 1
            elif not self._stopped[kind]:
                return kind
            self._position += 1

    def advance(self) -> bool:
        """Move to the next request; return whether there is one."""
        if self.next_kind() is None:
            return False
        start, kinds, keys = self._position, self._kinds, self._keys
        end = start + 1
        while self.queue.is_range and end < len(kinds) and (kinds[end], keys[end]) == (kinds[start], keys[start]):
            end += 1
        self._requests, self._position = self._requests_left[start:end].tolist(), end
        return True

    def refuse(self, *, is_failure: bool) -> None:
        """Record that the request was refused; *is_failure*: it could not be matched, whatever its limit."""
        key, kind, skip_by = self.queue.keys.item(self._requests[0]), self.kind, self.queue.skip_by
        if skip_by == "autocluster" or (skip_by == "cluster" and is_failure):
            self._rejected[key] = 1
        if skip_by == "cluster":
            (self._failed if is_failure else self._stopped)[kind] = 1

    def refuse_many(self, are_refused: Callable[[Numbers], NDArray[np.bool_]]) -> Numbers:
        """Refuse the next requests while their autoclusters *are_refused*; return one request of each autocluster.

        Only if requests are skipped by autocluster.
        """
        marks = np.frombuffer(self._rejected, np.bool_)
        if any(self._stopped):
            marks = marks | np.frombuffer(self._stopped, np.bool_)
        kinds = self._kinds[self._position :]
        open_indices = np.flatnonzero(~marks[kinds])
        refused = are_refused(kinds[open_indices])
        refused_count = len(refused) if refused.all() else int(refused.argmin())
        open_indices = open_indices[:refused_count]
        kinds = kinds[open_indices]
        # Assigned backwards, so that the first index of each kind is stored.
        first_by_kind = np.full(len(marks), -1)
        first_by_kind[kinds[::-1]] = np.arange(len(kinds))[::-1]
        indices = open_indices[first_by_kind[kinds] == np.arange(len(kinds))] + self._position
        np.frombuffer(self._rejected, np.uint8)[kinds] = 1
        self._position += int(open_indices[-1]) + 1
        requests: Numbers = self._requests_left[indices]
        return requests


_CHUNK = 64


def first_unmarked(marks: bytearray, order: Numbers, start: int) -> int:
    """Return the first position in *order* from *start* on whose number has no mark, else the length of *order*."""
    size, chunk, view = len(order), _CHUNK, np.frombuffer(marks, np.uint8)
    while start < size:
        # Searching bytes is faster than comparing the array and searching the result.
        offset = view[order[start : start + chunk]].tobytes().find(0)
        if offset >= 0:
            return start + offset
        start, chunk = start + chunk, chunk * 4
    return size
