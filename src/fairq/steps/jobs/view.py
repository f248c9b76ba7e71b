"""The queue as people and programs look at it: rows of alike jobs, or the whole ad of every job."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairq.records import Ad, JobRange, JobStatus
from fairq.state import jobs
from fairq.state.connection import reading
from fairq.steps.jobs.change import job_name
from fairq.steps.jobs.overlay import Overlay
from fairq.steps.jobs.selection import Selection, find


@dataclass(slots=True)
class Queue:
    """Selected jobs as one consistent reading of the state saw them at *now* (seconds since 1970)."""

    ranges: list[JobRange]
    shared: dict[int, Ad]
    overlay: Overlay
    now: int

    def counts(self) -> dict[int, int]:
        """Return how many jobs there are by status."""
        result: dict[int, int] = {}
        for job in self.ranges:
            result[job.status] = result.get(job.status, 0) + len(job)
        return result

    def rows(self) -> Iterator[Ad]:
        """Yield one ad per range of alike jobs, with ``Jobs`` naming them and ``RunTime`` in seconds."""
        for job in self.ranges:
            ad = self._ad(job, job.first_proc)
            yield {**ad, **self._shown(job, ad), "Jobs": job_name(job.cluster, job.first_proc, job.last_proc)}

    def each(self) -> Iterator[Ad]:
        """Yield one ad per job, with ``Jobs`` and ``RunTime`` as `rows`."""
        for job in self.ranges:
            for proc in range(job.first_proc, job.last_proc + 1):
                ad = self._ad(job, proc)
                yield {**ad, **self._shown(job, ad), "Jobs": f"{job.cluster}.{proc}"}

    def ads(self) -> Iterator[Ad]:
        """Yield the whole ad of every job."""
        for job in self.ranges:
            for proc in range(job.first_proc, job.last_proc + 1):
                yield self._ad(job, proc)

    def _ad(self, job: JobRange, proc: int) -> Ad:
        return {**job.ad_of(self.shared[job.ad_id], proc), **self.overlay.of(job, proc)}

    def _shown(self, job: JobRange, ad: Ad) -> Ad:
        start = ad.get("JobCurrentStartDate")
        words = " ".join(str(ad[name]) for name in ("Args", "Arguments") if ad.get(name))
        command = str(ad.get("Cmd", "")).rpartition("/")[2]
        return {
            "Submitter": job.submitter,
            "RunTime": 0 if start is None else max(0, self.now - start),
            "Command": f"{command} {words}".strip(),
        }


def look(path: Path, selection: Selection, now: int, statuses: Collection[int] | None = None) -> Queue:
    """Return the jobs of *selection*, those in *statuses* only if given, ordered by cluster and proc.

    A job or an owner that is not there is no error: the queue holds none of it.
    """
    with reading(path) as state:
        found = [
            job
            for target, ranges in find(state, selection, missing_is_error=False)
            for job in ranges
            if statuses is None or job.status in statuses
        ]
        found.sort(key=lambda job: (job.schedd, job.cluster, job.first_proc))
        overlay = Overlay(state)
        if any(job.status == JobStatus.RUNNING for job in found):
            overlay.load()
        return Queue(found, jobs.ads(state, (job.ad_id for job in found)), overlay, now)
