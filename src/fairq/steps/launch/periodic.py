"""periodic_hold, periodic_release, periodic_remove and leave_in_queue, evaluated once in each turn.

An interactive job that does not run is removed once the command has ended that waits for it.

Source: the manual of condor_submit; the order of ``UserPolicy::AnalyzePolicy``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.interactive import INTERACTIVE, TERMINAL
from fairq.common.records import UNFORESEEN, UNUSABLE, Actor, Ad, Change, JobRange, JobStatus, Launch
from fairq.common.waits import UNMET
from fairq.launch.supervisor.terminal import is_heard
from fairq.state import claims, history, jobs, launches
from fairq.state.connection import State, reading, writing
from fairq.steps.jobs.end import end_running
from fairq.steps.jobs.end_records import take_from_queue
from fairq.steps.jobs.waits import settle
from fairq.steps.launch import events
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.holds import hold
from fairq.steps.launch.order import order_ends
from fairq.steps.launch.outcome import BY_POLICY, BY_USER, NO_TERMINAL, at_exit
from fairq.steps.launch.values import read

if TYPE_CHECKING:
    from fairq.settings import Settings

_HOLD, _RELEASE, _REMOVE = "PeriodicHold", "PeriodicRelease", "PeriodicRemove"
_LEAVE = "LeaveJobInQueue"
POLICIES = (_HOLD, _RELEASE, _REMOVE, _LEAVE)


class Due(Struct, frozen=True):
    """A job for which a policy became true, with the action and its reason."""

    job: JobRange
    policy: str
    reason: str
    subcode: int = 0
    code: int = BY_POLICY


def apply_periodic(path: Path, settings: Settings, actor: Actor, faults: Faults) -> None:
    """Apply the periodic policies of the queue's own jobs at the actor's time; note *faults*."""
    with reading(path) as state:
        if not any(True for _ in _due(state, actor.time, Faults())):
            return
    with writing(path) as state:
        store_periodic(state, settings, actor, faults)


def store_periodic(state: State, settings: Settings, actor: Actor, faults: Faults) -> None:
    """Do the same as `apply_periodic` in the caller's transaction."""
    for due in list(_due(state, actor.time, faults)):
        _apply(state, settings, actor, due)


def _due(state: State, now: int, faults: Faults) -> Iterator[Due]:
    ranges = jobs.with_policies(state, (*POLICIES, INTERACTIVE))
    shared = jobs.ads(state, {job.ad_id for job in ranges})
    faulty = {run.procs for run in launches.live(state) if (run.ordered or {}).get("code") == UNFORESEEN}
    for job_group in ranges:
        # Jobs that run or ran differ in start, end and number of runs: evaluate each one.
        is_divided = job_group.status in (JobStatus.RUNNING, JobStatus.COMPLETED) or job_group.template is not None
        for job in job_group.each() if is_divided else [job_group]:
            if job.procs in faulty or (job.status == JobStatus.HELD and job.hold_code == UNFORESEEN):
                continue
            extra = _extra_attributes(state, job)
            due = None
            with faults.apart(job.procs):
                due = _of_job(job, {**job.ad_of(shared[job.ad_id], job.first_proc), **extra}, now)
            for fault in faults.take(job.procs):
                if job.status != JobStatus.HELD or fault.code == UNFORESEEN:
                    due = Due(job, _HOLD, fault.reason, 0, fault.code)
            if due is not None:
                yield due


def _extra_attributes(state: State, job: JobRange) -> Ad:
    """Return attributes that the policies may read beyond those of the queue's ad."""
    attributes: Ad = {}
    if job.status == JobStatus.HELD:
        attributes |= {"HoldReason": job.reason, "HoldReasonCode": job.hold_code, "HoldReasonSubCode": job.hold_subcode}
    if len(job) == 1:
        runs = launches.of_job(state, job.cluster, job.first_proc)
        ended = [run for run in runs if run.ended]
        attributes["NumJobStarts"] = len(runs)
        attributes["NumJobCompletions"] = sum((run.ended or {}).get("reason") == "exit" for run in ended)
        attributes["NumHolds"] = sum(_was_held(run) for run in ended)
        if job.status == JobStatus.COMPLETED and ended:
            attributes |= {**at_exit(ended[-1].ended or {}), "CompletionDate": job.status_date}
    if job.status == JobStatus.RUNNING:
        for claim in claims.of_procs(state, [job.procs._replace(last_proc=job.first_proc)]):
            attributes |= {"JobCurrentStartDate": claim.start_time, "JobStartDate": claim.start_time}
    return {name: value for name, value in attributes.items() if value is not None}


def _was_held(run: Launch) -> bool:
    return (run.ended or {}).get("reason") in ("start", "memory", "job_seconds", "execute_seconds", "hold")


def _of_job(job: JobRange, ad: Ad, now: int) -> Due | None:
    if job.status == JobStatus.COMPLETED and not read(ad, _LEAVE, now):
        return Due(job, _LEAVE, "leave_in_queue is false")
    if job.status not in (JobStatus.HELD, JobStatus.COMPLETED) and read(ad, _HOLD, now):
        reason = read(ad, "PeriodicHoldReason", now) or "periodic_hold is true"
        return Due(job, _HOLD, reason, read(ad, "PeriodicHoldSubCode", now) or 0)
    # Only the user may release a hold that the user requested, or a job that would be held again at its next start.
    if job.status == JobStatus.HELD and job.hold_code not in (BY_USER, UNUSABLE, UNMET) and read(ad, _RELEASE, now):
        return Due(job, _RELEASE, "periodic_release is true")
    if job.status != JobStatus.RUNNING and (address := read(ad, TERMINAL, now)) and not is_heard(address):
        return Due(job, _REMOVE, NO_TERMINAL)
    if read(ad, _REMOVE, now):
        return Due(job, _REMOVE, "periodic_remove is true")
    return None


def _apply(state: State, settings: Settings, actor: Actor, due: Due) -> None:
    if due.policy == _HOLD:
        hold(state, settings, actor, due.job, due.reason, due.code, due.subcode)
        return
    now, procs = actor.time, [due.job.procs]
    if due.policy == _REMOVE:
        ordered, others = order_ends(state, [due.job], {"how": "remove", "reason": due.reason})
        if ordered and not others:
            return
        end_running(state, settings, [due.job], now, "removed")
    if due.policy == _RELEASE:
        after: dict[str, Any] = {"JobStatus": int(JobStatus.IDLE), "ReleaseReason": due.reason}
        events.record(state, [due.job], events.RELEASED, {"reason": due.reason}, now, always=True)
        jobs.set_status(state, procs, JobStatus.IDLE, now)
        settle(state, [due.job.cluster], now)
    elif due.policy == _LEAVE:
        after = {"JobStatus": int(JobStatus.COMPLETED), "LeaveJobInQueue": False}
        take_from_queue(state, [due.job], JobStatus.COMPLETED, now)
    else:
        after = {"JobStatus": int(JobStatus.REMOVED), "RemoveReason": due.reason}
        events.record(state, [due.job], events.ABORTED, {"reason": due.reason}, now, always=True)
        take_from_queue(state, [due.job], JobStatus.REMOVED, now, due.reason)
    history.record(state, actor, [Change(f"job {due.job.name}", {"JobStatus": due.job.status}, after)])
