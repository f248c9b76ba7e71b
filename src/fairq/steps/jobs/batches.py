"""The queue by batch, as condor_q shows it: jobs of an owner with one name, else those of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairq.common.procs import job_name
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import batches as stored
from fairq.state.connection import reading

if TYPE_CHECKING:
    from fairq.steps.jobs.view import Queue

_NAME = "JobBatchName"
_SUSPENDED = 7
"""HTCondor's status of a suspended job, which only imported jobs have."""
_SHOWN = {
    "Running": (JobStatus.RUNNING, _SUSPENDED),
    "Idle": (JobStatus.IDLE,),
    "Waiting": (JobStatus.WAITING,),
    "Held": (JobStatus.HELD,),
}


class _Batch(Struct):
    owner: str
    name: str | None
    submitted: int
    done: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    clusters: set[int] = field(default_factory=set)
    jobs: list[JobRange] = field(default_factory=list)

    def add(self, job: JobRange) -> None:
        self.submitted = min(self.submitted, job.queue_date)
        self.counts[job.status] = self.counts.get(job.status, 0) + len(job)
        self.clusters.add(job.cluster)
        self.jobs.append(job)

    def record(self) -> Ad:
        """Return the batch as plain data; completed jobs that stay in the queue are done."""
        done = self.done + self.counts.get(JobStatus.COMPLETED, 0)
        shown = {name: sum(self.counts.get(status, 0) for status in statuses) for name, statuses in _SHOWN.items()}
        total = self.done + sum(self.counts.values())
        name = self.name if self.name is not None else f"ID: {self.jobs[0].cluster}"
        ad: Ad = {"Owner": self.owner, _NAME: name, "QDate": self.submitted, "Done": done}
        return {**ad, **shown, "Total": total, "JobIds": self._ids()}

    def _ids(self) -> str:
        first, last = self.jobs[0], self.jobs[-1]
        if len(self.clusters) == 1:
            return job_name(first.cluster, first.first_proc, last.last_proc)
        return f"{first.cluster}.{first.first_proc} ... {last.cluster}.{last.last_proc}"


def batches(path: Path, queue: Queue) -> list[Ad]:
    """Return the batches of the jobs in *queue*, in their order.

    The jobs of a batch that have left the queue are done: those of the same clusters, or those with the same name
    submitted since its first job in the queue.
    """
    by_key: dict[tuple[Any, ...], _Batch] = {}
    for job in queue.ranges:
        name = _name_of(job, queue.shared[job.ad_id])
        key = (job.schedd, job.owner, job.cluster if name is None else name)
        by_key.setdefault(key, _Batch(job.owner, name, job.queue_date)).add(job)
    with reading(path) as state:
        since = min((batch.submitted for batch in by_key.values()), default=0)
        for schedd, owner, batch_name, cluster, submitted, count in stored.ended_since(state, since):
            batch = by_key.get((schedd, owner, cluster if batch_name is None else batch_name))
            if batch is not None and (cluster in batch.clusters or submitted >= batch.submitted):
                batch.done += count
    return [batch.record() for batch in by_key.values()]


def _name_of(job: JobRange, shared: Ad) -> str | None:
    name = (job.template or {}).get(_NAME, (job.own or {}).get(_NAME, shared.get(_NAME)))
    return name if isinstance(name, str) else None
