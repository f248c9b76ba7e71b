"""A submitter's idle jobs on offer, by column: a request becomes an object only when a slot may be left for it.

The decisions are those of `requests.RequestQueue`, for jobs without anything of their own that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.distinct import distinct
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.kinds import KindsInCycle
from fairq.engine.negotiation.marks import first_unmarked
from fairq.engine.negotiation.matches import ProcRange
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.requests import Request
from fairq.idle_jobs import IdleJobs, Numbers

_ORDER = ("cluster", "first_proc", "queue_date", "priority")
"""The columns by which jobs are sorted."""


class PassedOver(NamedTuple):
    """Requests for which no slot is left: their autoclusters, each once, and their first jobs."""

    autoclusters: NDArray[np.int64]
    clusters: Numbers
    procs: Numbers


class ColumnQueue:
    """All requests of one submitter at one schedd, and what is left of them; a `JobQueue`.

    Args:
        idle: the jobs.
        numbers: the autocluster of every range.
        by_time: of jobs of equal priority, older ones go first.
        admits: as in `RequestQueue`.
    """

    def __init__(
        self, idle: IdleJobs, numbers: NDArray[np.int64], by_time: bool, admits: Callable[[int], bool] | None = None
    ) -> None:
        columns = idle.columns
        self._numbers = numbers
        self.idle_jobs = idle.jobs
        self.kept_out = 0
        cluster, first, dates, priority = (columns[name] for name in _ORDER)
        rows: NDArray[np.intp] | None = None
        if admits is not None:
            kinds, which = np.unique(numbers, return_inverse=True)
            rows = np.flatnonzero(np.array([admits(kind) for kind in kinds.tolist()], np.bool_)[which])
            kept = columns["last_proc"][rows] - columns["first_proc"][rows] + 1
            self.kept_out = self.idle_jobs - int(kept.sum())
            cluster, first, dates, priority = (column[rows] for column in (cluster, first, dates, priority))
        order = np.lexsort([first, cluster, *([dates] if by_time else []), -priority])
        self._cluster, self._first, self._priority = cluster[order], first[order], priority[order]
        rows = order if rows is None else rows[order]
        self._last = columns["last_proc"][rows]
        numbers = numbers[rows]
        # A request is a run of ranges of one autocluster.
        is_start = np.ones(len(numbers), np.bool_)
        np.not_equal(numbers[1:], numbers[:-1], out=is_start[1:])
        self._starts = is_start.nonzero()[0]
        self._autoclusters = numbers[self._starts]
        self._left = np.ones(len(self._starts), np.bool_)
        self._made: dict[int, Request] = {}

    def autocluster_of(self, cluster: int, proc: int) -> int | None:
        """The autocluster of a job; None if the job is not in the queue."""
        rows = np.flatnonzero((self._cluster == cluster) & (self._first <= proc) & (self._last >= proc))
        if not len(rows):
            return None
        return int(self._autoclusters[np.searchsorted(self._starts, rows[0], "right") - 1])

    def anew(self) -> ColumnQueue:
        """The same queue as it was made: none of its jobs is matched."""
        queue = copy(self)
        queue._left = np.ones(len(self._starts), np.bool_)
        queue._made = {}
        return queue

    @property
    def autoclusters(self) -> set[int]:
        """The autoclusters of its jobs, kept out or not."""
        return set(distinct(self._numbers).tolist())

    @property
    def jobs_left(self) -> bool:
        """Whether any job is left that may be matched."""
        self._drop_empty()
        return bool(self._left.any())

    def session(self) -> ColumnSession:
        """Begin a turn: the requests that still have jobs, in order."""
        self._drop_empty()
        for request in self._made.values():
            if request.packed:
                request.offer_again()
        return ColumnSession(self, np.flatnonzero(self._left), self._autoclusters)

    def request(self, place: int) -> Request:
        """The request at *place* among all."""
        made = self._made.get(place)
        if made is None:
            start = int(self._starts[place])
            end = int(self._starts[place + 1]) if place + 1 < len(self._starts) else len(self._cluster)
            bounds = zip(
                self._cluster[start:end].tolist(),
                self._first[start:end].tolist(),
                self._last[start:end].tolist(),
                strict=True,
            )
            jobs = [ProcRange(*of) for of in bounds]
            size = sum(last - first + 1 for _, first, last in jobs)
            autocluster = int(self._autoclusters[place])
            made = Request(autocluster, size, jobs, autocluster, int(self._priority[start]))
            self._made[place] = made
        return made

    def first_jobs(self, places: NDArray[np.intp]) -> tuple[Numbers, Numbers]:
        """The clusters and procs that are matched next of the requests at *places*."""
        starts = self._starts[places]
        clusters, procs = self._cluster[starts], self._first[starts]
        for at, place in enumerate(places.tolist()) if self._made else ():
            if place in self._made:
                clusters[at], procs[at] = self._made[place].first_job()
        return clusters, procs

    def _drop_empty(self) -> None:
        for place, request in list(self._made.items()):
            if not request.left:
                self._left[place] = False
                del self._made[place]


class ColumnSession(Iterator[Request]):
    """One turn over a `ColumnQueue`: requests of a refused autocluster are passed over."""

    def __init__(self, queue: ColumnQueue, places: NDArray[np.intp], autoclusters: NDArray[np.int64]) -> None:
        self._queue = queue
        self._places = places
        self._autoclusters = autoclusters[places]
        self._at = 0
        self._refused = bytearray(int(autoclusters.max(initial=0)) + 1)

    def __next__(self) -> Request:
        if not self._go_on():
            raise StopIteration
        self._at += 1
        return self._queue.request(int(self._places[self._at - 1]))

    def _go_on(self) -> bool:
        """Go on to the next request that is not refused; whether there is one."""
        self._at = first_unmarked(self._refused, self._autoclusters, self._at)
        return self._at < len(self._autoclusters)

    def refuse(self, autocluster: int) -> None:
        """Pass over the requests of an autocluster from now on."""
        self._refused[autocluster] = 1

    def next_autocluster(self) -> int | None:
        """The autocluster of the next request that is not refused; None at the end."""
        return int(self._autoclusters[self._at]) if self._go_on() else None

    def pass_over(
        self, refused: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None, but: int | None
    ) -> PassedOver:
        """Refuse the next requests, the first one of which is known to be *refused*, as far as they are.

        *refused* tells of autoclusters; None: all are. The requests of the autocluster *but* are not refused.
        """
        marks = np.frombuffer(self._refused, np.bool_)
        autoclusters = self._autoclusters[self._at :]
        open_ones = np.flatnonzero(~marks[autoclusters])
        autoclusters = autoclusters[open_ones]
        if refused is not None:
            are_refused = refused(autoclusters)
            if but is not None:
                are_refused &= autoclusters != but
            stop = int(are_refused.argmin()) if not are_refused.all() else len(are_refused)
            open_ones, autoclusters = open_ones[:stop], autoclusters[:stop]
        firsts = _firsts(autoclusters, len(marks))
        found = open_ones[firsts] + self._at
        marks[autoclusters] = True
        self._at += int(open_ones[-1]) + 1
        return PassedOver(autoclusters[firsts], *self._queue.first_jobs(self._places[found]))


def column_queue(
    idle: object,
    kinds: KindsInCycle,
    autoclusters: Autoclusters,
    policy: NegotiationPolicy,
    admits: Callable[[int], bool] | None,
) -> ColumnQueue | None:
    """Return the queue of *idle* by column; None if its jobs or the *policy* need one of requests as objects."""
    if not isinstance(idle, IdleJobs) or policy.jobs_per_turn is not None or policy.global_job_prios is not None:
        return None
    if policy.skip_by == "nothing" or (policy.skip_by == "cluster" and policy.significant.chosen):
        return None
    numbers = kinds.autoclusters_of(idle)
    if numbers is None:
        return None
    if policy.skip_by == "cluster" and _has_mixed(idle.columns["cluster"], numbers):
        return None
    if autoclusters.limited and not autoclusters.limited.isdisjoint(numbers.tolist()):
        return None
    return ColumnQueue(idle, numbers, policy.job_order == "submission_time", admits)


def _firsts(numbers: NDArray[np.int64], size: int) -> NDArray[np.intp]:
    """Return the places where *numbers*, all less than *size*, are for the first time: without sorting them."""
    places = np.arange(len(numbers))
    first = np.empty(size, np.intp)
    # Of several places of a number, the last one assigned stays: they are assigned backwards.
    first[numbers[::-1]] = places[::-1]
    return np.flatnonzero(first[numbers] == places)


def _has_mixed(clusters: Numbers, numbers: NDArray[np.int64]) -> bool:
    """Whether the jobs of any cluster are not all alike."""
    order = np.lexsort((numbers, clusters))
    clusters, numbers = clusters[order], numbers[order]
    return bool(((clusters[1:] == clusters[:-1]) & (numbers[1:] != numbers[:-1])).any())
