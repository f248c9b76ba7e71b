"""One report about all jobs of a cluster when the last one has ended: a mail, or the owner's command in its place.

The report is sent before the state records it: after a crash in between, it is sent again.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.past import EndedJob
from fairq.common.quantities import counted, shown_time
from fairq.common.records import Ad, JobStatus
from fairq.errors.base import CycleUnderWayError
from fairq.state import ended_jobs, job_ads, jobs
from fairq.state.connection import reading, writing
from fairq.state.cycle_lock import MAIL, cycle_lock
from fairq.steps.jobs.conditions import has_failed
from fairq.steps.launch.launchers import runs_as_owner
from fairq.steps.launch.values import read_if_usable
from fairq.steps.mail import Mailer

if TYPE_CHECKING:
    from fairq.settings import Settings

COMMAND = "NotifyCommand"
"""The attribute of jobs with a command in place of the mail."""

_MAX_JOBS = 100_000
_MAX_NAMES = 10
"""Number of failed jobs that are named."""
_TIMEOUT = 30.0
"""Seconds that a command may take."""


def report_ended(path: Path, settings: Settings, now: int) -> list[str]:
    """Report the clusters of which the last job has ended; return error messages."""
    with reading(path) as state:
        if not ended_jobs.unreported(state):
            return []
    try:
        with cycle_lock(path, MAIL):
            return _report_ended(path, settings, now)
    except CycleUnderWayError:
        return []  # another process reports them


def _report_ended(path: Path, settings: Settings, now: int) -> list[str]:
    notes: list[str] = []
    with reading(path) as state:
        clusters = [
            number for number in ended_jobs.unreported(state) if not jobs.select(state, cluster=number, schedd="")
        ]
    for cluster in clusters:
        with reading(path) as state:
            query = ended_jobs.Wanted(jobs=((cluster, None, None, ""),))
            ended = [job for _, job in ended_jobs.page(state, query, _MAX_JOBS)]
            ads = job_ads.ads(state, {job.ad_id for job in ended})
        if ended:
            problem = _report(cluster, sorted(ended, key=lambda job: job.first_proc), ads, settings, now)
            notes += [] if problem is None else [problem]
        with writing(path) as state:
            ended_jobs.set_unreported(state, {*ended_jobs.unreported(state)} - {cluster})
    return notes


def _report(cluster: int, ended: Sequence[EndedJob], ads: dict[int, Ad], settings: Settings, now: int) -> str | None:
    first = ended[0]
    ad = first.ad_of(ads[first.ad_id], first.first_proc)
    failed_jobs = [job for job in ended if has_failed(job, ads[job.ad_id], now)]
    count, failed = sum(map(len, ended)), sum(map(len, failed_jobs))
    summary = f"{counted(count, 'job')} of cluster {cluster} ended, {failed or 'none'} without success"
    text = "\n".join([f"{summary}.", "", *_lines(ad, ended, failed_jobs, now)]) + "\n"
    command = read_if_usable(ad, COMMAND, now)
    if isinstance(command, str) and command:
        if runs_as_owner(settings):
            return f"NotifyCommand of cluster {cluster} was not run: the pool of a host sends mail only"
        facts = {"FAIRQ_CLUSTER": str(cluster), "FAIRQ_JOBS": str(count), "FAIRQ_FAILED": str(failed)}
        return _run(cluster, command, text, facts)
    to = read_if_usable(ad, "NotifyUser", now) or first.owner
    return Mailer.of(settings).send(str(to), f"fairq: {summary}", text)


def _lines(ad: Ad, ended: Sequence[EndedJob], failed_jobs: Sequence[EndedJob], now: int) -> list[str]:
    name = ad.get("JobBatchName")
    lines = [f"Batch:     {name}"] if name else []
    lines.append(f"Submitted: {shown_time(ended[0].queue_date)}")
    lines.append(f"Ended:     {shown_time(max(job.end_time for job in ended))}")
    directory, output = (read_if_usable(ad, name, now) for name in ("Iwd", "Out"))
    if output:
        others = " and those of the others" if sum(map(len, ended)) > 1 else ""
        lines.append(f"Output:    {Path(directory or '/') / output}{others}")
    lines += [f"{job.name} {_end_of(job)}" for job in failed_jobs[:_MAX_NAMES]]
    return [*lines, f"and {len(failed_jobs) - _MAX_NAMES} more"] if len(failed_jobs) > _MAX_NAMES else lines


def _end_of(job: EndedJob) -> str:
    if job.status != JobStatus.COMPLETED:
        return f"was removed{f': {job.reason}' if job.reason else ''}"
    return f"ended by signal {job.signal}" if job.signal is not None else f"ended with exit code {job.exit_code}"


def _run(cluster: int, command: str, text: str, facts: dict[str, str]) -> str | None:
    """Run the *command* of an owner with *text* as its input; return an error message or None."""
    problem = f"NotifyCommand of cluster {cluster} failed"
    try:
        process = subprocess.run(
            shlex.split(command), input=text.encode("utf-8", "surrogateescape"), env={**os.environ, **facts},
            capture_output=True, timeout=_TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"{problem}: {error}"
    return f"{problem}: exit code {process.returncode}" if process.returncode else None
