"""Task queues formed from the idle jobs of fairq's own queue (docs/dirac.md 1.3).

They are formed again from each snapshot: a queue contains exactly its waiting jobs, and no queue is empty. Only the
numbers of queues are stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.shares.forming import FormedQueue, QueueFormer
from fairq.engine.shares.job_needs import JobNeeds, read_needs
from fairq.engine.shares.model import Requirements, TaskQueue
from fairq.errors.shares import JobRequirementError
from fairq.records import Ad, JobRange, JobStatus, QueueNumber
from fairq.state import jobs, meta, task_queues
from fairq.state.connection import State
from fairq.steps.taskqueues.job_requirements import ATTRIBUTES, IDENTITY, identity_of, plain_value, relevant
from fairq.steps.taskqueues.policy import SharePolicy

NEXT = "next_task_queue"
"""The key in the state for the number of the next new queue."""

FIELDS = (
    "Owner", "OwnerGroup", "CPUTime", "GridCEs", "Platforms", "JobTypes", "Tags", "Sites", "BannedSites", "MinRAM",
    "MaxRAM",
)  # fmt: skip
"""DIRAC's names for the fields of `Requirements`, in order."""

MEMBERS = (
    "owner", "owner_group", "cpu_time", "grid_ces", "platforms", "job_types", "tags", "sites", "banned_sites",
    "min_ram", "max_ram",
)  # fmt: skip
"""The report members for the fields of `Requirements`, in order."""


class Member(Struct, frozen=True):
    """Identical jobs of a queue: a range, their UserPriority, and their real priority if given."""

    job: JobRange
    user_priority: float
    real_priority: float | None = None


class QueueWithJobs(Struct):
    """A task queue with its jobs, oldest first, and its stored values."""

    formed: FormedQueue
    members: list[Member]
    stored: QueueNumber | None = None

    @property
    def number(self) -> int:
        """The queue's number."""
        return self.formed.number

    @property
    def requirements(self) -> Requirements:
        """The requirements that all of its jobs share."""
        return self.formed.requirements

    @property
    def jobs(self) -> int:
        """Number of jobs waiting in the queue."""
        return self.formed.jobs


class FormedQueues(Struct):
    """All queues in order of number, and the jobs in no queue, each with the reason."""

    queues: list[QueueWithJobs]
    left_out: list[tuple[JobRange, str]]
    next_number: int
    gone: list[int]

    def records(self) -> list[TaskQueue]:
        """Return the queues in the engine's form."""
        return [queue.formed.record() for queue in self.queues]


def fields_of(requirements: Requirements) -> dict[str, Any]:
    """Return *requirements* by DIRAC's names, without empty ones."""
    pairs = zip(FIELDS, requirements, strict=True)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value}


def members_of(requirements: Requirements) -> Ad:
    """Return *requirements* as members of a report.

    Lists are texts with commas, so that expressions can read them; empty ones are left out.
    """
    pairs = zip(MEMBERS, requirements, strict=True)
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in pairs if value}


def requirements_of(fields: dict[str, Any]) -> Requirements:
    """Return the requirements that *fields* (see `fields_of`) name."""

    def names(field: str) -> tuple[str, ...]:
        return tuple(fields.get(field, ()))

    return Requirements(
        fields["Owner"],
        fields["OwnerGroup"],
        fields.get("CPUTime", 0),
        names("GridCEs"),
        names("Platforms"),
        names("JobTypes"),
        names("Tags"),
        names("Sites"),
        names("BannedSites"),
        fields.get("MinRAM", 0),
        fields.get("MaxRAM", 0),
    )


def form_queues(state: State, policy: SharePolicy) -> FormedQueues:
    """Form the task queues of all idle jobs of *state*."""
    stored = {(requirements_of(one.identity), one.part): one for one in task_queues.load_all(state)}
    highest = max((one.number for one in stored.values()), default=0)
    former = QueueFormer(
        policy.capacity,
        {key: one.number for key, one in stored.items()},
        max(highest + 1, int(meta.get(state, NEXT) or 1)),
    )
    left_out: list[tuple[JobRange, str]] = []
    members: defaultdict[int, list[Member]] = defaultdict(list)
    for job, needs in _needs(state, policy, left_out):
        own = needs.real_priority if needs.is_own_real_priority else None
        first = job.first_proc
        for queue, taken in former.place(needs.requirements, len(job), needs.real_priority):
            part = job if taken == len(job) else replace(job, first_proc=first, last_proc=first + taken - 1)
            members[queue.number].append(Member(part, needs.user_priority, own))
            first += taken
    formed = [
        QueueWithJobs(queue, members[queue.number], stored.pop((queue.requirements, queue.part), None))
        for queue in sorted(former.queues, key=lambda queue: queue.number)
    ]
    return FormedQueues(formed, left_out, former.next_number, [one.number for one in stored.values()])


def _needs(
    state: State, policy: SharePolicy, left_out: list[tuple[JobRange, str]]
) -> Iterator[tuple[JobRange, JobNeeds]]:
    """Yield idle jobs, oldest first, in ranges with equal needs."""
    idle = jobs.select(state, statuses=[JobStatus.IDLE])
    shared = {number: relevant(ad) for number, ad in jobs.ads(state, {job.ad_id for job in idle}).items()}
    known: dict[Any, JobNeeds] = {}
    alike: dict[Any, JobNeeds | str] = {}
    for job in idle:
        for part in _alike(job):
            own = relevant(part.overrides_for(part.first_proc)) if part.own or part.template else {}
            key = (part.ad_id, part.owner, part.priority, repr(own) if own else None)
            needs = known.get(key)
            if needs is None:
                ad = {**shared[part.ad_id], **own}
                asked = _asked(ad, part.priority, policy, alike)
                if isinstance(asked, str):
                    left_out.append((part, asked))
                    continue
                owner, group = identity_of(ad, part.owner)
                asks = asked.requirements._replace(owner=owner, group=group)
                needs = known[key] = asked._replace(requirements=asks)
            yield part, needs


def _asked(ad: Ad, priority: int, policy: SharePolicy, alike: dict[Any, JobNeeds | str]) -> JobNeeds | str:
    """Return the needs of a job, or the reason why it is in no queue; *alike* caches equal needs of many jobs."""
    key = (priority, repr([item for item in ad.items() if item[0] not in IDENTITY]))
    found = alike.get(key)
    if found is None:
        try:
            plain = {name: plain_value(value) for name, value in ad.items()}
            found = read_needs(plain, priority, policy.job_defaults)
        except JobRequirementError as error:
            found = str(error)
        alike[key] = found
    return found


def _alike(job: JobRange) -> Iterable[JobRange]:
    """Split a range if its procs differ in the attributes that are read."""
    if not job.template or not ATTRIBUTES & {name.lower() for name in job.template}:
        return [job]
    return (replace(job, first_proc=proc, last_proc=proc) for proc in range(job.first_proc, job.last_proc + 1))


def remember(
    state: State, formed: FormedQueues, priorities: dict[int, float] | None = None, now: int | None = None
) -> None:
    """Store the numbers of queues that are new.

    With *priorities* (by number, at *now*), those of all queues are stored, and queues that no longer exist are
    deleted.
    """
    if priorities is None:
        fresh = [queue for queue in formed.queues if queue.stored is None]
    else:
        fresh = formed.queues
        task_queues.forget(state, formed.gone)
    task_queues.put(
        state,
        (
            QueueNumber(
                queue.number,
                fields_of(queue.requirements),
                queue.formed.part,
                None if priorities is None else priorities[queue.number],
                None if priorities is None else now,
            )
            for queue in fresh
        ),
    )
    if fresh or formed.gone:
        meta.set(state, NEXT, str(formed.next_number))


def full_ad(state: State, job: JobRange) -> Ad:
    """Return the whole ad of the first proc of *job*."""
    return job.ad_of(jobs.ads(state, [job.ad_id])[job.ad_id], job.first_proc)
