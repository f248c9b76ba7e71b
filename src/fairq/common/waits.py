"""Records of what jobs wait for before they are idle: other jobs, a time, a cap of their cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.past import EndedJob
from fairq.common.procs import ProcRange, job_name
from fairq.common.records import JobRange

Jobs = TypeVar("Jobs", JobRange, EndedJob)

UNMET = 92
"""Hold code of a job whose condition can never be met; HTCondor does not use it."""

WHOLE = 2**31 - 1
"""The last proc of a condition for all jobs of a cluster."""

AFTER, AFTER_OK, AFTER_FAILED = "after", "after_ok", "after_failed"
"""How other jobs must have ended: in any way; all with success; at least one without."""


class JobWait(ProcRange):
    """Procs *first_proc* to *last_proc* of a cluster that wait for the same conditions.

    *open* is the number of their `JobAfter` conditions that are not met yet. They do not start before *begin* (None: at
    any time). If they have not started by *deadline*, they are held. Times are seconds since 1970. A *waived* wait is
    over, whatever its conditions: somebody has released the jobs.
    """

    open: int = 0
    begin: int | None = None
    deadline: int | None = None
    waived: bool = False


class JobAfter(Struct):
    """A condition of the waiting jobs from *first_proc* of *cluster* on: other jobs have ended, as *how* says.

    The others are *other_first* to *other_last* of *other_cluster*. *left* of them have not ended, *failed* have ended
    without success.
    """

    cluster: int
    first_proc: int
    how: str
    other_cluster: int
    other_first: int
    other_last: int
    left: int
    failed: int = 0

    @property
    def is_met(self) -> bool | None:
        """Whether the condition is met; None if it may still be, False if it never can be."""
        if self.how == AFTER_OK and self.failed:
            return False
        if self.left:
            return None
        return self.how != AFTER_FAILED or self.failed > 0

    @property
    def others(self) -> str:
        """The name of the other jobs."""
        if self.other_last == WHOLE:
            return str(self.other_cluster)
        return job_name(self.other_cluster, self.other_first, self.other_last)


class JobCap(Struct):
    """The most jobs of a *cluster* that may be running, idle, or in the queue at the same time; None: no limit.

    Further jobs wait. *running* also counts idle jobs, *queued* also held ones and completed ones in the queue. At most
    *clusters* clusters of the same *category* have jobs in the queue that do not wait.
    """

    cluster: int
    running: int | None = None
    idle: int | None = None
    queued: int | None = None
    category: str | None = None
    clusters: int | None = None

    def idle_allowance(self, running: int, in_queue: int) -> float:
        """Return how many jobs of the cluster may be idle; *in_queue* of its jobs are neither idle nor waiting."""
        limits = ((self.running, running), (self.idle, 0), (self.queued, in_queue))
        return min((limit - used for limit, used in limits if limit is not None), default=inf)


def parts(jobs: Jobs, waits: Sequence[JobWait]) -> Iterator[tuple[JobWait | None, Jobs]]:
    """Yield the parts of a range of *jobs*, each with its wait; *waits* are those of the cluster, in order."""
    start = jobs.first_proc
    for wait in waits:
        first, last = max(start, wait.first_proc), min(jobs.last_proc, wait.last_proc)
        if first > last:
            continue
        if start < first:
            yield None, replace(jobs, first_proc=start, last_proc=first - 1)
        yield wait, replace(jobs, first_proc=first, last_proc=last)
        start = last + 1
    if start <= jobs.last_proc:
        yield None, replace(jobs, first_proc=start)


def category_of(first_cluster: int, name: str) -> str:
    """Return the category *name* of a DAG, whose first node is *first_cluster*, as it is stored."""
    return f"{first_cluster}/{name}"


def category_name(category: str) -> str:
    """Return the name of a stored *category*."""
    return category.partition("/")[2]
