"""The condition of a run, from the files of its supervisor, checked against Slurm's record of the job."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.launch.interface import Condition, JsonObject, Look, Queued
from fairq.launch.slurm.attempt import Attempt
from fairq.launch.slurm.queue import Record
from fairq.launch.supervisor import record

_PATIENCE = 15.0
"""Seconds after Slurm ended a job until the end written by its supervisor is visible here."""

_SURVIVAL = 600.0
"""Seconds after Slurm ended a job until it is lost although its supervisor lives, e.g. on a node that is cut off."""

_TIME_LIMIT, _MEMORY = 47, 34
_LIMITS = {
    "TIMEOUT": ("it reached the time limit of its batch job", _TIME_LIMIT),
    "DEADLINE": ("it reached its deadline in Slurm", _TIME_LIMIT),
    "OUT_OF_MEMORY": ("Slurm killed it, because it used more memory than its batch job has", _MEMORY),
}
"""For each state of Slurm that puts a job on hold: the reason, and HTCondor's hold code."""


class Files(Struct, frozen=True):
    """The contents of a run's directory: its begin, and its end. It is *watched* while its supervisor lives."""

    begun: dict[str, Any] | None
    end: JsonObject | None
    watched: bool = False
    since: float | None = None

    @classmethod
    def of(cls, path: Path) -> Files:
        """Read the files in the directory *path*."""
        try:
            directory = record.open_directory(str(path))
        except OSError:
            return cls(None, None)
        try:
            begun = record.read(directory, "begun")
            since = os.stat("begun", dir_fd=directory).st_mtime if begun else None
            watched = begun is not None and record.is_locked(directory)
            # Read the end last: a living supervisor may write it meanwhile.
            return cls(begun, record.read_end(directory), watched, since)
        finally:
            os.close(directory)

    @property
    def is_cancelled(self) -> bool:
        """Whether the run was cancelled before it began."""
        return bool(self.begun and self.begun.get("cancelled"))


ExitStatus = Callable[[str], "tuple[int, int] | None"]
"""Asks Slurm for a job's exit status and the signal that ended it."""


def of_job(job: Record, files: Files, exit_status: ExitStatus, path: Path) -> Look:
    """Return the condition of a run that Slurm has a record of; *exit_status* asks Slurm for a job's exit status."""
    queued = Queued(job.id)
    if job.is_waiting:
        if files.begun and not files.is_cancelled:
            return Look(Condition.STRAY, queued, detail=f"Slurm requeued {job.id}; it is being cancelled")
        return Look(Condition.QUEUED, queued, detail=job.reason)
    if not job.has_ended:
        return Look(Condition.RUNNING, queued, since=job.start)
    return _of_ended(job, files, exit_status, path)


def _of_ended(job: Record, files: Files, exit_status: ExitStatus, path: Path) -> Look:
    queued = Queued(job.id)
    if job.end is None or job.start is None or _never_began(job, files):
        return Look(Condition.LOST, queued, detail=f"Slurm ended {job.id} before it began ({job.state})")
    patience = _SURVIVAL if files.watched else _PATIENCE
    if files.end is None and 0 <= time.time() - job.end < patience and not files.is_cancelled:
        return Look(Condition.RUNNING, queued, since=job.start)
    since, until = _held_period(job, files.end)
    facts = _facts(job, files, exit_status, path)
    if facts is None:
        return Look(Condition.LOST, queued, detail=_lost_detail(job), since=since, until=until)
    return Look(Condition.ENDED, queued, facts, since=since, until=until)


def without_job(queued: Queued | None, attempt: Attempt | None, files: Files) -> Look:
    """Return the condition of a run that Slurm has no record of."""
    if files.end is not None:
        return Look(Condition.ENDED, queued, files.end, since=files.end["started"], until=files.end["ended"])
    if attempt is not None and attempt.may_be_under_way:
        return Look(Condition.UNKNOWN, queued, detail="a call of sbatch was cut short; Slurm is asked again")
    if files.watched:
        # The controller may have lost its state. The job still runs, and must not be started again.
        return Look(Condition.RUNNING, queued, since=files.since)
    if files.begun and not files.is_cancelled:
        return Look(Condition.LOST, queued, detail="Slurm has no record of it any more, and it wrote no end")
    if queued is not None or files.is_cancelled:
        return Look(Condition.LOST, queued, detail="it ended in Slurm before it began")
    return Look(Condition.WAITING)


def _never_began(job: Record, files: Files) -> bool:
    return job.state == "CANCELLED" and job.start == job.end and (files.begun is None or files.is_cancelled)


def _facts(job: Record, files: Files, exit_status: ExitStatus, path: Path) -> JsonObject | None:
    """Return the facts of an ended run; None if nothing says how the job ended."""
    if files.end is not None:
        return _with_reason(files.end, job.state)
    if job.state in _LIMITS:
        return _limit_facts(job.state, {})
    if files.begun is None and job.state == "FAILED":
        return _unbegun_facts(job, exit_status(job.id), path)
    return None


def _held_period(job: Record, end: JsonObject | None) -> tuple[float | None, float | None]:
    """Return when Slurm began and ceased to hold resources; its record of a requeued job has only the last period."""
    if end is not None and job.start is not None and job.start > end["ended"]:
        return end["started"], end["ended"]
    return job.start, job.end


def _with_reason(end: JsonObject, state: str) -> JsonObject:
    """Return the facts of an end, with Slurm's reason if fairq did not order it."""
    if end["reason"] != "terminated":
        return end
    if state in _LIMITS:
        return _limit_facts(state, end)
    return {**end, "detail": f"Slurm ended it ({state})"}


def _limit_facts(state: str, end: JsonObject) -> JsonObject:
    detail, code = _LIMITS[state]
    return {**end, "reason": "engine", "detail": detail, "code": code}


def _unbegun_facts(job: Record, status: tuple[int, int] | None, path: Path) -> JsonObject:
    """Return the facts of a batch job that ended before its supervisor began."""
    try:
        last_line = (path / "batch").read_text(errors="replace").strip().splitlines()[-1:]
    except OSError:
        last_line = []
    hint = (
        last_line[0] if last_line else f"is {path.parent} the same directory there, and is launch.slurm.python there?"
    )
    code = "" if status is None else f" with exit code {status[0]}"
    detail = f"its batch job {job.id} ended on {job.node}{code}: {hint}"
    return {"reason": "start", "step": "Slurm", "errno": 0, "detail": detail, "exit_code": None, "signal": None}


def _lost_detail(job: Record) -> str:
    reason = "" if job.reason in ("None", "") else f", {job.reason}"
    return f"Slurm ended {job.id} on {job.node or 'no node'} ({job.state}{reason})"
