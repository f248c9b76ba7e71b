"""A submitter's idle jobs on offer, by column: ranges in job order, alike neighbours as one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.columns.idle_jobs import IdleJobs, Kinds
from fairq.common.records import Ad, JobRange
from fairq.engine.negotiation.autoclusters import PRIORITY_KEYS, Autoclusters, KindsInCycle
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
    """All submitters' queues, the shared ads of their jobs by ad id, and the *kinds* of jobs that are known."""

    queues: Sequence[SubmitterQueue]
    ads: Mapping[int, Ad]
    kinds: Kinds = field(default_factory=Kinds)


JobKey = Callable[[JobRange], tuple[float, ...]]


def job_order(ads: Mapping[int, Ad], rule: JobOrder = "submission_time") -> JobKey:
    """Return the sort key of a schedd's jobs (HTCondor 8 manual, "Negotiation"; qmgmt.cpp, prio_compar).

    PreJobPrio1, PreJobPrio2, JobPrio, PostJobPrio1 and PostJobPrio2, each higher first and 0 if missing, then by
    *rule* the time of submission: older jobs go first; then cluster and proc.
    """
    shared: dict[int, Ad] = {}
    by_time = rule == "submission_time"

    def key(jobs: JobRange) -> tuple[float, ...]:
        values = shared.get(jobs.ad_id)
        if values is None:
            values = shared[jobs.ad_id] = _priorities(ads[jobs.ad_id])
        if jobs.own:
            values = {**values, **_priorities(jobs.own)}
        since = jobs.queue_date if by_time else 0
        if not values:
            return (0.0, 0.0, -jobs.priority, 0.0, 0.0, since, jobs.cluster, jobs.first_proc)
        values = {**values, "JobPrio": jobs.priority}
        return (*(-values.get(name, 0) for name in PRIORITY_KEYS), since, jobs.cluster, jobs.first_proc)

    return key


def _priorities(ad: Ad) -> Ad:
    return {name: ad[name] for name in PRIORITY_KEYS if isinstance(ad.get(name), int | float)}


Numbers = NDArray[np.int64]

JobId = tuple[int, int]


class Ranges(Struct):
    """Ranges of idle jobs in job order, by column; *kind* is the autocluster."""

    cluster: Numbers
    first: Numbers
    last: Numbers
    kind: Numbers
    priority: Numbers

    def where(self, kept: NDArray[np.bool_]) -> Ranges:
        """Return those ranges that are *kept*."""
        columns = (self.cluster, self.first, self.last, self.kind, self.priority)
        return Ranges(*(column[kept] for column in columns))


def ranges_in_order(
    queue: SubmitterQueue, order: JobKey, autoclusters: Autoclusters, known: KindsInCycle, by_time: bool
) -> Ranges:
    """Return the ranges of a queue, split where the autocluster changes."""
    idle = queue.idle
    numbers = known.autoclusters_of(idle) if isinstance(idle, IdleJobs) else None
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
        for jobs in sorted(idle, key=order)
        for kind, first, last in autoclusters.split(jobs)
    ]
    cluster, first_proc, last_proc, kind, priority = np.array(parts, np.int64).reshape(-1, 5).T
    return Ranges(cluster, first_proc, last_proc, kind, priority)


class Queue:
    """All requests of one submitter at one schedd, and what is left of them.

    With *jobs_per_turn* no more jobs than that are offered in one turn, matched or not (schedd.cpp,
    `SCHEDD_ENABLE_PER_USER_MATCH_LIMITS`); then the turn ends as if there were no more. *jobs_left_of* returns how many
    the schedd offers at that time at most, None: any number. *admits* returns by autocluster whether its jobs may be
    matched at all; *skip_by* is what to pass over after a failure: requests do not go beyond it. *by_priority*: nor do
    they hold jobs of different priority. *cluster_of* returns what counts as one cluster of jobs of an autocluster,
    where attributes say so.
    """

    def __init__(
        self,
        ranges: Ranges,
        skip_by: SkipBy,
        jobs_per_turn: int | None = None,
        admits: Callable[[int], bool] | None = None,
        cluster_of: Callable[[int], object] | None = None,
        jobs_left_of: Callable[[], int | None] = lambda: None,
        *,
        by_priority: bool = False,
    ) -> None:
        self.skip_by, self._jobs_per_turn, self._jobs_left_of = skip_by, jobs_per_turn, jobs_left_of
        self.idle_jobs = int((ranges.last - ranges.first + 1).sum())
        if admits is not None:
            kinds, which = np.unique(ranges.kind, return_inverse=True)
            ranges = ranges.where(np.array([admits(kind) for kind in kinds.tolist()], np.bool_)[which])
        self._cluster, self._first, self._last = ranges.cluster, ranges.first, ranges.last
        ends = np.cumsum(ranges.last - ranges.first + 1)
        self._before = np.append(0, ends)
        """Per range, the number of jobs in those before it; then of all."""
        self.kept_out = self.idle_jobs - int(self._before[-1])
        keys = self._keys(ranges, cluster_of)
        is_start = np.ones(len(keys), np.bool_)
        is_start[1:] = (ranges.kind[1:] != ranges.kind[:-1]) | (keys[1:] != keys[:-1])
        if by_priority:
            is_start[1:] |= ranges.priority[1:] != ranges.priority[:-1]
        starts = np.flatnonzero(is_start)
        self.kinds, self.keys, self.priorities = ranges.kind[starts], keys[starts], ranges.priority[starts]
        """By request, its autocluster, what it shares with those passed over when it finds no slot, its priority."""
        self.by_kind = keys is ranges.kind
        self._next = self._before[starts]
        self._end = np.append(self._next[1:], ends[-1:])
        self._row = starts
        """By request, the range of its next job."""
        self._starts = starts.copy()
        self.most_keys = int(keys.max(initial=0)) + 1
        self.most_kinds = int(self.kinds.max(initial=0)) + 1
        self._high = self._low = self._own_low = 0
        self.is_range = False
        """Whether only jobs of some priorities are on offer."""

    def _keys(self, ranges: Ranges, cluster_of: Callable[[int], object] | None) -> Numbers:
        if self.skip_by != "cluster":
            return ranges.kind
        if cluster_of is not None:
            numbers: dict[object, int] = {}
            found = [numbers.setdefault(cluster_of(kind), len(numbers)) for kind in ranges.kind.tolist()]
            return np.array(found, np.int64)
        # Of a cluster whose jobs are all alike, to pass over the cluster is to pass over the alike.
        order = np.lexsort((ranges.kind, ranges.cluster))
        clusters, kinds = ranges.cluster[order], ranges.kind[order]
        mixed = clusters[1:][(clusters[1:] == clusters[:-1]) & (kinds[1:] != kinds[:-1])]
        if not len(mixed):
            return ranges.kind
        is_mixed = np.isin(ranges.cluster, mixed)
        which = np.unique(ranges.cluster, return_inverse=True)[1]
        return np.where(is_mixed, ranges.kind.max() + 1 + which, ranges.kind)

    def within(self, high: int, low: int) -> Queue:
        """Return the queue with the jobs of priorities from *high* down to *low* alone; what is taken is shared."""
        queue = copy(self)
        queue._high, queue._low, queue._own_low, queue.is_range = high, low, low, True
        return queue

    def down_to(self, other: Queue) -> Queue:
        """Return the queue from its highest priority down to the lowest of *other*."""
        queue = copy(self)
        queue._low = other._low
        return queue

    def unmerged(self) -> Queue:
        """Return the queue as it was before it went `down_to` others."""
        queue = copy(self)
        queue._low = self._own_low
        return queue

    @property
    def jobs_left(self) -> bool:
        """Whether any job is left that may be matched."""
        return bool(self.left().any())

    def left(self) -> Numbers:
        """Return by request how many jobs are left."""
        left: Numbers = self._end - self._next
        if self.is_range:
            left = np.where((self.priorities <= self._high) & (self.priorities >= self._low), left, 0)
        return left

    def most(self) -> int | None:
        """Return how many jobs the schedd offers in this turn at most; None: any number."""
        most = [jobs for jobs in (self._jobs_per_turn, self._jobs_left_of()) if jobs is not None]
        return min(most, default=None)

    def autocluster_of(self, cluster: int, proc: int) -> int | None:
        """Return the autocluster of a job; None if the job is not in the queue."""
        rows = np.flatnonzero((self._cluster == cluster) & (self._first <= proc) & (self._last >= proc))
        if not len(rows):
            return None
        return int(self.kinds[np.searchsorted(self._starts, rows[0], "right") - 1])

    def first_job(self, request: int) -> JobId:
        """Return the cluster and proc of a request that is matched next."""
        row = self._row.item(request)
        return self._cluster.item(row), self._first.item(row) + self._next.item(request) - self._before.item(row)

    def first_jobs(self, requests: Numbers) -> tuple[Numbers, Numbers]:
        """Return the same of several requests, by column."""
        rows = self._row[requests]
        return self._cluster[rows], self._first[rows] + self._next[requests] - self._before[rows]

    def take(self, request: int, count: int) -> list[ProcRange]:
        """Take so many of the next jobs of a request."""
        job, row, taken = self._next.item(request), self._row.item(request), []
        while count:
            before, end = self._before.item(row), self._before.item(row + 1)
            number = min(end - job, count)
            first = self._first.item(row) + job - before
            taken.append(ProcRange(self._cluster.item(row), first, first + number - 1))
            job, count, row = job + number, count - number, row + (job + number == end)
        self._next[request], self._row[request] = job, row
        return taken


class Session:
    """One turn over a queue: which requests are offered, in order, after others were refused.

    In a range of priorities, neighbours that differ in nothing but their jobs' priority are offered as one.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._left = queue.left()
        most = queue.most()
        if most is not None:
            self._left = np.diff(np.minimum(np.cumsum(self._left), most), prepend=0)
        self._places = np.flatnonzero(self._left)
        self._kinds, self._keys = queue.kinds[self._places], queue.keys[self._places]
        self._rejected = bytearray(queue.most_keys)
        self._failed = bytearray(queue.most_kinds)
        self._stopped = bytearray(queue.most_kinds)
        self._at = 0
        self._requests: list[int] = []
        """The request on offer, and those offered as one with it."""

    @property
    def count(self) -> int:
        """How many jobs of the request are on offer."""
        return sum([self._left.item(request) for request in self._requests])

    @property
    def kind(self) -> int:
        """The autocluster of the request."""
        return self.queue.kinds.item(self._requests[0])

    def first_job(self) -> JobId:
        """Return the cluster and proc of the request that is matched next."""
        request = next((one for one in self._requests if self._left[one]), self._requests[-1])
        return self.queue.first_job(request)

    def take(self, count: int) -> list[ProcRange]:
        """Take the next jobs of the request."""
        taken: list[ProcRange] = []
        for request in self._requests:
            some = min(count, self._left.item(request))
            if some:
                taken += self.queue.take(request, some)
                self._left[request] -= some
                count -= some
        return taken

    def pack(self, jobs: int) -> None:
        """Leave so many *jobs* to the schedd, which packs them: as many are offered again in the next turn."""
        for request in self._requests:
            packed = min(jobs, self._left.item(request))
            self._left[request] -= packed
            jobs -= packed

    def peek(self) -> int | None:
        """Return the autocluster of the next request that is not passed over; None at the end."""
        while True:
            self._at = at = first_unmarked(self._rejected, self._keys, self._at)
            if at == len(self._keys):
                return None
            kind = self._kinds.item(at)
            if self._failed[kind]:
                # It would find no slot either, and so its cluster is passed over, too.
                self._rejected[self._keys.item(at)] = 1
            elif not self._stopped[kind]:
                return kind
            self._at += 1

    def go_on(self) -> bool:
        """Go on to the next request; whether there is one."""
        if self.peek() is None:
            return False
        at, kinds, keys = self._at, self._kinds, self._keys
        end = at + 1
        while self.queue.is_range and end < len(kinds) and (kinds[end], keys[end]) == (kinds[at], keys[at]):
            end += 1
        self._requests, self._at = self._places[at:end].tolist(), end
        return True

    def refuse(self, *, is_failure: bool) -> None:
        """Note that the request was refused; *is_failure*: it could not be matched at all."""
        key, kind, skip_by = self.queue.keys.item(self._requests[0]), self.kind, self.queue.skip_by
        if skip_by == "autocluster" or (skip_by == "cluster" and is_failure):
            self._rejected[key] = 1
        if skip_by == "cluster":
            (self._failed if is_failure else self._stopped)[kind] = 1

    def refuse_many(self, are_refused: Callable[[Numbers], NDArray[np.bool_]]) -> Numbers:
        """Refuse the next requests, as far as their autoclusters *are_refused*; return them, one of each autocluster.

        Only where requests are passed over by autocluster.
        """
        marks = np.frombuffer(self._rejected, np.bool_)
        if any(self._stopped):
            marks = marks | np.frombuffer(self._stopped, np.bool_)
        kinds = self._kinds[self._at :]
        open_ones = np.flatnonzero(~marks[kinds])
        refused = are_refused(kinds[open_ones])
        stop = len(refused) if refused.all() else int(refused.argmin())
        open_ones = open_ones[:stop]
        kinds = kinds[open_ones]
        # Of several places of a kind, the first one stays: they are assigned backwards.
        first = np.full(len(marks), -1)
        first[kinds[::-1]] = np.arange(len(kinds))[::-1]
        places = open_ones[first[kinds] == np.arange(len(kinds))] + self._at
        np.frombuffer(self._rejected, np.uint8)[kinds] = 1
        self._at += int(open_ones[-1]) + 1
        refused_ones: Numbers = self._places[places]
        return refused_ones


_CHUNK = 64


def first_unmarked(marks: bytearray, order: Numbers, start: int) -> int:
    """Return the first position from *start* on whose number has no mark; the length of *order* if all have one."""
    size, chunk, view = len(order), _CHUNK, np.frombuffer(marks, np.uint8)
    while start < size:
        # A search in bytes is faster than a comparison of the array and a search in its result.
        found = view[order[start : start + chunk]].tobytes().find(0)
        if found >= 0:
            return start + found
        start, chunk = start + chunk, chunk * 4
    return size
