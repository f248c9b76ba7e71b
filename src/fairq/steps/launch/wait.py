"""Wait until jobs have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import Actor, JobStatus
from fairq.errors.pool import NoMatchingJobError
from fairq.launch.wait import stamp, wait
from fairq.state import batches, job_events, jobs, launches, runs
from fairq.state.connection import State, reading
from fairq.state.location import elsewhere_of, resolve
from fairq.steps.jobs.selection import Target, jobs_of, missing
from fairq.steps.launch import events
from fairq.steps.launch.collect import collect
from fairq.steps.launch.launchers import opened

if TYPE_CHECKING:
    from fairq.settings import Settings

_SIGNALLED = 128
_MAX_PAUSE = 5.0
"""Maximum seconds between two checks of the jobs."""

Job = tuple[int, int]


class JobResult(Struct, frozen=True):
    """The status of a job: *ended* with a *code* (128 + number for a signal), *removed*, *held*, or *pending*."""

    job: str
    how: str
    code: int = 0
    reason: str | None = None


def wait_for(
    path: Path,
    settings: Settings,
    targets: Iterable[Target],
    actor: Callable[[], Actor],
    *,
    timeout: float | None = None,
    any_of_them: bool = False,
) -> list[JobResult]:
    """Wait until all jobs of *targets* (or one of them, with *any_of_them*) have ended, are held or removed.

    Meanwhile, ended runs are collected, unless the state may only be read. After *timeout* seconds, the current
    results are returned.

    Raises:
        UnknownJobError, NoMatchingJobError: the job never existed.
    """
    state_file = resolve(path)
    end = None if timeout is None else time.monotonic() + timeout
    with opened(path, settings) as launchers:
        awaited: list[Job] = []
        while True:
            last_stamp = stamp(state_file)
            if not elsewhere_of(path):
                collect(path, settings, launchers, actor())
            events.flush(path, settings)
            with reading(path) as state:
                awaited = awaited or _named(state, targets, actor().user)
                results = [_result_of(state, job) for job in awaited]
                live = [launch for launch in launches.live(state) if (launch.cluster, launch.proc) in set(awaited)]
            pending = [item for item in results if item.how == "pending"]
            if not pending or (any_of_them and len(pending) < len(results)):
                return results
            longest = settings["launch.poll"] if launchers.engines(live) else _MAX_PAUSE
            seconds = longest if end is None else min(longest, end - time.monotonic())
            if seconds <= 0:
                return results
            watched = {launch.process for launch in live if launch.process}
            if stamp(state_file) == last_stamp:
                wait(state_file, last_stamp, watched, seconds)


def _named(state: State, targets: Iterable[Target], user: str) -> list[Job]:
    named: dict[Job, None] = {}
    for target in (part for whole in targets for part in _of_batch(state, whole, user)):
        if target.cluster is None:
            owned = jobs_of(state, target)
            if not owned:
                raise NoMatchingJobError(condition=f"belongs to {target.owner!r}")
            named |= {(job.cluster, proc): None for job in owned for proc in job.numbers}
            continue
        procs = {
            *(proc for job in jobs.select(state, cluster=target.cluster) for proc in job.numbers),
            *launches.last_of_cluster(state, target.cluster),
            *(run.proc for run in runs.load(state, cluster=target.cluster)),
            *(proc for event in job_events.of_job(state, target.cluster)
              for proc in range(event.first_proc, event.last_proc + 1)),
        }  # fmt: skip
        first, last = target.first_proc, target.last_proc
        chosen = sorted(proc for proc in procs if first is None or last is None or first <= proc <= last)
        if not chosen and not (target.is_one_job and procs):
            raise missing(state, target)
        named |= {(target.cluster, proc): None for proc in chosen or [first or 0]}
    return list(named)


def _of_batch(state: State, target: Target, user: str) -> list[Target]:
    """Return the clusters of the *user*'s batch that *target* names, if it names nobody who has jobs; else *target*."""
    if target.owner is None or jobs_of(state, target):
        return [target]
    return [Target(str(cluster), cluster) for cluster in batches.of_owner(state, user, target.owner)] or [target]


def _result_of(state: State, job: Job) -> JobResult:
    cluster, proc = job
    name = f"{cluster}.{proc}"
    queued = jobs.select(state, cluster=cluster, proc=proc)
    if queued and queued[0].status != JobStatus.COMPLETED:
        if queued[0].status == JobStatus.HELD:
            return JobResult(name, "held", reason=queued[0].reason)
        return JobResult(name, "pending")
    last = [run for run in runs.load(state, cluster=cluster, proc=proc) if run.how in ("finished", "removed")]
    if not last or last[-1].how == "removed":
        return JobResult(name, "removed")
    launched = launches.of_job(state, cluster, proc)
    facts = (launched[-1].ended or {}) if launched else {}
    if facts.get("signal") is not None:
        return JobResult(name, "ended", _SIGNALLED + facts["signal"])
    return JobResult(name, "ended", last[-1].exit_code or 0)
