"""A submitter's idle jobs as the negotiator is offered them: in job order, alike neighbours as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct, field

from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.matches import ProcRange
from fairq.engine.negotiation.snapshot import SubmitterQueue
from fairq.records import Ad, JobRange, job_count


class _Part(NamedTuple):
    """Jobs of one autocluster and one cluster, with their priority."""

    autocluster: int
    jobs: ProcRange
    priority: int


_PRIORITY_KEYS = ("PreJobPrio1", "PreJobPrio2", "JobPrio", "PostJobPrio1", "PostJobPrio2")

_FURTHER_KEYS = frozenset(name.lower() for name in _PRIORITY_KEYS if name != "JobPrio")

JobKey = Callable[[JobRange], tuple[float, ...]]

JobOrder = Literal["submission_time", "job_id"]
"""The order of jobs of equal priority: by the time of submission, or by cluster and proc alone."""

SkipBy = Literal["autocluster", "cluster", "nothing"]
"""What is passed over for the rest of a turn once a job found no slot: all that are alike, all of its cluster."""


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
        return (*(-values.get(name, 0) for name in _PRIORITY_KEYS), since, jobs.cluster, jobs.first_proc)

    return key


def has_priorities(ad: Ad) -> bool:
    """Whether an ad holds priorities that no column of its jobs has, in any spelling."""
    return not _FURTHER_KEYS.isdisjoint(name.lower() for name in ad)


def _priorities(ad: Ad) -> Ad:
    return {name: ad[name] for name in _PRIORITY_KEYS if isinstance(ad.get(name), int | float)}


class JobRequest(Protocol):
    """Alike idle jobs on offer, taken from the front as they are matched."""

    autocluster: int
    key: object
    """What it shares with the requests that are passed over when it finds no slot."""

    @property
    def count(self) -> int:
        """How many jobs are on offer."""

    def first_job(self) -> tuple[int, int]:
        """The cluster and proc that is matched next."""

    def take(self) -> tuple[int, int]:
        """Take the next job: its cluster and proc."""

    def take_many(self, jobs: int) -> list[ProcRange]:
        """Take so many of the next jobs, as `take` would; no more than are on offer."""

    def pack(self, jobs: int) -> None:
        """Leave so many *jobs* to the schedd, which packs them: as many are offered again in the next turn."""


class JobQueue(Protocol):
    """What a submitter's turn is held over."""

    idle_jobs: int
    """How many jobs the submitter had idle before the cycle."""
    kept_out: int
    """How many of them are not to be matched."""

    @property
    def autoclusters(self) -> set[int]:
        """The autoclusters of its jobs, kept out or not."""

    @property
    def jobs_left(self) -> bool:
        """Whether any job is left that may be matched."""

    def session(self) -> Iterator[JobRequest]:
        """Begin a turn: the requests that still have jobs, in order."""


class Request(Struct):
    """Consecutive idle jobs of one autocluster; jobs are taken from the front as they are matched.

    *count* of them are on offer, *held_back* and the *packed* ones only in a later turn. *key*: see `JobRequest`;
    *priority* is that of its jobs where priorities keep requests apart, else that of its first.
    """

    autocluster: int
    count: int
    jobs: list[ProcRange]
    key: object
    priority: int
    held_back: int = 0
    _at: int = field(default=0)
    _taken: int = field(default=0)
    packed: int = 0

    @property
    def left(self) -> int:
        """How many jobs are not matched, on offer or not."""
        return self.count + self.held_back + self.packed

    def first_job(self) -> tuple[int, int]:
        """The cluster and proc that is matched next."""
        jobs = self.jobs[self._at]
        return jobs.cluster, jobs.first + self._taken

    def take(self) -> tuple[int, int]:
        """Take the next job: its cluster and proc."""
        cluster, first, last = self.jobs[self._at]
        proc = first + self._taken
        if proc == last:
            self._at += 1
            self._taken = 0
        else:
            self._taken += 1
        self.count -= 1
        return cluster, proc

    def take_many(self, jobs: int) -> list[ProcRange]:
        """Take so many of the next jobs, as `take` would; no more than are on offer."""
        taken: list[ProcRange] = []
        self.count -= jobs
        while jobs:
            cluster, first, last = self.jobs[self._at]
            first += self._taken
            end = min(last + 1, first + jobs)
            taken.append(ProcRange(cluster, first, end - 1))
            jobs -= end - first
            self._taken += end - first
            if end > last:
                self._at += 1
                self._taken = 0
        return taken

    def pack(self, jobs: int) -> None:
        """Leave so many *jobs* to the schedd, which packs them: as many are offered again in the next turn.

        Which ones they are does not matter: the jobs are matched in their order.
        """
        packed = min(jobs, self.count)
        self.count -= packed
        self.packed += packed

    def offer_again(self) -> None:
        """Put the packed jobs back: nobody told the negotiator that they started."""
        self.count += self.packed
        self.packed = 0

    def rest(self) -> list[ProcRange]:
        """The jobs that are not taken."""
        rest = self.jobs[self._at :]
        if self._taken:
            rest[0] = rest[0]._replace(first=rest[0].first + self._taken)
        return rest


class RequestQueue:
    """All requests of one submitter at one schedd, and what is left of them.

    With *jobs_per_turn* no more jobs than that are offered in one turn, matched or not (schedd.cpp,
    `SCHEDD_ENABLE_PER_USER_MATCH_LIMITS`); then the turn ends as if there were no more. *jobs_left_of* tells how many
    the schedd offers at that time at most, None: any number.

    *admits* tells by autocluster which jobs may be matched at all; *skip_by* what to pass over after a failure:
    requests do not go beyond it. *by_priority*: nor do they hold jobs of different priority. *cluster_of* tells what
    counts as one cluster of jobs of an autocluster, where attributes say so; None: jobs of the same ClusterId.
    """

    def __init__(
        self,
        queue: SubmitterQueue,
        order: JobKey,
        autoclusters: Autoclusters,
        jobs_per_turn: int | None = None,
        *,
        admits: Callable[[int], bool] | None = None,
        skip_by: SkipBy = "autocluster",
        by_priority: bool = False,
        cluster_of: Callable[[int], object] | None = None,
        jobs_left_of: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._jobs_left_of = jobs_left_of
        self._requests: list[Request] = []
        self._jobs_per_turn = jobs_per_turn
        self._by_priority = by_priority
        self.idle_jobs = job_count(queue.idle)
        self.kept_out = 0
        self._kept_out: set[int] = set()
        parts: list[_Part] = []
        for jobs in sorted(queue.idle, key=order):
            for autocluster, first, last in autoclusters.split(jobs):
                if admits is None or admits(autocluster):
                    parts.append(_Part(autocluster, ProcRange(jobs.cluster, first, last), jobs.priority))
                else:
                    self.kept_out += last - first + 1
                    self._kept_out.add(autocluster)
        mixed = _mixed(parts) if skip_by == "cluster" and cluster_of is None else frozenset()
        for part in parts:
            key: object = part.autocluster
            if skip_by == "cluster" and cluster_of is not None:
                key = cluster_of(part.autocluster)
            elif part.jobs.cluster in mixed:
                key = "cluster", part.jobs.cluster
            self._add(part, key)

    @property
    def autoclusters(self) -> set[int]:
        """The autoclusters of its jobs, kept out or not."""
        return self._kept_out | {request.autocluster for request in self._requests}

    def anew(self) -> RequestQueue:
        """The same queue as it was made, if none of its jobs is matched, for another cycle."""
        queue = copy(self)
        queue._requests = [Request(of.autocluster, of.count, of.jobs, of.key, of.priority) for of in self._requests]
        return queue

    def go_on(self, left: SubmitterQueue) -> bool:
        """Offer the jobs that are *left* in the next cycle, as if made of them; whether they are what is left here.

        Only for queues of all jobs, offered all in each turn, without regard to priorities.
        """
        jobs = self.kept_out + sum([request.count for request in self._requests])
        if jobs != job_count(left.idle):
            return False
        self.idle_jobs = jobs
        before, self._requests = self._requests, [request for request in self._requests if request.count]
        if len(self._requests) < len(before):
            self._put_together()
        return True

    def _put_together(self) -> None:
        """Make one request of neighbours that are alike, after those between them have gone."""
        kinds: dict[object, set[int]] = {}
        for request in self._requests:
            if isinstance(request.key, tuple):
                kinds.setdefault(request.key, set()).add(request.autocluster)
        kept: list[Request] = []
        for request in self._requests:
            if len(kinds.get(request.key, ())) == 1:
                # The jobs left of this cluster are all alike.
                request.key = request.autocluster
            last = kept[-1] if kept else None
            if last is not None and (last.autocluster, last.key) == (request.autocluster, request.key):
                last.jobs, last.count = [*last.rest(), *request.rest()], last.count + request.count
                last._at = last._taken = 0
            else:
                kept.append(request)
        self._requests = kept

    def priorities(self) -> set[int]:
        """The priorities of the jobs."""
        return {request.priority for request in self._requests}

    @property
    def jobs_left(self) -> bool:
        """Whether any job is left that may be matched."""
        return any(request.left for request in self._requests)

    def in_range(self, priorities: tuple[int, int]) -> list[Request]:
        """The requests of *priorities* (lowest, highest) alone."""
        lowest, highest = priorities
        return [request for request in self._requests if lowest <= request.priority <= highest]

    def _add(self, part: _Part, key: object) -> None:
        autocluster, jobs, priority = part
        size = jobs.last - jobs.first + 1
        last = self._requests[-1] if self._requests else None
        if (
            last is not None
            and last.autocluster == autocluster
            and last.key == key
            and (last.priority == priority or not self._by_priority)
        ):
            last.jobs.append(jobs)
            last.count += size
        else:
            self._requests.append(Request(autocluster, size, [jobs], key, priority))

    def session(self, priorities: tuple[int, int] | None = None) -> Iterator[Request]:
        """Begin a turn: the requests that still have jobs, in order; of *priorities* (lowest, highest) alone."""
        for request in self._requests:
            if request.packed:
                request.offer_again()
        requests = self._requests if priorities is None else self.in_range(priorities)
        most = [jobs for jobs in (self._jobs_per_turn, self._jobs_left_of()) if jobs is not None]
        if most:
            _offer(requests, min(most))
        return (request for request in requests if request.count)


def _mixed(parts: Iterable[_Part]) -> frozenset[int]:
    """The clusters whose jobs are not all alike: of the others to pass over the cluster is to pass over the alike."""
    alike: dict[int, int] = {}
    return frozenset(
        part.jobs.cluster for part in parts if alike.setdefault(part.jobs.cluster, part.autocluster) != part.autocluster
    )


def _offer(requests: Iterable[Request], jobs: int) -> None:
    for request in requests:
        all_left = request.count + request.held_back
        request.count = min(all_left, jobs)
        request.held_back = all_left - request.count
        jobs -= request.count
