"""The verdict on a job whose run has ended, by its owner's policies, with the figures of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.records import UNFORESEEN, Ad, JobStatus, Launch
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.outcome import Outcome, exit_ad, outcome
from fairq.steps.launch.values import read, read_if_usable

if TYPE_CHECKING:
    from fairq.settings import Settings


class Verdict(Struct, frozen=True):
    """The outcome of a job, the figures of its run for the events, and whether it *stays* in the queue."""

    outcome: Outcome
    usage: dict[str, Any]
    stays: bool


def verdict(launch: Launch, ad: Ad, former: Sequence[Launch], settings: Settings, now: int, faults: Faults) -> Verdict:
    """Return the verdict of the policies in the *ad* of the job on the end of a run; hold the job if they are unusable.

    *former* are its runs that ended before.
    """
    facts = launch.ended or {}
    is_known = (launch.ordered or {}).get("code") == UNFORESEEN
    procs = launch.procs
    with faults.apart(procs, again=is_known):
        job_outcome = outcome(launch, ad, facts, former, settings, now)
        stays = job_outcome.status is JobStatus.COMPLETED and _stays(ad, facts, former, now)
        return Verdict(job_outcome, _usage(launch, ad, former, now), stays)
    *_, fault = faults.take(procs)
    held = Outcome(JobStatus.HELD, "held", fault.reason, fault.code, 0)
    return Verdict(held, _usage(launch, {}, former, now), False)


def _stays(ad: Ad, facts: dict[str, Any], former: Sequence[Launch], now: int) -> bool:
    """Return whether a completed job stays in the queue (leave_in_queue); later turns ask again."""
    attributes = {**exit_ad(ad, facts, former), "JobStatus": int(JobStatus.COMPLETED)}
    return bool(read(attributes, "LeaveJobInQueue", now))


def _usage(launch: Launch, ad: Ad, former: Sequence[Launch], now: int) -> dict[str, Any]:
    """Return the figures of a run's end for the events: CPU seconds of this run and of all runs, and memory in MB."""
    facts = launch.ended or {}
    user, system = facts.get("user_seconds", 0.0), facts.get("system_seconds", 0.0)
    request = int(read_if_usable(ad, "RequestMemory", now) or 0)
    return {
        "exit_code": facts.get("exit_code"),
        "signal": facts.get("signal"),
        "user": user,
        "system": system,
        "total_user": user + sum((run.ended or {}).get("user_seconds", 0.0) for run in former),
        "total_system": system + sum((run.ended or {}).get("system_seconds", 0.0) for run in former),
        "wall": max(0.0, facts.get("ended", 0.0) - facts.get("started", 0.0)),
        "memory": -(-int(facts.get("peak_memory_kb", 0)) // 1024),
        "request_cpus": int(read_if_usable(ad, "RequestCpus", now) or 1),
        "request_memory": request,
        "allocated_memory": int(facts.get("memory_limit_mb") or request),
        "slot": launch.slot,
    }
