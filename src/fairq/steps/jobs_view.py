"""The queue as people and programs look at it: rows of alike jobs, or the whole ad of every job."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fairq.records import Ad, Claim, JobRange, JobStatus
from fairq.state import claims, jobs, slots
from fairq.state.connection import reading
from fairq.steps.jobs_change import job_name, procs
from fairq.steps.jobs_selection import Selection, find


@dataclass(slots=True)
class Queue:
    """Selected jobs as one consistent reading of the state saw them at *now* (seconds since 1970)."""

    ranges: list[JobRange]
    shared: dict[int, Ad]
    now: int
    claims: dict[tuple[str, int, int], Claim] = field(default_factory=dict)
    slot_names: dict[int, str] = field(default_factory=dict)

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
        ad = job.ad_of(self.shared[job.ad_id], proc)
        if job.reason is not None and job.status == JobStatus.HELD:
            ad["HoldReason"] = job.reason
        claim = self.claims.get((job.schedd, job.cluster, proc))
        if claim is not None:
            ad["RemoteHost"] = self.slot_names.get(claim.slot_id, "")
            ad["JobStartDate"] = ad["JobCurrentStartDate"] = claim.start_time
        return ad

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
        queue = Queue(found, jobs.ads(state, (job.ad_id for job in found)), now)
        running = [procs(job) for job in found if job.status == JobStatus.RUNNING]
        for claim in claims.of_procs(state, running):
            queue.claims[claim.schedd or "", claim.cluster or 0, claim.proc or 0] = claim
        if running:
            queue.slot_names = dict(zip(slots.load_ids(state), slots.load_names(state), strict=True))
    return queue
