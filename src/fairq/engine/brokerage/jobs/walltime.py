"""Walltime of a job compared with the limits of a queue (docs/panda.md, Estimates).

A queue's time limit is compared as the work that fits into it, which needs no division: HS06 seconds for a task that
states its CPU time so, else seconds times cores.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.jobs.atom import Atom
from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.jobs.units import cpu_time_per_event, is_hs06
from fairq.engine.brokerage.pool.model import Queue

Numbers = Any
"""A number, or an array of them for many queues."""

DAY = 24 * 3600
"""Seconds that a queue must offer for jobs of unknown duration."""

FOR_EVER = 10**18
"""Upper limit of computed seconds."""

HS06_OF_CORE = 10
"""HS06 of a core by which that day is counted."""


class Pace(NamedTuple):
    """What a task states of the pace of its jobs: the unit of CPU time, seconds before it, per cent of efficiency."""

    cpu_time_unit: str | None
    base_walltime: float | None
    cpu_efficiency: float | None

    @classmethod
    def of(cls, task: Task) -> Pace:
        """Return the pace of a task's jobs."""
        return cls(task.cpu_time_unit, task.base_walltime, task.cpu_efficiency)


class JobWork(Struct, frozen=True, gc=False):
    """What a task states of the work of its jobs.

    Args:
        per_event: work grows with events and not with the size of the input.
        each: work per event or effective MiB; None is unknown.
        consumers: jobs that share the work in event service, times attempts.
    """

    per_event: bool
    each: float | None
    consumers: float

    def of(self, atom: Atom) -> float | None:
        """Return the work of a job, in HS06 seconds or seconds times cores; None is unknown."""
        if self.each is None:
            return None
        return self.each * (atom.events if self.per_event else atom.effective_mib) / self.consumers


def job_work(task: Task, consumers: float = 1) -> JobWork:
    """Return what *task* states; *consumers*: jobs that share the work in event service, times attempts."""
    if is_hs06(task.cpu_time_unit):
        return JobWork(True, cpu_time_per_event(task.cpu_time, task.cpu_time_unit), consumers)
    return JobWork(False, task.walltime, consumers)


def work_within(seconds: Numbers, pace: Pace, cores: Numbers, corepower: Numbers, *, exact: bool = False) -> Numbers:
    """Return the work that a job at a *pace* does in *seconds* on *cores* of *corepower* HS06 each; 0 cores count as 1.

    For HS06 the base walltime is taken off first and the result is truncated unless *exact*. Numbers or arrays of them.
    """
    if not is_hs06(pace.cpu_time_unit):
        return seconds * np.maximum(1, cores)
    left = seconds - (pace.base_walltime or 0)
    work = left * np.maximum(1, cores) * corepower * efficiency(pace)
    return work if exact else np.trunc(work)


def seconds_for(work: float, pace: Pace, cores: int, corepower: float) -> float | None:
    """Return the seconds of *work* for a job at a *pace*, the inverse of `work_within`; None is infinite."""
    if not is_hs06(pace.cpu_time_unit):
        return work / max(1, cores)
    speed = max(1, cores) * corepower * efficiency(pace)
    seconds = (pace.base_walltime or 0) + work / speed if speed > 0 else math.inf
    return seconds if math.isfinite(seconds) else None


def compared_times(
    pace: Pace,
    queue: Queue,
    limit: Literal["maxtime", "mintime"],
    work: float | None,
    name: str = "work",
    *,
    below: bool = False,
) -> dict[str, Any]:
    """Return what was compared with a *limit* of *queue*: *work* under *name*, what fits into the limit, both in the
    units of `job_work`, and the limit that there would have to be, seconds (None: no limit helps). *below*: the time
    must be below the limit."""
    told: dict[str, Any] = {"corecount": queue.corecount}
    if pace.cpu_time_unit:
        told |= {"corepower": queue.corepower, "cpuTimeUnit": pace.cpu_time_unit}
    seconds = getattr(queue, limit)
    fits = float(work_within(seconds, pace, queue.corecount, queue.corepower, exact=below))
    told |= {name: work, f"work_in_{limit}": fits, limit: seconds}
    needed = None if work is None else seconds_for(work, pace, queue.corecount, queue.corepower)
    if needed is not None:
        longest = math.floor(needed) + 1 if below else math.ceil(needed)
        told["seconds_needed"] = longest if limit == "maxtime" else math.floor(needed)
    return told


def efficiency(pace: Pace) -> float:
    """Return the CPU efficiency as a fraction; 1 if not given."""
    return 1.0 if pace.cpu_efficiency is None else pace.cpu_efficiency / 100


def is_time_unknown(task: Task) -> bool:
    """Return whether a task states no time, so that a queue must offer a day."""
    if task.cpu_time_unit:
        return not cpu_time_per_event(task.cpu_time, task.cpu_time_unit)
    return not task.walltime and not task.walltime_unit


def minimum_work(cores: Numbers) -> Numbers:
    """Return the work that must fit into a queue's time for scouts, merges and jobs of unknown duration (rules panda).

    That is a day at 10 HS06 for each core, whatever the unit of the task is.
    """
    return DAY * HS06_OF_CORE * np.maximum(1.0, cores)


def job_seconds(task: Task, events: int, queue: Queue) -> float:
    """Return the walltime limit in seconds of a job with *events* at *queue* (PanDA getJobMaxWalltime).

    It is the limit of the queue if the task does not state its CPU time.
    """
    seconds = cpu_time_per_event(task.cpu_time, task.cpu_time_unit)
    if seconds is None:
        return queue.maxtime
    if seconds > 0:
        seconds *= events
        if queue.corecount > 0:
            seconds /= queue.corecount
        if queue.corepower:
            seconds /= queue.corepower
    if task.cpu_efficiency:
        seconds /= task.cpu_efficiency / 100
    return int(min(seconds + (task.base_walltime or 0), FOR_EVER))
