"""The outcome of a job whose run has ended: completed, held, or idle again (docs/running.md, "Ends").

Source: the manual of condor_submit, "on_exit_hold" to "retry_until"; ``AnalyzePolicy`` and ``SetJobRetries``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.expression_form import without_attributes
from fairq.common.records import OVER_RESOURCES, UNFORESEEN, Ad, JobStatus, Launch
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.values import is_given, one_line, read, read_if_usable, read_literal

if TYPE_CHECKING:
    from fairq.settings import Settings


BY_USER = 1
BY_POLICY = 3
NOT_STARTED = 6
NO_OUTPUT = 7
NO_INPUT = 8
NO_DIRECTORY = 14
MISSED = 20
NO_LOG = 22
NO_ACCOUNT = 23
JOB_DURATION = 46
EXECUTE_DURATION = 47
SUBMITTED_ON_HOLD = 15
LOST = 26
"""HTCondor's hold codes (condor_holdcodes.h); a job lost too often is held with the code of the pool's policy."""

NO_TERMINAL = "its terminal is gone, or on another machine"

LATE = "it could not start within deferral_window of its deferral_time"

_HOLD_CODES = {
    "account": NO_ACCOUNT,
    "directory": NO_DIRECTORY,
    "input": NO_INPUT,
    "output": NO_OUTPUT,
    "error": NO_OUTPUT,
    "log": NO_LOG,
}
_PROBLEMS = {
    "account": "it cannot run as its owner {Owner}",
    "directory": "its working directory {Iwd} cannot be entered",
    "log": "its event log {UserLog} cannot be written",
    "scratch": "its scratch directory cannot be made",
    "input": "its input {In} cannot be opened",
    "output": "its output {Out} cannot be opened",
    "error": "its error file {Err} cannot be opened",
    "program": "its program {Cmd} cannot be started",
    "executable": "its program {Cmd} cannot be started",
}


_TIME_LIMITS = {
    "job_seconds": ("allowed_job_duration", "AllowedJobDuration", JOB_DURATION),
    "execute_seconds": ("allowed_execute_duration", "AllowedExecuteDuration", EXECUTE_DURATION),
}
"""The ends of runs that took too long: the command, its attribute, and the hold code."""


class Outcome(Struct, frozen=True):
    """The next *status* of a job, the recorded end of its run (*how*), and the reason and codes of a hold."""

    status: JobStatus
    how: str
    reason: str | None = None
    code: int | None = None
    subcode: int | None = None


def outcome(
    launch: Launch, ad: Ad, facts: dict[str, Any], former: Sequence[Launch], settings: Settings, now: int
) -> Outcome:
    """Return the outcome of the job with this *ad*, whose run ended with *facts*; *former* are its ended runs."""
    order = launch.ordered or {}
    ended = facts["reason"]
    if order.get("how") == "remove":
        return Outcome(JobStatus.REMOVED, "removed", order.get("reason"))
    if ended == "exit":
        decided = _at_exit(ad, facts, former, now)
        if order.get("how") != "hold" or decided.status == JobStatus.COMPLETED:
            return decided
    if order.get("how") == "hold":
        return Outcome(JobStatus.HELD, "held", order.get("reason"), order.get("code"), order.get("subcode"))
    if order.get("how") == "withdraw":
        return Outcome(JobStatus.IDLE, "withdrawn", order.get("reason"))
    if order:
        return Outcome(JobStatus.IDLE, "preempted", order.get("reason"))
    return _cut_short(ad, facts, former, settings, now)


def _cut_short(ad: Ad, facts: dict[str, Any], former: Sequence[Launch], settings: Settings, now: int) -> Outcome:
    ended = facts["reason"]
    if ended in ("start", "hangup"):
        return _not_begun(ad, facts, now)
    if ended == "memory":
        limit, by = facts["memory_limit_mb"], facts["memory_limit_held_by"]
        used = max(facts["peak_memory_kb"] // 1024, limit or 0)
        by_whom = "the kernel enforced it" if by == "kernel" else "the supervisor watched it"
        reason = (
            f"it used {used} MB of memory, more than its limit of {limit} MB ({by_whom}); submit it with more memory"
        )
        return Outcome(JobStatus.HELD, "held", reason, OVER_RESOURCES, 102)
    if ended in _TIME_LIMITS:
        command, attribute, code = _TIME_LIMITS[ended]
        reason = f"it ran longer than {command}{_seconds(ad, attribute, now)}"
        return Outcome(JobStatus.HELD, "held", reason, code, 0)
    if ended == "late":
        return Outcome(JobStatus.HELD, "held", LATE, MISSED, 0)
    if ended == "engine":
        return Outcome(JobStatus.HELD, "held", one_line(facts["detail"]), facts["code"], facts.get("subcode", 0))
    return _lost(ad, facts, former, settings, now)


def _not_begun(ad: Ad, facts: dict[str, Any], now: int) -> Outcome:
    """Return the outcome of a job whose program did not begin, or has lost its terminal."""
    if facts["reason"] == "hangup" or facts["step"] == "terminal":
        return Outcome(JobStatus.REMOVED, "removed", NO_TERMINAL)
    problem = _PROBLEMS.get(facts["step"], f"it cannot be started ({facts['step']})")
    names = {name: read_if_usable(ad, name, now) for name in ("Iwd", "In", "Out", "Err", "Cmd", "UserLog", "Owner")}
    # The detail may quote the first line of a script.
    reason = one_line(f"{problem.format(**names)}: {facts['detail']}")
    return Outcome(JobStatus.HELD, "held", reason, _HOLD_CODES.get(facts["step"], NOT_STARTED), facts["errno"])


def _seconds(ad: Ad, name: str, now: int) -> str:
    """Return the duration in words; empty if it cannot be evaluated without the slot."""
    seconds = read_if_usable(ad, name, now)
    return "" if seconds is None else f", {seconds:g} s"


def _lost(ad: Ad, facts: dict[str, Any], former: Sequence[Launch], settings: Settings, now: int) -> Outcome:
    retries = read(ad, "JobMaxRetries", now)
    maximum = settings["launch.max_lost"] if retries is None else retries
    lost = 1 + sum((run.ended or {}).get("reason") in ("lost", "terminated") for run in former)
    detail = facts.get("detail") or "its supervisor was ended"
    if lost > maximum:
        reason = f"{lost} of its runs were lost, more than {maximum}; the last one because {detail}"
        return Outcome(JobStatus.HELD, "lost", reason, LOST, 0)
    return Outcome(JobStatus.IDLE, "lost", f"its run was lost: {detail}")


def exit_ad(ad: Ad, facts: dict[str, Any], former: Sequence[Launch]) -> Ad:
    """Return *ad* with its attributes at the exit: either the exit code or the signal is absent."""
    completions = 1 + sum((run.ended or {}).get("reason") == "exit" for run in former)
    replaced = {"exitcode", "exitsignal", "exitbysignal", "numjobcompletions", "numjobstarts", "jobstatus"}
    attributes = without_attributes(ad, replaced)
    attributes |= {"JobStatus": 2, "NumJobCompletions": completions, "NumJobStarts": 1 + len(former)}
    return {**attributes, **at_exit(facts)}


def at_exit(facts: dict[str, Any]) -> Ad:
    """Return the attributes that describe an exit."""
    if facts.get("signal") is not None:
        return {"ExitBySignal": True, "ExitSignal": facts["signal"], "JobCoreDumped": facts.get("core", False)}
    return {"ExitBySignal": False, "ExitCode": facts.get("exit_code")}


def _at_exit(ad: Ad, facts: dict[str, Any], former: Sequence[Launch], now: int) -> Outcome:
    attributes = exit_ad(ad, facts, former)
    if read(attributes, "OnExitHold", now):
        reason = read(attributes, "OnExitHoldReason", now) or "on_exit_hold is true"
        return Outcome(JobStatus.HELD, "held", reason, BY_POLICY, read(attributes, "OnExitHoldSubCode", now) or 0)
    if _leaves(attributes, now):
        return Outcome(JobStatus.COMPLETED, "finished")
    return Outcome(JobStatus.IDLE, "requeued", "on_exit_remove is false")


def _leaves(attributes: Ad, now: int) -> bool:
    """Return whether the job leaves the queue, according to on_exit_remove or the retry commands."""
    retries, until = read(attributes, "JobMaxRetries", now), read(attributes, "RetryUntil", now)
    on_exit_remove, success = read(attributes, "OnExitRemove", now), read(attributes, "JobSuccessExitCode", now)
    if retries is None and not is_given(attributes, "RetryUntil") and success is None:
        return on_exit_remove is not False
    code = attributes.get("ExitCode")
    if attributes["NumJobCompletions"] > (_DEFAULT_RETRIES if retries is None else retries) or code == (success or 0):
        return True
    if until is True or (until is not None and not isinstance(until, bool) and code == until):
        return True
    # A literal true is the default: the job has no on_exit_remove of its own.
    return bool(on_exit_remove) and read_literal(attributes, "OnExitRemove") is not True


_DEFAULT_RETRIES = 2
"""HTCondor's DEFAULT_JOB_MAX_RETRIES."""


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
