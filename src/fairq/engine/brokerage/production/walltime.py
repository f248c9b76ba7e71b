"""The filter by wall time (docs/panda.md, Estimates)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.checks.scratch_disk import atom_of
from fairq.engine.brokerage.flow.plugin import Codes, Details, InputFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.tasks import Chunk, Task
from fairq.engine.brokerage.jobs.units import cpu_time_per_event, is_hs06
from fairq.engine.brokerage.jobs.walltime_needed import (
    DAY,
    JobWork,
    compared_times,
    is_time_unknown,
    job_work,
    minimum_work,
    work_within,
)
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Columns, Floats

ROUNDING = 1e-12
"""Relative error of a computed limit, within which a time counts as equal to it."""

DEFAULT_ATTEMPTS = 3
"""Attempts of a job of event service where the task does not say (PanDA defMaxAttemptEsJob)."""


class Work(Struct, frozen=True, gc=False):
    """Work of a task's jobs in the units of `job_work`; None is unknown.

    *least* and *most* are the limits with a dynamic number of events, otherwise None.
    """

    job: float | None
    least: float | None = None
    most: float | None = None


class WalltimeView(NamedTuple):
    """What a task states of a job, what fits into the limits of the queues, and what else counts.

    *too_long* is the function that finds the place of a time among the limits; *rest* is what else counts.
    """

    stated: JobWork
    is_dynamic: bool
    fits: _Fits
    too_long: Callable[[list[float], float], int]
    rest: Hashable

    def place(self, time: float | None) -> Hashable:
        """Return the place of a time among the limits.

        A time that is below some of the limits and above the others is judged like every time between the same two.
        """
        if time is None:
            return None
        fits = self.fits
        return self.too_long(fits.longest, time), bisect_right(fits.shortest, time), time > 0


class Walltime(InputFilter[WalltimeView]):
    """A job must end within the maxtime of the queue, and last at least its mintime.

    Times are compared as work. If the time of a job is unknown, and for scouts and merges, the queue must offer a day.
    """

    name = "walltime"
    stage = "walltime check"
    activities = frozenset({PRODUCTION})
    reads = (
        "preassigned",
        "chunk.is_merging",
        "chunk.is_scout",
        "task.base_walltime",
        "task.cloning",
        "task.cpu_efficiency",
        "task.cpu_time",
        "task.cpu_time_unit",
        "task.event_service",
        "task.walltime",
        "task.walltime_unit",
        "rule DY",
        "rule EC",
        "rule XJ",
    )
    reasons = (
        Reason("shortwalltime"),
        Reason("scout_walltime"),
        Reason("min_walltime"),
        Reason("longwalltime"),
    )

    def view(self, request: BrokerageRequest) -> WalltimeView:
        """Return what the task states and the limits of the queues."""
        task, fits = request.task, _fits_of(request)
        place = bisect_right if request.rules.walltime_below_maxtime else bisect_left
        rest = fits.pace, needs_a_day(request), request.chunk.is_scout
        return WalltimeView(_job_work(task), task.has_rule("DY"), fits, place, rest)

    def key_of(self, view: WalltimeView, request: BrokerageRequest) -> Hashable:
        """Return the place of a job's work among what fits into the limits of the queues, and what else counts."""
        place, dynamic = view.place(view.stated.of(atom_of(request))), None
        if view.is_dynamic:
            work = work_of(request)
            dynamic = (view.place(work.least), view.place(work.most)) if work.least else None
        return place, dynamic, view.rest

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare each queue's limits with the work of a job."""
        columns, rules = request.columns, request.rules
        work = work_of(request)
        cores, _, most, least = _limits(columns)
        fits, wanted, limit = _fits_of(request)[:3]
        dynamic = (least > 0) if work.least else np.zeros(len(columns), dtype=np.bool_)

        codes = np.zeros(len(columns), dtype=np.uint8)
        too_short = np.full(len(columns), True) if work.job is None else work.job < wanted
        if work.least:
            both_short = (work.least < wanted) & (work.most is None or work.most < wanted)
            too_short = np.where(dynamic, both_short, too_short)
        if rules.mintime_in_production:
            codes[(least != 0) & too_short] = 4
        if needs_a_day(request):
            if rules.plain_minimum_walltime:
                less = (most != 0) & (most < DAY)
            else:
                less = (fits != 0) & (fits < minimum_work(cores))
            codes[less] = 2 if request.chunk.is_scout else 3
        longest = np.where(dynamic, work.least or 0.0, work.job or 0.0)
        beyond = longest >= limit if rules.walltime_below_maxtime else longest > limit
        too_long = (longest > 0) & beyond
        codes[(most != 0) & too_long] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the work of a job and what fits, and the queue's own numbers."""
        task, queue, work = request.task, request.columns.queues[row], work_of(request)
        dynamic = bool(work.least) and queue.mintime > 0
        if reason.tag == "longwalltime":
            return compared_times(task, queue, "mintime", work.most if dynamic else work.job)
        if reason.tag == "shortwalltime":
            below = request.rules.walltime_below_maxtime
            return compared_times(task, queue, "maxtime", work.least if dynamic else work.job, below=below)
        if request.rules.plain_minimum_walltime:
            return {"maxtime": queue.maxtime, "seconds_needed": DAY}
        day = float(minimum_work(queue.corecount))
        return compared_times(task, queue, "maxtime", day, "work_in_a_day")


def needs_a_day(request: BrokerageRequest) -> bool:
    """Return whether queues must offer a day: to scouts and merges, and under the rules panda to unknown times.

    Scouts that are given one queue are exempt under the rules panda.
    """
    return (
        (request.chunk.is_scout and not request.is_spared_alone)
        or request.chunk.is_merging
        or (request.rules.unknown_walltime_needs_day and is_time_unknown(request.task))
    )


def work_of(request: BrokerageRequest) -> Work:
    """Return the work of the task's jobs."""
    task = request.task
    job = _job_work(task).of(atom_of(request))
    per_event = cpu_time_per_event(task.cpu_time, task.cpu_time_unit) if task.has_rule("DY") else None
    if per_event is None:
        return Work(job)
    granularity = task.rule("DY")
    events = longest_run(request.chunk)
    limit = task.rule("MX")
    return Work(job, per_event * (granularity or 0), per_event * (min(events, limit) if limit else events))


def _job_work(task: Task) -> JobWork:
    shared = 1
    if task.is_event_service:
        attempts = task.rule("XJ")
        shared = (task.rule("EC") or 1) * (DEFAULT_ATTEMPTS if attempts is None else attempts + 1)
    return job_work(task, max(1, shared))


def longest_run(chunk: Chunk) -> int:
    """Return the largest number of consecutive events in the master files; files without ranges are added up."""
    most = run = 0
    expected: int | None = None
    for file in chunk.datasets[0].files if chunk.datasets else ():
        if file.start_event is None or file.end_event is None:
            run += file.end_event or 0
        else:
            if expected is not None and expected != file.start_event:
                run = 0
            run += file.end_event - file.start_event + 1
            expected = 0 if file.end_event + 1 == file.events else file.end_event + 1
        most = max(most, run)
    return most


class _Fits(NamedTuple):
    """The work that fits into the maxtime and the mintime of each row, and from or above which it is too long.

    *longest* and *shortest* are the values of *limit* and *wanted* in ascending order, *pace* what they depend on.
    """

    fits: Floats
    wanted: Floats
    limit: Floats
    longest: list[float]
    shortest: list[float]
    pace: tuple[bool, float | None, float | None]


def _fits_of(request: BrokerageRequest) -> _Fits:
    task, columns, below = request.task, request.columns, request.rules.walltime_below_maxtime

    def make() -> _Fits:
        cores, power, most, least = _limits(columns)
        fits = work_within(most, task, cores, power, exact=below)
        wanted = work_within(least, task, cores, power)
        limit = fits - ROUNDING * np.abs(fits) if below else fits
        return _Fits(fits, wanted, limit, np.sort(limit).tolist(), np.sort(wanted).tolist(), _pace(task))

    return columns.kept(("work that fits", task.cpu_time_unit, task.base_walltime, task.cpu_efficiency, below), make)


def _pace(task: Task) -> tuple[bool, float | None, float | None]:
    # What `work_within` reads of a task.
    return is_hs06(task.cpu_time_unit), task.base_walltime, task.cpu_efficiency


class _Limits(NamedTuple):
    """What queues say of cores and times, per row."""

    cores: Floats
    power: Floats
    most: Floats
    least: Floats


def _limits(columns: Columns) -> _Limits:
    return _Limits(
        columns.numbers("corecount", lambda queue: queue.corecount),
        columns.numbers("corepower", lambda queue: queue.corepower),
        columns.numbers("maxtime", lambda queue: queue.maxtime),
        columns.numbers("mintime", lambda queue: queue.mintime),
    )
