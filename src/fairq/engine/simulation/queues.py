"""Idle jobs of a simulation, kept as ranges of alike procs: a million waiting jobs cost what one costs."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from fairq.engine.negotiation.snapshot import SubmitterQueue
from fairq.records import JobRange


class JobKey(NamedTuple):
    """One job: its schedd, cluster and proc."""

    schedd: str
    cluster: int
    proc: int


class _Line:
    """The idle jobs of one submitter at one schedd, and how many run."""

    def __init__(self, name: str, schedd: str) -> None:
        self.name = name
        self.schedd = schedd
        self.ranges: list[JobRange] = []
        self.idle = 0
        self.running = 0
        self.running_weight = 0.0

    def add(self, jobs: JobRange) -> None:
        """Add *jobs*, joined to the range before them if they are alike and follow it directly."""
        self.idle += len(jobs)
        last = self.ranges[-1] if self.ranges else None
        if last is not None and _continues(last, jobs):
            last.last_proc = jobs.last_proc
        elif last is None or _place(last) < _place(jobs):
            self.ranges.append(jobs)
        else:
            insort(self.ranges, jobs, key=_place)

    def take(self, cluster: int, proc: int) -> JobRange:
        """Remove one job and return it as a range of its own."""
        at = bisect_right(self.ranges, (cluster, proc), key=_place) - 1
        jobs = self.ranges[at]
        taken = replace(jobs, first_proc=proc, last_proc=proc)
        self.idle -= 1
        if jobs.first_proc == jobs.last_proc:
            del self.ranges[at]
        elif proc == jobs.first_proc:
            jobs.first_proc += 1
        elif proc == jobs.last_proc:
            jobs.last_proc -= 1
        else:
            rest = replace(jobs, first_proc=proc + 1)
            jobs.last_proc = proc - 1
            self.ranges.insert(at + 1, rest)
        return taken


def _place(jobs: JobRange) -> tuple[int, int]:
    return jobs.cluster, jobs.first_proc


def _continues(last: JobRange, jobs: JobRange) -> bool:
    return (
        last.cluster == jobs.cluster
        and last.last_proc + 1 == jobs.first_proc
        and last.ad_id == jobs.ad_id
        and last.priority == jobs.priority
        and last.own == jobs.own
        and last.template == jobs.template
    )


class Queues:
    """Everybody's idle jobs; clusters are numbered so that procs of one follow each other in submission order."""

    def __init__(self, idle: Iterable[JobRange] = ()) -> None:
        self._lines: dict[tuple[str, str], _Line] = {}
        self.idle = 0
        """How many jobs wait."""
        for jobs in idle:
            self.add(replace(jobs))

    def add(self, jobs: JobRange) -> None:
        """Queue *jobs*; the range becomes the queue's own."""
        self._line(jobs.submitter, jobs.schedd).add(jobs)
        self.idle += len(jobs)

    def start(self, submitter: str, job: JobKey, weight: float) -> JobRange:
        """Let one idle job run on a slot of *weight*; return it as a range of one."""
        line = self._line(submitter, job.schedd)
        line.running += 1
        line.running_weight += weight
        self.idle -= 1
        return line.take(job.cluster, job.proc)

    def run(self, submitter: str, schedd: str, weight: float) -> None:
        """Count a job that runs already."""
        line = self._line(submitter, schedd)
        line.running += 1
        line.running_weight += weight

    def stop(self, submitter: str, schedd: str, weight: float) -> None:
        """Count a job no longer as running."""
        line = self._line(submitter, schedd)
        line.running -= 1
        line.running_weight = line.running_weight - weight if line.running else 0.0

    def counts(self) -> Iterator[tuple[str, int, float]]:
        """Yield the submitter, its idle jobs and the slot weight it uses, for all that have any jobs."""
        for line in self._lines.values():
            if line.idle or line.running:
                yield line.name, line.idle, line.running_weight

    def snapshot(self) -> list[SubmitterQueue]:
        """Return everybody's queue as a cycle reads it, sorted by name."""
        return [
            SubmitterQueue(line.name, line.schedd, line.running, line.ranges, line.running_weight)
            for _, line in sorted(self._lines.items())
            if line.idle or line.running
        ]

    def ranges(self) -> Iterator[JobRange]:
        """Yield all idle jobs."""
        for line in self._lines.values():
            yield from line.ranges

    def _line(self, submitter: str, schedd: str) -> _Line:
        key = (submitter, schedd)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line(submitter, schedd)
        return line
