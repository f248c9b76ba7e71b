"""Find a job's output and its events."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairq.common.past import EndedJob
from fairq.common.records import JobEvent, JobStatus, LaunchPhase
from fairq.errors.launch import NoOutputError, NoRunError
from fairq.state import ended_jobs, job_events, jobs, launches
from fairq.state.connection import reading
from fairq.steps.jobs.selection import Target, jobs_of, missing
from fairq.steps.launch.events import ABORTED, EXECUTING, SUBMITTED, TERMINATED
from fairq.steps.launch.launchers import runs_directory

_MAX_JOBS = 100_000
"""Maximum number of ended jobs of a cluster whose events are shown."""


def output_of(path: Path, cluster: int, proc: int, *, error: bool = False) -> Path:
    """Return the file with the standard output, or (*error*) standard error, of a job's last run.

    Raises:
        UnknownJobError: the job never existed.
        NoRunError: the job has not run yet.
    """
    with reading(path) as state:
        runs = launches.of_job(state, cluster, proc)
        if not runs and not jobs.select(state, cluster=cluster, proc=proc):
            raise missing(state, Target(f"{cluster}.{proc}", cluster, proc, proc))
    begun = [run for run in runs if run.phase is not LaunchPhase.INTENDED or run.ended]
    last = begun[-1] if begun else None
    name = None if last is None else last.error if error else last.output
    if last is None or name is None:
        raise NoRunError(job=f"{cluster}.{proc}")
    file = f"{last.name}/{'err' if error else 'out'}"
    # The run's directory may have moved together with the state.
    return runs_directory(path, last.launcher) / file if name.endswith(f".runs/{file}") else Path(name)


def open_output(path: Path, job: str, kind: str) -> int:
    """Open a file of output for reading; return its descriptor. Raises NoOutputError, also if it is not a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise NoOutputError(what=kind, job=job, path=path, reason=error.strerror) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NoOutputError(what=kind, job=job, path=path, reason="it is not a file")
    return descriptor


def has_ended(path: Path, cluster: int, proc: int) -> bool:
    """Return whether the last run of a job has ended, collected or not."""
    from fairq.launch import processes

    with reading(path) as state:
        live = [run for run in launches.live(state) if run.cluster == cluster and run.proc == proc]
    return not any(
        run.engine_id is not None or (run.pid is not None and processes.start_of(run.pid) == run.pid_start)
        for run in live
    )


def events_of(path: Path, cluster: int, proc: int | None) -> list[JobEvent]:
    """Return the events of a job, or of all jobs of a cluster, oldest first.

    For jobs that ended without a launcher, they come from the history. Raises UnknownJobError if there is no such job.
    """
    with reading(path) as state:
        recorded = job_events.of_job(state, cluster, proc)
        query = ended_jobs.Wanted(jobs=((cluster, proc, proc, None),))
        for _, ended in reversed(ended_jobs.page(state, query, _MAX_JOBS)):
            recorded += _events_of(ended, [event for event in recorded if _concerns(event, ended)])
        target = Target(str(cluster) if proc is None else f"{cluster}.{proc}", cluster, proc, proc)
        if not recorded and not jobs_of(state, target):
            raise missing(state, target)
    return sorted(recorded, key=lambda event: event.time)


def _concerns(event: JobEvent, ended: EndedJob) -> bool:
    return event.schedd == ended.schedd and event.first_proc <= ended.last_proc and ended.first_proc <= event.last_proc


def _events_of(ended: EndedJob, recorded: Sequence[JobEvent]) -> Iterator[JobEvent]:
    """Yield the events of an ended job that are not *recorded*."""
    procs = (ended.schedd, ended.cluster, ended.first_proc, ended.last_proc)
    is_completed = ended.status == JobStatus.COMPLETED
    if not recorded:
        yield JobEvent(0, ended.queue_date, *procs, SUBMITTED, {})
        if ended.start_time is not None:
            yield JobEvent(0, ended.start_time, *procs, EXECUTING, {"slot": ended.slot})
    if not any(event.number in (TERMINATED, ABORTED) for event in recorded):
        body = {"exit_code": ended.exit_code, "signal": ended.signal} if is_completed else {"reason": ended.reason}
        yield JobEvent(0, ended.end_time, *procs, TERMINATED if is_completed else ABORTED, body)
