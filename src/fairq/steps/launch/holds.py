"""Hold jobs for their policy, or because their own part of a step failed (`fairq.steps.launch.faults`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.common.records import Actor, Change, JobRange, JobStatus
from fairq.errors import alerts
from fairq.state import history, jobs, meta
from fairq.state.connection import State, writing
from fairq.steps.jobs.end import end_running
from fairq.steps.launch import events
from fairq.steps.launch.faults import Fault, Faults
from fairq.steps.launch.order import order_ends

if TYPE_CHECKING:
    from fairq.settings import Settings

JOB_ERRORS = "job_errors"
"""The key in the state for the number of jobs that were held for an unforeseen error."""


def hold(
    state: State, settings: Settings, actor: Actor, job: JobRange, reason: str, code: int, subcode: int = 0
) -> set[str]:
    """Hold jobs in the caller's transaction; return the names of those of their runs that must end first."""
    order: dict[str, Any] = {"how": "hold", "reason": reason, "code": code, "subcode": subcode}
    ordered, others = order_ends(state, [job], order)
    if ordered and not others:
        return ordered
    end_running(state, settings, [job], actor.time, "held")
    store_holds(state, [job], reason, code, actor.time, subcode=subcode)
    after = {"JobStatus": int(JobStatus.HELD), "HoldReason": reason}
    history.record(state, actor, [Change(f"job {job.name}", {"JobStatus": job.status}, after)])
    return ordered


def store_holds(
    state: State,
    ranges: Sequence[JobRange],
    reason: str,
    code: int,
    now: int,
    *,
    subcode: int = 0,
    always: bool = True,
) -> None:
    """Store that jobs without a run are held, and record the event; unless *always*, only for jobs with a log."""
    body = {"reason": reason, "code": code, "subcode": subcode}
    events.record(state, ranges, events.HELD, body, now, always=always)
    jobs.set_status(state, (job.procs for job in ranges), JobStatus.HELD, now, reason, code, subcode)


@contextmanager
def faults_held(
    path: Path, settings: Settings, actor: Actor, faults: Faults, end: Callable[[set[str]], object]
) -> Iterator[None]:
    """At the end of the body, also if it fails, hold the jobs with *faults*; count and report unforeseen ones.

    An error in the body has undone the transaction that held them. *end* collects the runs that must end first.
    """
    try:
        yield
    finally:
        held_faults, fresh = faults.take(), faults.take_fresh()
        if held_faults or fresh:
            with writing(path) as state:
                ordered = hold_faulty(state, settings, actor, [*held_faults, *fresh])
                meta.set(state, JOB_ERRORS, str(int(meta.get(state, JOB_ERRORS) or 0) + len(fresh)))
            for fault in fresh:
                alerts.LISTENER.get()(f"job {fault.procs.name} is held: {fault.reason}; please report it")
            if ordered:
                end(ordered)


def hold_faulty(state: State, settings: Settings, actor: Actor, faults: Iterable[Fault]) -> set[str]:
    """Hold the jobs with *faults* that are still in the queue and not held; return their runs that must end first."""
    ordered: set[str] = set()
    for fault in faults:
        procs = fault.procs
        proc = procs.first_proc if procs.first_proc == procs.last_proc else None
        for job in jobs.select(state, cluster=procs.cluster, proc=proc, schedd=procs.schedd):
            is_meant = procs.first_proc <= job.first_proc and job.last_proc <= procs.last_proc
            if is_meant and job.status != JobStatus.HELD:
                ordered |= hold(state, settings, actor, job, fault.reason, fault.code)
    return ordered
