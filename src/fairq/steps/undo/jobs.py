"""Undo changes of the queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from fairq.common.records import JobRange, JobStatus
from fairq.state import ended_jobs, jobs, runs, waits
from fairq.state.connection import State
from fairq.steps.jobs.rerun import unfollow
from fairq.steps.jobs.waits import restore_followers, settle

_STATUS = {"hold": (JobStatus.HELD,), "release": (JobStatus.IDLE, JobStatus.WAITING)}
_NAMES = {int(status): status.name.lower() for status in JobStatus}

_NAMED = 5
"""Number of jobs that are named."""

Problem = str | None
"""The reason why a change cannot be undone, without a full stop; None if it can."""


def kept_jobs(state: State, ranges: Sequence[JobRange]) -> dict[str, Any]:
    """Return plain data that can restore the current *ranges* of jobs."""
    ads = jobs.ads(state, {job.ad_id for job in ranges})
    return {"ads": {str(number): ad for number, ad in ads.items()}, "jobs": [asdict(job) for job in ranges]}


def undo_submit(state: State, data: Mapping[str, Any], submitted: int) -> Problem:
    """Undo the submission of a cluster of *submitted* jobs, or of the nodes of a DAG.

    It fails if a job runs, has run or has left the queue, or if a job of another submission waits for one.
    """
    counts = data["clusters"] if "clusters" in data else [[data["cluster"], submitted]]
    own = {cluster for cluster, _ in counts}
    problems = (_undo_cluster(state, cluster, count, own) for cluster, count in counts)
    return next((problem for problem in problems if problem is not None), None)


def undo_rerun(state: State, data: Mapping[str, Any], now: int) -> Problem:
    """Undo the submission of clusters that run jobs again; jobs that wait for them wait for the old jobs again."""
    unfollow(state, data["followers"], now)
    return undo_submit(state, data, 0)


def _undo_cluster(state: State, cluster: int, submitted: int, own: Collection[int]) -> Problem:
    queued = jobs.select(state, cluster=cluster, schedd="")
    if sum(map(len, queued)) != submitted:
        return f"jobs of cluster {cluster} have left the queue since"
    if (busy := next((job for job in queued if job.status == JobStatus.RUNNING), None)) is not None:
        return f"job {cluster}.{busy.first_proc} is running"
    if ended := runs.load(state, cluster=cluster):
        return f"job {cluster}.{ended[0].proc} has run since"
    if others := list(
        dict.fromkeys(
            f"{follower.cluster}.{follower.first_proc}"
            for follower in waits.followers(state, cluster)
            if follower.cluster not in own
        )
    ):
        first_others = ", ".join(others[:_NAMED]) + (
            f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        )
        return (
            f"{'job' if len(others) == 1 else 'jobs'} {first_others} {'waits' if len(others) == 1 else 'wait'} for it"
        )
    jobs.remove(state, "", cluster, 0, max(job.last_proc for job in queued))
    waits.remove(state, cluster)
    return None


def undo_remove(state: State, data: Mapping[str, Any], removed: int, now: int) -> Problem:
    """Restore jobs that were *removed* at that time; jobs that ran become idle."""
    former = [JobRange(**job) for job in data["jobs"]]
    for job in former:
        for other in jobs.select(state, cluster=job.cluster, schedd=job.schedd):
            if part := other.part(job.first_proc, job.last_proc):
                return f"there is a job {job.cluster}.{part.first_proc} again"
    numbers = {number: jobs.ad_id(state, ad) for number, ad in data["ads"].items()}
    for job in former:
        job.ad_id = numbers[str(job.ad_id)]
        if job.status == JobStatus.RUNNING:
            job.status, job.status_date = int(JobStatus.IDLE), now
        ended_jobs.take_back(
            state, job.schedd, job.cluster, (job.first_proc, job.last_proc), JobStatus.REMOVED, removed
        )
    jobs.add(state, former)
    settle(state, {job.cluster for job in former if not job.schedd}, now)
    return restore_followers(state, (job.procs for job in former), removed, now)


def undo_change(state: State, kind: str, data: Mapping[str, Any], now: int) -> Problem:
    """Restore held, released, reordered or edited jobs to their former state; jobs that ran become idle."""
    former = [JobRange(**job) for job in data["jobs"]]
    for job in former:
        if problem := _differs(state, kind, job):
            return problem
    numbers = {number: jobs.ad_id(state, ad) for number, ad in data["ads"].items()} if kind == "edit" else {}
    for job in former:
        procs = [job.procs]
        if kind == "edit":
            jobs.change_many(
                state, procs, ad_id=numbers[str(job.ad_id)], own=job.own, template=job.template, submitter=job.submitter
            )
        elif kind == "prio":
            jobs.change_many(state, procs, priority=job.priority)
        elif job.status == JobStatus.RUNNING:
            jobs.set_status(state, procs, JobStatus.IDLE, now)
        else:
            code, subcode = job.hold_code, job.hold_subcode
            jobs.set_status(state, procs, job.status, job.status_date, job.reason, code, subcode)
    settle(state, {job.cluster for job in former if not job.schedd}, now)
    return None


def _differs(state: State, kind: str, former: JobRange) -> Problem:
    """Return how jobs differ since a change of this *kind*; None if they do not."""
    remaining = len(former)
    for job in jobs.select(state, cluster=former.cluster, schedd=former.schedd):
        part = job.part(former.first_proc, former.last_proc)
        if part is None:
            continue
        remaining -= len(part)
        if kind in _STATUS and job.status not in _STATUS[kind]:
            return f"job {job.cluster}.{part.first_proc} is {_NAMES.get(job.status, job.status)} now"
    return f"jobs of cluster {former.cluster} have left the queue since" if remaining else None
