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
    """The *jobs* that wait, with their *waits* and conditions (*afters*), and the *caps* of clusters.

    *counts* is the number of jobs in the queue by capped cluster and status.
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
    """The jobs of a simulation that wait; yields those that become idle."""

    def __init__(self, waiting: Waiting) -> None:
        """Start with the jobs of *waiting*."""
        self._caps = {cap.cluster: cap for cap in waiting.caps}
        self._members: dict[str, list[int]] = defaultdict(list)
        for cap in waiting.caps:
            if cap.category is not None:
                self._members[cap.category].append(cap.cluster)
        self._idle = Counter({cluster: counts.get(JobStatus.IDLE, 0) for cluster, counts in waiting.counts.items()})
        self._running = Counter(
            {cluster: counts.get(JobStatus.RUNNING, 0) for cluster, counts in waiting.counts.items()}
        )
        self._held_or_completed = {
            cluster: counts.get(JobStatus.HELD, 0) + counts.get(JobStatus.COMPLETED, 0)
            for cluster, counts in waiting.counts.items()
        }
        self._ready: dict[int, list[JobRange]] = defaultdict(list)
        self._changed_clusters: set[int] = set()
        self._timed: list[tuple[int, int, list[JobRange]]] = []
        gates = {
            (wait.cluster, wait.first_proc): _Gate(
                0 if wait.waived else wait.open, None if wait.waived else wait.begin, []
            )
            for wait in waiting.waits
        }
        waits_by_cluster: dict[int, list[JobWait]] = defaultdict(list)
        for wait in waiting.waits:
            waits_by_cluster[wait.cluster].append(wait)
        for jobs in waiting.jobs:
            for part_wait, part in parts(replace(jobs, status=int(JobStatus.IDLE)), waits_by_cluster[jobs.cluster]):
                if part_wait is None:
                    self._add(part)
                else:
                    gates[part_wait.cluster, part_wait.first_proc].jobs.append(part)
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
        """The next time at which jobs become idle because of the time, None if there is none."""
        return self._timed[0][0] if self._timed else None

    def started(self, job: JobKey) -> None:
        """Count an idle job as running."""
        self._count(job, -1, 1)

    def evicted(self, job: JobKey) -> None:
        """Count a running job as idle again."""
        self._count(job, 1, -1)

    def ended(self, job: JobKey) -> None:
        """Count a running job as ended with success; jobs that waited for it may become idle."""
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
        """Yield the jobs that become idle up to *now*."""
        while self._timed and self._timed[0][0] <= now:
            for jobs in heapq.heappop(self._timed)[2]:
                self._add(jobs)
        clusters, self._changed_clusters = sorted(self._changed_clusters, key=self._cluster_order), set()
        for cluster in clusters:
            yield from self._release(cluster)

    def _release(self, cluster: int) -> Iterator[JobRange]:
        ready_ranges = self._ready[cluster]
        free = self._idle_allowed(cluster)
        while ready_ranges and free > 0:
            count = int(min(free, len(ready_ranges[0])))
            jobs = ready_ranges.pop(0)
            if count < len(jobs):
                ready_ranges.insert(0, replace(jobs, first_proc=jobs.first_proc + count))
            free -= count
            if cluster in self._caps:
                self._idle[cluster] += count
            yield replace(jobs, last_proc=jobs.first_proc + count - 1)

    def _idle_allowed(self, cluster: int) -> float:
        """Return how many more jobs of a cluster may be idle; see `fairq.steps.jobs.waits`."""
        cap = self._caps.get(cluster)
        if cap is None:
            return inf
        if cap.category is not None and not self._in_use(cluster):
            used = sum(map(self._in_use, self._members[cap.category]))
            if used >= (cap.clusters or 0):
                return 0
        running = self._running[cluster]
        return cap.idle_allowance(running, running + self._held_or_completed.get(cluster, 0)) - self._idle[cluster]

    def _in_use(self, cluster: int) -> bool:
        return bool(self._idle[cluster] + self._running[cluster] + self._held_or_completed.get(cluster, 0))

    def _cluster_order(self, cluster: int) -> tuple[int, int]:
        return -max((jobs.priority for jobs in self._ready[cluster]), default=0), cluster

    def _count(self, job: JobKey, idle: int, running: int) -> None:
        cap = None if job.schedd else self._caps.get(job.cluster)
        if cap is None:
            return
        self._idle[job.cluster] += idle
        self._running[job.cluster] += running
        self._changed_clusters.update([job.cluster] if cap.category is None else self._members[cap.category])

    def _open(self, gate: _Gate) -> None:
        if gate.begin is not None:
            heapq.heappush(self._timed, (gate.begin, len(self._timed), gate.jobs))
            return
        for jobs in gate.jobs:
            self._add(jobs)

    def _add(self, jobs: JobRange) -> None:
        self._ready[jobs.cluster].append(jobs)
        self._ready[jobs.cluster].sort(key=lambda job_range: (-job_range.priority, job_range.first_proc))
        self._changed_clusters.add(jobs.cluster)
