"""Keep the records of jobs that leave the queue: how they ran, and why they left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.common.past import EndedJob
from fairq.common.records import Ad, JobRange, JobStatus, Launch, Run
from fairq.state import ended_jobs, jobs, launches, runs, untold, waits
from fairq.state.connection import State
from fairq.steps.jobs.conditions import has_failed
from fairq.steps.jobs.waits import Ended, let_follow
from fairq.steps.launch.values import read_if_usable

if TYPE_CHECKING:
    from fairq.settings import Settings

WANTED = "NotifyAllEnded"
"""The attribute of jobs that ask for word when all of their cluster have ended."""

_AT_ONCE = 10_000
"""Maximum number of ended jobs that one cycle deletes, to limit its duration."""


def record_ended(
    state: State, leaving: Iterable[JobRange], status: JobStatus, end: int, reason: str | None = None
) -> None:
    """Record that these jobs leave the queue at *end* (seconds since 1970); call it before they leave.

    Their runs have ended already. A completed job ended when its last run ended. *reason* is the reason of a removal.
    """
    leaving = list(leaving)
    shared = jobs.ads(state, {job.ad_id for job in leaving})
    records: list[EndedJob] = []
    facts: list[Ended] = []
    for job in leaving:
        own = list(_of_range(state, job, _base(job, shared[job.ad_id], status, end, reason)))
        records += own
        # Others have followed a job already that was completed and stayed in the queue.
        if not job.schedd and job.status != JobStatus.COMPLETED:
            ad = shared[job.ad_id]
            facts += (Ended(one.cluster, one.first_proc, one.last_proc, has_failed(one, ad, end)) for one in own)
    ended_jobs.add(state, records)
    told = {
        job.cluster for job in leaving if not job.schedd and (shared[job.ad_id] | (job.own or {})).get(WANTED) is True
    }
    if told:
        untold.add(state, told)
    let_follow(state, facts, end)


def forget_old(state: State, settings: Settings, now: int) -> None:
    """Delete records of jobs that ended longer ago than history.keep_jobs."""
    ended_jobs.forget(state, int(now - settings["history.keep_jobs"]), _AT_ONCE)
    waits.forget(state)


def _base(job: JobRange, shared: Ad, status: JobStatus, end: int, reason: str | None) -> EndedJob:
    """Return the data that all procs of a range share."""
    ad = job.ad_of(shared, job.first_proc)
    return EndedJob(
        job.cluster,
        job.first_proc,
        job.last_proc,
        job.ad_id,
        job.submitter,
        job.owner,
        int(status),
        job.queue_date,
        end,
        job.priority,
        job.schedd,
        job.own,
        job.template,
        request_cpus=read_if_usable(ad, "RequestCpus", end),
        request_memory=read_if_usable(ad, "RequestMemory", end),
        reason=reason,
        hold_reason=job.reason if job.status == JobStatus.HELD else None,
    )


def _of_range(state: State, job: JobRange, base: EndedJob) -> Iterator[EndedJob]:
    ran: dict[int, list[Run]] = defaultdict(list)
    for run in runs.of_procs(state, job.schedd, job.cluster, job.first_proc, job.last_proc):
        ran[run.proc].append(run)
    launched: dict[int, list[Launch]] = defaultdict(list)
    if ran:
        for launch in launches.of_procs(state, job.schedd, job.cluster, job.first_proc, job.last_proc):
            launched[launch.proc].append(launch)
    free = job.first_proc
    for proc, own in sorted(ran.items()):
        if free < proc:
            yield replace(base, first_proc=free, last_proc=proc - 1)
        yield _of_proc(replace(base, first_proc=proc, last_proc=proc), own, launched[proc])
        free = proc + 1
    if free <= job.last_proc:
        yield replace(base, first_proc=free)


def _of_proc(record: EndedJob, ran: list[Run], launched: list[Launch]) -> EndedJob:
    last = ran[-1]
    record.runs = len(ran)
    record.first_start, record.start_time = min(run.start_time for run in ran), last.start_time
    record.wall_seconds = sum(run.end_time - run.start_time for run in ran)
    record.slot_seconds = sum(run.slot_weight * (run.end_time - run.start_time) for run in ran)
    record.slot = last.slot
    if record.status == JobStatus.COMPLETED:
        record.end_time, record.exit_code = last.end_time, last.exit_code
    facts = [launch.ended for launch in launched if launch.ended is not None]
    measured = [one for one in facts if "user_seconds" in one]
    if measured:
        record.user_seconds = sum(one["user_seconds"] for one in measured)
        record.system_seconds = sum(one.get("system_seconds", 0.0) for one in measured)
        record.measured_seconds = sum(_wall(one) for one in measured)
        record.memory = max(-(-int(one.get("peak_memory_kb", 0)) // 1024) for one in measured)
    if facts and record.status == JobStatus.COMPLETED:
        record.signal = facts[-1].get("signal")
    return record


def _wall(facts: dict[str, Any]) -> float:
    return max(0.0, float(facts.get("ended", 0.0)) - float(facts.get("started", 0.0)))
