"""Find a job's output and its events."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fairq.errors.launch import NoOutputError, NoRunError
from fairq.errors.pool import UnknownJobError
from fairq.records import JobEvent, LaunchPhase
from fairq.state import job_events, jobs, launches
from fairq.state.connection import reading
from fairq.steps.launch.launchers import runs_directory


def output_of(path: Path, cluster: int, proc: int, *, error: bool = False) -> Path:
    """Return the file with the standard output, or (*error*) standard error, of a job's last run.

    Raises:
        UnknownJobError: the job never existed.
        NoRunError: the job has not run yet.
    """
    with reading(path) as state:
        found = launches.of_job(state, cluster, proc)
        if not found and not jobs.select(state, cluster=cluster, proc=proc):
            raise UnknownJobError(job=f"{cluster}.{proc}")
    begun = [one for one in found if one.phase is not LaunchPhase.INTENDED or one.ended]
    last = begun[-1] if begun else None
    name = None if last is None else last.error if error else last.output
    if last is None or name is None:
        raise NoRunError(job=f"{cluster}.{proc}")
    kept = f"{last.name}/{'err' if error else 'out'}"
    # The run's directory may have moved together with the state.
    return runs_directory(path, last.launcher) / kept if name.endswith(f".runs/{kept}") else Path(name)


def open_output(place: Path, job: str, what: str) -> int:
    """Open a file of output for reading; return its descriptor. Raises NoOutputError, also if it is not a file."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise NoOutputError(what=what, job=job, path=place, reason=error.strerror) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NoOutputError(what=what, job=job, path=place, reason="it is not a file")
    return descriptor


def has_ended(path: Path, cluster: int, proc: int) -> bool:
    """Tell whether the last run of a job has ended, collected or not."""
    from fairq.launch import processes

    with reading(path) as state:
        live = [one for one in launches.live(state) if one.cluster == cluster and one.proc == proc]
    return not any(
        one.engine_id is not None or (one.pid is not None and processes.start_of(one.pid) == one.pid_start)
        for one in live
    )


def events_of(path: Path, cluster: int, proc: int | None) -> list[JobEvent]:
    """Return the events of a job, or of a whole cluster, oldest first; raises UnknownJobError if there are none."""
    with reading(path) as state:
        found = job_events.of_job(state, cluster, proc)
        known = bool(found) or any(
            proc is None or job.first_proc <= proc <= job.last_proc for job in jobs.select(state, cluster=cluster)
        )
    if not known:
        raise UnknownJobError(job=str(cluster) if proc is None else f"{cluster}.{proc}")
    return found
