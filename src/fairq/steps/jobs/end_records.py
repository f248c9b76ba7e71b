"""The records of jobs that leave the queue: their runs, and why they left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.common.past import EndedJob
from fairq.common.records import Ad, JobRange, JobStatus, Launch, Run
from fairq.state import ended_jobs, jobs, launches, runs, waits
from fairq.state.connection import State
from fairq.steps.jobs.conditions import has_failed
from fairq.steps.jobs.waits import Ended, release_followers
from fairq.steps.launch.values import read_if_usable

if TYPE_CHECKING:
    from fairq.settings import Settings

WANTED = "NotifyAllEnded"
"""The attribute of jobs that request a report when all jobs of their cluster have ended."""

_AT_ONCE = 10_000
"""Maximum number of ended jobs that one cycle deletes, to limit its duration."""


def take_from_queue(
    state: State, leaving: Iterable[JobRange], status: JobStatus, end: int, reason: str | None = None
) -> None:
    """Take these jobs out of the queue at *end* (seconds since 1970), and record them as ended.

    Their runs have ended already. A completed job ended when its last run ended. *reason* is the reason of a removal.
    """
    leaving = list(leaving)
    shared = jobs.ads(state, {job.ad_id for job in leaving})
    records: list[EndedJob] = []
    facts: list[Ended] = []
    for job in leaving:
        of_range = _of_range(state, job, _base(job, shared[job.ad_id], status, end, reason))
        records += of_range
        # The jobs that waited for a completed job have been released when it completed.
        if not job.schedd and job.status != JobStatus.COMPLETED:
            ad = shared[job.ad_id]
            facts += (
                Ended(record.cluster, record.first_proc, record.last_proc, has_failed(record, ad, end))
                for record in of_range
            )
    ended_jobs.add(state, records)
    notified = {
        job.cluster for job in leaving if not job.schedd and (shared[job.ad_id] | (job.own or {})).get(WANTED) is True
    }
    if notified:
        ended_jobs.set_unreported(state, {*ended_jobs.unreported(state), *notified})
    release_followers(state, facts, end)
    jobs.remove_many(state, (job.procs for job in leaving))


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


def _of_range(state: State, job: JobRange, base: EndedJob) -> list[EndedJob]:
    """Return a record for each proc that ran, and one for each range of others between them."""
    procs = (job.schedd, job.cluster, job.first_proc, job.last_proc)
    runs_by_proc: dict[int, list[Run]] = defaultdict(list)
    for run in runs.of_procs(state, *procs):
        runs_by_proc[run.proc].append(run)
    launches_by_proc: dict[int, list[Launch]] = defaultdict(list)
    if runs_by_proc:
        for launch in launches.of_procs(state, *procs):
            launches_by_proc[launch.proc].append(launch)
    ran = [
        _of_proc(replace(base, first_proc=proc, last_proc=proc), own, launches_by_proc[proc])
        for proc, own in runs_by_proc.items()
    ]
    others = base.without([(proc, proc) for proc in sorted(runs_by_proc)])
    return sorted([*ran, *others], key=lambda record: record.first_proc)


def _of_proc(record: EndedJob, own_runs: list[Run], launched: list[Launch]) -> EndedJob:
    last = own_runs[-1]
    record.runs = len(own_runs)
    record.first_start, record.start_time = min(run.start_time for run in own_runs), last.start_time
    record.wall_seconds = sum(run.end_time - run.start_time for run in own_runs)
    record.slot_seconds = sum(run.slot_weight * (run.end_time - run.start_time) for run in own_runs)
    record.slot = last.slot
    if record.status == JobStatus.COMPLETED:
        record.end_time, record.exit_code = last.end_time, last.exit_code
    facts = [launch.ended for launch in launched if launch.ended is not None]
    measured = [measurement for measurement in facts if "user_seconds" in measurement]
    if measured:
        record.user_seconds = sum(measurement["user_seconds"] for measurement in measured)
        record.system_seconds = sum(measurement.get("system_seconds", 0.0) for measurement in measured)
        record.measured_seconds = sum(_wall(measurement) for measurement in measured)
        record.memory = max(-(-int(measurement.get("peak_memory_kb", 0)) // 1024) for measurement in measured)
    if facts and record.status == JobStatus.COMPLETED:
        record.signal = facts[-1].get("signal")
    return record


def _wall(facts: dict[str, Any]) -> float:
    return max(0.0, float(facts.get("ended", 0.0)) - float(facts.get("started", 0.0)))
