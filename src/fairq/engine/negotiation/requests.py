"""A submitter's idle jobs as the negotiator is offered them: in job order, alike neighbours as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.snapshot import SubmitterQueue
from fairq.records import Ad, JobRange

_PRIORITY_KEYS = ("PreJobPrio1", "PreJobPrio2", "JobPrio", "PostJobPrio1", "PostJobPrio2")

JobKey = Callable[[JobRange], tuple[float, ...]]


def job_order(ads: Mapping[int, Ad]) -> JobKey:
    """Return the sort key of a schedd's jobs (qmgmt.cpp, prio_compar).

    PreJobPrio1, PreJobPrio2, JobPrio, PostJobPrio1 and PostJobPrio2, each higher first and 0 if missing,
    then cluster and proc: older jobs go first.
    """
    shared: dict[int, Ad] = {}

    def key(jobs: JobRange) -> tuple[float, ...]:
        values = shared.get(jobs.ad_id)
        if values is None:
            values = shared[jobs.ad_id] = _priorities(ads[jobs.ad_id])
        if jobs.own:
            values = {**values, **_priorities(jobs.own)}
        if not values:
            return (0.0, 0.0, -jobs.priority, 0.0, 0.0, jobs.cluster, jobs.first_proc)
        values = {**values, "JobPrio": jobs.priority}
        return (*(-values.get(name, 0) for name in _PRIORITY_KEYS), jobs.cluster, jobs.first_proc)

    return key


def _priorities(ad: Ad) -> Ad:
    return {name: ad[name] for name in _PRIORITY_KEYS if isinstance(ad.get(name), int | float)}


@dataclass(slots=True)
class Request:
    """Consecutive idle jobs of one autocluster; jobs are taken from the front as they are matched.

    *count* of them are on offer, *held_back* more only in a later turn.
    """

    autocluster: int
    count: int
    pieces: list[tuple[int, int, int]]
    held_back: int = 0
    _next: int = field(default=0)

    def first_job(self) -> tuple[int, int]:
        """The cluster and proc that is matched next."""
        cluster, proc, _ = self.pieces[self._next]
        return cluster, proc

    def take(self) -> tuple[int, int]:
        """Take the next job: its cluster and proc."""
        cluster, proc, last = self.pieces[self._next]
        if proc == last:
            self._next += 1
        else:
            self.pieces[self._next] = (cluster, proc + 1, last)
        self.count -= 1
        return cluster, proc


class RequestQueue:
    """All requests of one submitter at one schedd, and what is left of them.

    With *jobs_per_turn* no more jobs than that are offered in one turn, matched or not (schedd.cpp,
    `SCHEDD_ENABLE_PER_USER_MATCH_LIMITS`); then the turn ends as if there were no more.
    """

    def __init__(
        self,
        queue: SubmitterQueue,
        order: JobKey,
        autoclusters: Autoclusters,
        jobs_per_turn: int | None = None,
    ) -> None:
        self._requests: list[Request] = []
        self._jobs_per_turn = jobs_per_turn
        self.idle_jobs = sum(map(len, queue.idle))
        for jobs in sorted(queue.idle, key=order):
            for autocluster, first, last in autoclusters.split(jobs):
                self._add(autocluster, (jobs.cluster, first, last))

    def _add(self, autocluster: int, piece: tuple[int, int, int]) -> None:
        size = piece[2] - piece[1] + 1
        if self._requests and self._requests[-1].autocluster == autocluster:
            self._requests[-1].pieces.append(piece)
            self._requests[-1].count += size
        else:
            self._requests.append(Request(autocluster, size, [piece]))

    def session(self) -> Iterator[Request]:
        """Begin a turn: the requests that still have jobs, in order."""
        self._requests = [request for request in self._requests if request.count or request.held_back]
        if self._jobs_per_turn is None:
            return iter(self._requests)
        self._offer(self._jobs_per_turn)
        return (request for request in self._requests if request.count)

    def _offer(self, jobs: int) -> None:
        for request in self._requests:
            all_left = request.count + request.held_back
            request.count = min(all_left, jobs)
            request.held_back = all_left - request.count
            jobs -= request.count
