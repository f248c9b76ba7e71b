"""Idle jobs of a simulation, stored as ranges of identical procs: a million waiting jobs cost no more than one."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from fairq.common.records import Ad, JobRange
from fairq.engine.negotiation.queue import SubmitterQueue


class JobKey(NamedTuple):
    """One job: its schedd, cluster and proc."""

    schedd: str
    cluster: int
    proc: int


class _Queue:
    """The idle jobs of one submitter at one schedd, and the number of running ones."""

    def __init__(self, name: str, schedd: str) -> None:
        self.name = name
        self.schedd = schedd
        self.ranges: list[JobRange] = []
        self.idle = 0
        self.running = 0
        self.running_weight = 0.0

    def add(self, jobs: JobRange) -> None:
        """Add *jobs*; merge them into the preceding range if they are identical and follow it directly."""
        self.idle += len(jobs)
        last_range = self.ranges[-1] if self.ranges else None
        if last_range is not None and _follows_directly(last_range, jobs):
            last_range.last_proc = jobs.last_proc
        elif last_range is None or _position(last_range) < _position(jobs):
            self.ranges.append(jobs)
        else:
            insort(self.ranges, jobs, key=_position)

    def take(self, cluster: int, proc: int) -> JobRange:
        """Remove one job and return it as a range of its own."""
        index = bisect_right(self.ranges, (cluster, proc), key=_position) - 1
        jobs = self.ranges[index]
        job = replace(jobs, first_proc=proc, last_proc=proc)
        self.idle -= 1
        if jobs.first_proc == jobs.last_proc:
            del self.ranges[index]
        elif proc == jobs.first_proc:
            jobs.first_proc += 1
        elif proc == jobs.last_proc:
            jobs.last_proc -= 1
        else:
            later_jobs = replace(jobs, first_proc=proc + 1)
            jobs.last_proc = proc - 1
            self.ranges.insert(index + 1, later_jobs)
        return job


def _position(jobs: JobRange) -> tuple[int, int]:
    return jobs.cluster, jobs.first_proc


def _follows_directly(last: JobRange, jobs: JobRange) -> bool:
    return (
        last.cluster == jobs.cluster
        and last.last_proc + 1 == jobs.first_proc
        and last.ad_id == jobs.ad_id
        and last.priority == jobs.priority
        and last.own == jobs.own
        and last.template == jobs.template
    )


class Queues:
    """The idle jobs of all submitters; within a cluster, procs are in submission order."""

    def __init__(self, idle: Iterable[JobRange] = ()) -> None:
        self._queues: dict[tuple[str, str], _Queue] = {}
        self.idle = 0
        """The number of waiting jobs."""
        for jobs in idle:
            self.add(replace(jobs))

    def add(self, jobs: JobRange) -> None:
        """Queue *jobs*; the queue takes over the range and may change it."""
        self._queue(jobs.submitter, jobs.schedd).add(jobs)
        self.idle += len(jobs)

    def start(self, submitter: str, job: JobKey, weight: float) -> JobRange:
        """Start one idle job on a slot of *weight*; return it as a range of one."""
        queue = self._queue(submitter, job.schedd)
        queue.running += 1
        queue.running_weight += weight
        self.idle -= 1
        return queue.take(job.cluster, job.proc)

    def run(self, submitter: str, schedd: str, weight: float) -> None:
        """Count a job that is already running."""
        queue = self._queue(submitter, schedd)
        queue.running += 1
        queue.running_weight += weight

    def stop(self, submitter: str, schedd: str, weight: float) -> None:
        """Count a job no longer as running."""
        queue = self._queue(submitter, schedd)
        queue.running -= 1
        queue.running_weight = queue.running_weight - weight if queue.running else 0.0

    def counts(self) -> Iterator[tuple[str, int, float]]:
        """Yield each submitter with jobs, its number of idle jobs and the slot weight that it uses."""
        for queue in self._queues.values():
            if queue.idle or queue.running:
                yield queue.name, queue.idle, queue.running_weight

    def snapshot(self) -> list[SubmitterQueue]:
        """Return the queues of all submitters as a cycle reads them, sorted by name."""
        return [
            SubmitterQueue(queue.name, queue.schedd, queue.running, queue.ranges, queue.running_weight)
            for _, queue in sorted(self._queues.items())
            if queue.idle or queue.running
        ]

    def is_idle(self, submitter: str, job: JobKey) -> bool:
        """Return whether a job waits."""
        ranges = self._queue(submitter, job.schedd).ranges
        index = bisect_right(ranges, (job.cluster, job.proc), key=_position) - 1
        return index >= 0 and ranges[index].cluster == job.cluster and job.proc <= ranges[index].last_proc

    def set_attributes(self, submitter: str, job: JobKey, own: Ad) -> None:
        """Set attributes of a waiting job."""
        queue = self._queue(submitter, job.schedd)
        job_range = queue.take(job.cluster, job.proc)
        queue.add(replace(job_range, own={**(job_range.own or {}), **own}))

    def ranges(self) -> Iterator[JobRange]:
        """Yield all idle jobs."""
        for queue in self._queues.values():
            yield from queue.ranges

    def _queue(self, submitter: str, schedd: str) -> _Queue:
        key = (submitter, schedd)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue(submitter, schedd)
        return queue
