"""Import a dump of DIRAC's task queues: its waiting jobs, its groups, its usage reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Actor, Ad, Change, JobRange, JobStatus, QueueNumber, ShareGroup, UsageReport
from fairq.engine.accounting.identity import submitter_name
from fairq.engine.shares.queues import Requirements
from fairq.errors.base import SettingValueError
from fairq.errors.shares import DiracStopsError, ShareCorrectionError
from fairq.formats.task_queue_files import read_dump
from fairq.formats.task_queues import DumpedQueue, TaskQueueDump
from fairq.state import ended_jobs, history, idle_jobs, jobs, meta, share_groups, task_queues, undo
from fairq.state.connection import State, reading, writing
from fairq.steps.taskqueues.formation import fields_of, form_queues, requirements_of
from fairq.steps.taskqueues.policy import read_groups, share_policy, share_rules

if TYPE_CHECKING:
    from fairq.settings import Settings

SCHEDD = "dirac"
"""The schedd of jobs imported with their numbers: the cluster is DIRAC's JobID."""

UNNUMBERED = "dirac.taskqueue"
"""The schedd of jobs of which only the count is known: the cluster is the task queue's number."""

_NEWER = "task_queue_dump"
"""The key of the last imported dump that was newer than the import: when it was written and first imported."""


class ImportedQueues(Struct, frozen=True):
    """Numbers of imported records; None for kinds not in the dump. *here* counts jobs that run here or ended since.

    *unread* are the files of the dump that an import does not read.
    """

    task_queues: int
    jobs: int
    here: int
    groups: int | None
    reports: int | None
    unread: list[str]


def import_task_queues(
    path: Path, settings: Settings, name: str, actor: Actor, *, host: str, dry_run: bool = False
) -> ImportedQueues:
    """Replace earlier imports by the dump *name* (``-``: stdin), at the actor's time.

    fairq's own jobs and running jobs from earlier dumps are kept. Jobs that ended here after the dump was made are not
    queued again. *host* is the domain of the submitters if no setting names one.

    Raises:
        TaskQueueDumpError, UnreadableDumpError, InvalidDumpError: the dump cannot be used.
        InvalidNameError: a name is not valid for a submitter.
        ShareCorrectionError: a group's share is invalid.
    """
    dump = read_dump(name)
    read_groups(settings, dump.groups or {}, share_rules(settings))
    domain = settings["accounting.accounting_domain"] or settings["accounting.uid_domain"] or host
    with reading(path) if dry_run else writing(path) as state:
        time = _dump_time(state, dump, actor.time)
        ads, ranges = _jobs(dump, domain, time, {*_running(state), *_ended_since(state, time)})
        imported = ImportedQueues(
            len(dump.queues),
            sum(map(len, ranges)),
            sum(queue.count for queue in dump.queues) - sum(map(len, ranges)),
            None if dump.groups is None else len(dump.groups),
            None if dump.history is None else len(dump.history),
            [*dump.unread, *(["share_corrections"] if dump.corrections is not None else [])],
        )
        if not dry_run:
            _store(state, dump, ads, ranges, time)
            change = {"TaskQueues": imported.task_queues, "Jobs": imported.jobs}
            entries = history.record(state, actor, [Change("task queues", None, change)])
            undo.record_final(state, actor, entries, "what an import replaces is not kept", settings["pool.undo_kept"])
            # With many other idle jobs, forming all queues would make the import much slower.
            if idle_jobs.count(state) <= 2 * len(ranges):
                _store_formed_needs(state, settings)
    return imported


def _running(state: State) -> set[tuple[str, int, int]]:
    return {
        (job.schedd, job.cluster, proc)
        for job in jobs.select(state, statuses=[JobStatus.RUNNING])
        if job.schedd in (SCHEDD, UNNUMBERED)
        for proc in range(job.first_proc, job.last_proc + 1)
    }


def _dump_time(state: State, dump: TaskQueueDump, now: int) -> int:
    """Return when *dump* was made (seconds since 1970): its stated time, else that of its oldest file, else *now*.

    A file that is newer than *now* was written by another clock. The time is then that of the dump's first import.
    """
    if dump.time is not None or dump.oldest is None:
        return now if dump.time is None else min(dump.time, now)
    if dump.oldest <= now:
        return int(dump.oldest)
    written, _, imported = (meta.get(state, _NEWER) or "").partition(" ")
    return min(int(imported), now) if written == str(dump.oldest) else now


def _ended_since(state: State, time: int) -> set[tuple[str, int, int]]:
    """Return the jobs of earlier dumps that ended here after *time*."""
    return {
        (schedd, cluster, proc)
        for schedd in (SCHEDD, UNNUMBERED)
        for cluster, first, last in ended_jobs.procs_after(state, schedd, time)
        for proc in range(first, last + 1)
    }


def _jobs(
    dump: TaskQueueDump, domain: str, time: int, present: set[tuple[str, int, int]]
) -> tuple[list[Ad], list[JobRange]]:
    """Return the jobs waiting since *time* and their ads, numbered from 0, without jobs that are already *present*."""
    ads: list[Ad] = []
    ranges: list[JobRange] = []

    @cache
    def submitter_of(accounting_group: str) -> str:
        return submitter_name({"AccountingGroup": accounting_group}, domain)

    for queue in dump.queues:
        if not queue.count:
            continue
        ad = _ad(queue)
        submitter = submitter_of(ad["AccountingGroup"])
        owner = queue.fields["Owner"]
        template = JobRange(0, 0, 0, len(ads), submitter, owner, int(JobStatus.IDLE), time, time)
        ads.append(ad)
        ranges += (
            job for job in _jobs_of_queue(queue, template) if (job.schedd, job.cluster, job.first_proc) not in present
        )
    return ads, ranges


def _jobs_of_queue(queue: DumpedQueue, template: JobRange) -> Iterator[JobRange]:
    for job in queue.members:
        priority: Ad = {"UserPriority": job.user_priority}
        if job.real_priority is not None:
            priority = {"RealPriority": job.real_priority}
        yield replace(template, schedd=SCHEDD, cluster=job.number, own=priority)
    if not queue.members:
        # One range per job: some of them may already be running.
        for proc in range(queue.count):
            priority = {"RealPriority": queue.average}
            yield replace(
                template, schedd=UNNUMBERED, cluster=queue.number, first_proc=proc, last_proc=proc, own=priority
            )


def _ad(queue: DumpedQueue) -> Ad:
    """Return the attributes that all jobs of a queue share; only pilots may run them, not the pool's machines."""
    owner, group = queue.fields["Owner"], queue.fields["OwnerGroup"]
    ad: Ad = {
        "MyType": "Job",
        "JobUniverse": 5,
        "Cmd": "",
        "AcctGroup": group,
        "AcctGroupUser": owner,
        "AccountingGroup": f"{group}.{owner}",
        "Requirements": False,
        "MinRAM": 0,
    }
    needs: dict[str, Any] = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in queue.fields.items()
        if name not in ("Owner", "OwnerGroup")
    }
    return ad | needs


def _store_formed_needs(state: State, settings: Settings) -> None:
    """Store the needs of the jobs, so that the first match does not have to read their ads."""
    with suppress(SettingValueError, ShareCorrectionError, DiracStopsError):  # a match reports these errors
        policy = share_policy(settings, state)
        form_queues(state, policy).store_needs(state, policy)


def _store(state: State, dump: TaskQueueDump, ads: list[Ad], ranges: list[JobRange], time: int) -> None:
    if dump.oldest is not None:
        meta.set(state, _NEWER, f"{dump.oldest} {time}")
    for schedd in (SCHEDD, UNNUMBERED):
        former_jobs = jobs.select(state, schedd=schedd, statuses=[JobStatus.IDLE, JobStatus.HELD])
        jobs.remove_many(state, (job.procs for job in former_jobs))
    ad_ids = jobs.ad_ids(state, ads)
    for job in ranges:
        job.ad_id = ad_ids[job.ad_id]
    jobs.add(state, ranges)
    _store_numbers(state, dump, time)
    if dump.groups is not None:
        share_groups.replace_all(state, (ShareGroup(name, options) for name, options in dump.groups.items()))
    if dump.history is not None:
        share_groups.replace_reports(state, _reports(dump.history, time))


def _store_numbers(state: State, dump: TaskQueueDump, time: int) -> None:
    """Give the queues DIRAC's numbers, and store DIRAC's priorities."""
    parts: dict[Requirements, int] = {}
    numbered: dict[tuple[Requirements, int], QueueNumber] = {}
    queues = [queue for queue in dump.queues if queue.count]
    identities = requirements_of(
        [{name: sorted(value) if isinstance(value, list) else value for name, value in queue.fields.items()}
         for queue in queues]
    )  # fmt: skip
    for queue, identity in zip(queues, identities.tolist(), strict=True):
        part = parts[identity] = parts.get(identity, -1) + 1
        updated = None if queue.priority is None else time
        numbered[identity, part] = QueueNumber(queue.number, fields_of(identity), part, queue.priority, updated)
    stored = task_queues.load_all(state)
    stored_identities = zip(requirements_of([queue.identity for queue in stored]).tolist(), stored, strict=True)
    reused = {queue.number for queue in numbered.values()}.intersection(queue.number for queue in stored)
    same_identity = (queue.number for identity, queue in stored_identities if (identity, queue.part) in numbered)
    task_queues.forget(state, reused.union(same_identity))
    task_queues.put(state, numbered.values())


def _reports(usage: dict[tuple[str, int], dict[str, float] | None], time: int) -> Iterator[UsageReport]:
    for (group, span), use in usage.items():
        if use is None:
            yield UsageReport(group, span, "", None, time)
        else:
            for entity, average in use.items():
                yield UsageReport(group, span, entity, average, time)
