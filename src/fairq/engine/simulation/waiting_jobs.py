"""Jobs of a simulation that wait before they are idle: for other jobs, for a time, or for a cap of their own.

All jobs are taken to succeed: what waits for a failure does not start.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import JobRange, JobStatus
from fairq.common.waits import JobAfter, JobCap, JobWait, parts
from fairq.engine.simulation.queues import JobKey


class Waiting(Struct, frozen=True):
    """The *jobs* that wait, with their *waits* and open conditions, and the *caps* of clusters.

    *counts* has the jobs in the queue by capped cluster and status.
    """

    jobs: Sequence[JobRange] = ()
    waits: Sequence[JobWait] = ()
    afters: Sequence[JobAfter] = ()
    caps: Sequence[JobCap] = ()
    counts: Mapping[int, Mapping[int, int]] = {}


class _Gate(Struct):
    open: int
    begin: int | None
    jobs: list[JobRange]


class WaitingJobs:
    """What waits in one simulation, and what of it becomes idle."""

    def __init__(self, waiting: Waiting) -> None:
        """Begin with *waiting*."""
        self._caps = {cap.cluster: cap for cap in waiting.caps}
        self._members: dict[str, list[int]] = defaultdict(list)
        for cap in waiting.caps:
            if cap.category is not None:
                self._members[cap.category].append(cap.cluster)
        self._idle = Counter({one: counts.get(JobStatus.IDLE, 0) for one, counts in waiting.counts.items()})
        self._running = Counter({one: counts.get(JobStatus.RUNNING, 0) for one, counts in waiting.counts.items()})
        self._other = {
            one: counts.get(JobStatus.HELD, 0) + counts.get(JobStatus.COMPLETED, 0)
            for one, counts in waiting.counts.items()
        }
        self._ready: dict[int, list[JobRange]] = defaultdict(list)
        self._touched: set[int] = set()
        self._begins: list[tuple[int, int, list[JobRange]]] = []
        gates = {
            (one.cluster, one.first_proc): _Gate(0 if one.waived else one.open, None if one.waived else one.begin, [])
            for one in waiting.waits
        }
        of_cluster: dict[int, list[JobWait]] = defaultdict(list)
        for one in waiting.waits:
            of_cluster[one.cluster].append(one)
        for jobs in waiting.jobs:
            for wait, part in parts(replace(jobs, status=int(JobStatus.IDLE)), of_cluster[jobs.cluster]):
                if wait is None:
                    self._add(part)
                else:
                    gates[wait.cluster, wait.first_proc].jobs.append(part)
        self._conditions: dict[int, list[tuple[JobAfter, _Gate]]] = defaultdict(list)
        for after in waiting.afters:
            gate = gates.get((after.cluster, after.first_proc))
            if gate is not None and gate.jobs and after.is_met is None:
                self._conditions[after.other_cluster].append((replace(after), gate))
        for gate in gates.values():
            if not gate.open:
                self._open(gate)

    @property
    def next_begin(self) -> int | None:
        """The next time at which jobs become idle by themselves; None if there is none."""
        return self._begins[0][0] if self._begins else None

    def started(self, job: JobKey) -> None:
        """Note that an idle job runs."""
        self._count(job, -1, 1)

    def evicted(self, job: JobKey) -> None:
        """Note that a running job is idle again."""
        self._count(job, 1, -1)

    def ended(self, job: JobKey) -> None:
        """Note that a running job has succeeded."""
        self._count(job, 0, -1)
        for after, gate in self._conditions.get(job.cluster, ()):
            if job.schedd or not after.other_first <= job.proc <= after.other_last or not after.left:
                continue
            after.left -= 1
            if after.is_met:
                gate.open -= 1
                if not gate.open:
                    self._open(gate)

    def released(self, now: int) -> Iterator[JobRange]:
        """Yield the jobs that are idle from *now* on."""
        while self._begins and self._begins[0][0] <= now:
            for jobs in heapq.heappop(self._begins)[2]:
                self._add(jobs)
        touched, self._touched = sorted(self._touched, key=self._order), set()
        for cluster in touched:
            yield from self._of_cluster(cluster)

    def _of_cluster(self, cluster: int) -> Iterator[JobRange]:
        ready = self._ready[cluster]
        room = self._room(cluster)
        while ready and room > 0:
            count = int(min(room, len(ready[0])))
            jobs = ready.pop(0)
            if count < len(jobs):
                ready.insert(0, replace(jobs, first_proc=jobs.first_proc + count))
            room -= count
            if cluster in self._caps:
                self._idle[cluster] += count
            yield replace(jobs, last_proc=jobs.first_proc + count - 1)

    def _room(self, cluster: int) -> float:
        """Return how many more jobs of a cluster may be idle; see `fairq.steps.jobs.waits`."""
        cap = self._caps.get(cluster)
        if cap is None:
            return inf
        if cap.category is not None and not self._in_use(cluster):
            used = sum(map(self._in_use, self._members[cap.category]))
            if used >= (cap.clusters or 0):
                return 0
        running = self._running[cluster]
        return cap.room(running, running + self._other.get(cluster, 0)) - self._idle[cluster]

    def _in_use(self, cluster: int) -> bool:
        return bool(self._idle[cluster] + self._running[cluster] + self._other.get(cluster, 0))

    def _order(self, cluster: int) -> tuple[int, int]:
        return -max((jobs.priority for jobs in self._ready[cluster]), default=0), cluster

    def _count(self, job: JobKey, idle: int, running: int) -> None:
        cap = None if job.schedd else self._caps.get(job.cluster)
        if cap is None:
            return
        self._idle[job.cluster] += idle
        self._running[job.cluster] += running
        self._touched.update([job.cluster] if cap.category is None else self._members[cap.category])

    def _open(self, gate: _Gate) -> None:
        if gate.begin is not None:
            heapq.heappush(self._begins, (gate.begin, len(self._begins), gate.jobs))
            return
        for jobs in gate.jobs:
            self._add(jobs)

    def _add(self, jobs: JobRange) -> None:
        self._ready[jobs.cluster].append(jobs)
        self._ready[jobs.cluster].sort(key=lambda one: (-one.priority, one.first_proc))
        self._touched.add(jobs.cluster)
