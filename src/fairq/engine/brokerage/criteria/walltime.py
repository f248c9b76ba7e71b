"""The wall time of a job compared with the limits of a queue (docs/panda.md, Estimates).

The job's work is compared with the work that fits into a queue's time limit, which needs no division. Work is in HS06
seconds if the task states its CPU time in them, otherwise in seconds times cores."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Any, Literal, NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask, atom_of
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.jobs.atom import Atom
from fairq.engine.brokerage.jobs.tasks import Chunk, Task, cpu_time_per_event, is_hs06
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.world import Queue
from fairq.engine.distinct import distinct

Numbers = Any
"""A number, or an array of them for many queues."""

DAY = 24 * 3600
"""Seconds that a queue must offer for jobs of unknown duration."""

MAX_SECONDS = 10**18
"""Upper limit of computed seconds."""

HS06_OF_CORE = 10
"""HS06 of a core by which that day is counted."""


class Pace(NamedTuple):
    """Values of a task that decide how fast its jobs work: unit of CPU time, base walltime (s), efficiency (%)."""

    cpu_time_unit: str | None
    base_walltime: float | None
    cpu_efficiency: float | None

    @classmethod
    def of(cls, task: Task) -> Pace:
        """Return the pace of a task's jobs."""
        return cls(task.cpu_time_unit, task.base_walltime, task.cpu_efficiency)


def job_work(task: Task, atom: Atom, consumers: float = 1) -> float | None:
    """Return the work of a job *atom* of *task*, in HS06 seconds or seconds times cores; None is unknown.

    *consumers*: jobs that share the work in event service, times attempts.
    """
    if not is_hs06(task.cpu_time_unit):
        return None if task.walltime is None else task.walltime * atom.effective_mib / consumers
    per_event = cpu_time_per_event(task.cpu_time, task.cpu_time_unit)
    return None if per_event is None else per_event * atom.events / consumers


def work_within(seconds: Numbers, pace: Pace, cores: Numbers, corepower: Numbers, *, exact: bool = False) -> Numbers:
    """Return the work that a job at a *pace* does in *seconds* on *cores* of *corepower* HS06 each; 0 cores count as 1.

    For HS06 the base walltime is taken off first and the result is truncated unless *exact*. Numbers or arrays of them.
    """
    if not is_hs06(pace.cpu_time_unit):
        return seconds * np.maximum(1, cores)
    cpu_seconds = seconds - (pace.base_walltime or 0)
    work = cpu_seconds * np.maximum(1, cores) * corepower * efficiency(pace)
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
    """Return the values compared with a *limit* of *queue*.

    These are *work* under *name*, the work that fits into the limit, and the limit needed in seconds (left out if no
    limit would do). *below*: the time must be below the limit, not equal.
    """
    details: dict[str, Any] = {"corecount": queue.corecount}
    if pace.cpu_time_unit:
        details |= {"corepower": queue.corepower, "cpuTimeUnit": pace.cpu_time_unit}
    seconds = getattr(queue, limit)
    fits = float(work_within(seconds, pace, queue.corecount, queue.corepower, exact=below))
    details |= {name: work, f"work_in_{limit}": fits, limit: seconds}
    needed = None if work is None else seconds_for(work, pace, queue.corecount, queue.corepower)
    if needed is not None:
        longest = math.floor(needed) + 1 if below else math.ceil(needed)
        details["seconds_needed"] = longest if limit == "maxtime" else math.floor(needed)
    return details


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
    return int(min(seconds + (task.base_walltime or 0), MAX_SECONDS))


ROUNDING = 1e-12
"""Relative error of a computed limit, within which a time counts as equal to it."""

DEFAULT_ATTEMPTS = 3
"""Attempts of a job of event service where the task does not say (PanDA defMaxAttemptEsJob)."""

SHORT, LONG = Reason("shortwalltime"), Reason("longwalltime")
SCOUT, MINIMUM = Reason("scout_walltime"), Reason("min_walltime")

Limit = Literal["maxtime", "mintime"]


def _reads_walltime(ask: Ask) -> Values:
    task, chunk = ask.task, ask.chunk
    needs_day = (chunk.is_scout and not ask.is_spared_alone) or chunk.is_merging
    needs_day = needs_day or (ask.rules.unknown_walltime_needs_day and is_time_unknown(task))
    consumers = 1
    if task.is_event_service:
        attempts = task.rule("XJ")
        consumers = (task.rule("EC") or 1) * (DEFAULT_ATTEMPTS if attempts is None else attempts + 1)
    job = job_work(task, atom_of(ask), max(1, consumers))
    least_work = most_work = None
    per_event = cpu_time_per_event(task.cpu_time, task.cpu_time_unit) if task.has_rule("DY") else None
    if per_event is not None:
        # The number of events is dynamic: the work of a job is between these.
        events, limit = longest_run(chunk), task.rule("MX")
        least_work = per_event * (task.rule("DY") or 0) or None
        most_work = per_event * (min(events, limit) if limit else events)
    return job, least_work, most_work, needs_day, chunk.is_scout, Pace.of(task)


def longest_run(chunk: Chunk) -> int:
    """Return the largest number of consecutive events in the master files; files without ranges add their events."""
    longest = run = 0
    expected: int | None = None
    for file in chunk.datasets[0].files if chunk.datasets else ():
        if file.start_event is None or file.end_event is None:
            run += file.end_event or 0
        else:
            if expected is not None and expected != file.start_event:
                run = 0
            run += file.end_event - file.start_event + 1
            expected = 0 if file.end_event + 1 == file.events else file.end_event + 1
        longest = max(longest, run)
    return longest


def _numbers(pool: Pool, name: str) -> Floats:
    return pool.numbers(name, lambda queue: float(getattr(queue, name)))


def _within(pool: Pool, limit: Limit, pace: Pace, *, exact: bool = False) -> Floats:
    """Return the work that a job does within a limit of each queue."""
    cores, power = _numbers(pool, "corecount"), _numbers(pool, "corepower")
    work: Floats = work_within(_numbers(pool, limit), pace, cores, power, exact=exact)
    return work


class _Fits(NamedTuple):
    """The work that fits into maxtime (*fits*) and mintime (*minimum*) of each row, and the *limit* of work.

    *longest* and *shortest* are the distinct values of *limit* and *minimum* in ascending order.
    """

    fits: Floats
    minimum: Floats
    limit: Floats
    longest: list[float]
    shortest: list[float]


def _fits(pool: Pool, pace: Pace) -> _Fits:
    below = pool.rules.walltime_below_maxtime

    def make() -> _Fits:
        fits, minimum = _within(pool, "maxtime", pace, exact=below), _within(pool, "mintime", pace)
        limit = fits - ROUNDING * np.abs(fits) if below else fits
        return _Fits(fits, minimum, limit, distinct(limit).tolist(), distinct(minimum).tolist())

    return pool.under(("work that fits", pace), make)


def _alike(
    pool: Pool,
    job: float | None,
    least_work: float | None,
    most_work: float | None,
    needs_day: bool,
    scout: bool,
    pace: Pace,
) -> Values:
    """Return the positions of the work among the sorted limits; work at equal positions gets equal answers."""
    fits = _fits(pool, pace)
    bisect = bisect_right if pool.rules.walltime_below_maxtime else bisect_left

    def position(work: float | None) -> tuple[int, int, bool] | None:
        return None if work is None else (bisect(fits.longest, work), bisect_right(fits.shortest, work), work > 0)

    return position(job), position(least_work), position(most_work), needs_day, scout, pace


def _too_little(pool: Pool, fits: Floats) -> Booleans:
    """Return the rows whose maxtime is shorter than a day; 0 is no limit."""
    if pool.rules.plain_minimum_walltime:
        maxtime = _numbers(pool, "maxtime")
        too_short: Booleans = (maxtime != 0) & (maxtime < DAY)
    else:
        too_short = (fits != 0) & (fits < minimum_work(_numbers(pool, "corecount")))
    return too_short


def _day_figures(pool: Pool, row: int, pace: Pace) -> Details:
    queue = pool.queues[row]
    if pool.rules.plain_minimum_walltime:
        return {"maxtime": queue.maxtime, "seconds_needed": DAY}
    return compared_times(pace, queue, "maxtime", float(minimum_work(queue.corecount)), "work_in_a_day")


@refuses("walltime", "walltime check", SHORT, SCOUT, MINIMUM, LONG, reads=_reads_walltime, alike=_alike)
def walltime(
    pool: Pool,
    job: float | None,
    least_work: float | None,
    most_work: float | None,
    needs_day: bool,
    scout: bool,
    pace: Pace,
) -> Refusals:
    """Refuse queues whose maxtime is too short or whose mintime is too long for a job.

    Scouts, merges and jobs of unknown duration need a day. With a dynamic number of events, queues with a mintime are
    compared with *least_work* and *most_work*.
    """
    fits, minimum, limit, _, _ = _fits(pool, pace)
    below, maxtime, mintime = pool.rules.walltime_below_maxtime, _numbers(pool, "maxtime"), _numbers(pool, "mintime")
    dynamic = (mintime > 0) & bool(least_work)
    longest = np.where(dynamic, least_work or 0.0, job or 0.0)
    beyond = longest >= limit if below else longest > limit
    yield Refusal(
        SHORT,
        (maxtime != 0) & (longest > 0) & beyond,
        lambda row: compared_times(pace, pool.queues[row], "maxtime", least_work if dynamic[row] else job, below=below),
    )
    if needs_day:
        yield Refusal(SCOUT if scout else MINIMUM, _too_little(pool, fits), lambda row: _day_figures(pool, row, pace))
    if pool.rules.mintime_in_production:
        short = np.full(len(pool), True) if job is None else job < minimum
        if least_work:
            short = np.where(dynamic, (least_work < minimum) & (most_work is None or most_work < minimum), short)
        yield Refusal(
            LONG,
            (mintime != 0) & short,
            lambda row: compared_times(pace, pool.queues[row], "mintime", most_work if dynamic[row] else job),
        )


def _reads_analysis_walltime(ask: Ask) -> Values | None:
    task = ask.task
    # A walltime in seconds counts as it is; one in HS06, and under the rules panda every one, counts as work.
    counts = ask.rules.stated_walltime and not is_hs06(task.cpu_time_unit)
    stated = task.walltime or None if counts else None
    work = stated or job_work(task, atom_of(ask))
    return (work, stated is not None, Pace.of(task)) if work and not ask.chunk.is_merging else None


@refuses("analysis walltime", "walltime check", SHORT, LONG, reads=_reads_analysis_walltime)
def analysis_walltime(pool: Pool, work: float, stated: bool, pace: Pace) -> Refusals:
    """Refuse queues unless the wall time of a job is between mintime and maxtime, both included.

    It is compared as work, or as it is *stated* in seconds. Merges are exempt.
    """

    def figures(row: int, limit: Limit) -> Details:
        if stated:
            return {"walltime": work, limit: getattr(pool.queues[row], limit), "seconds_needed": work}
        return compared_times(pace, pool.queues[row], limit, work)

    maxtime, mintime = _numbers(pool, "maxtime"), _numbers(pool, "mintime")
    fits, minimum = (maxtime, mintime) if stated else (_within(pool, "maxtime", pace), _within(pool, "mintime", pace))
    yield Refusal(SHORT, (maxtime != 0) & (work > fits), lambda row: figures(row, "maxtime"))
    yield Refusal(LONG, (mintime != 0) & (work < minimum), lambda row: figures(row, "mintime"))


def _reads_minimum(ask: Ask) -> Values | None:
    scout = ask.chunk.is_scout and ask.preassigned != "single"
    applies = ask.rules.analysis_minimum_walltime and (scout or is_time_unknown(ask.task))
    return (ask.chunk.is_scout, Pace.of(ask.task)) if applies else None


@refuses("analysis minimum walltime", "minimum walltime capacity check", SCOUT, MINIMUM, reads=_reads_minimum)
def analysis_minimum_walltime(pool: Pool, scout: bool, pace: Pace) -> Refusals:
    """Refuse queues that do not offer a day to scouts and jobs of unknown duration (rules panda)."""
    rows = _too_little(pool, _within(pool, "maxtime", pace))
    yield Refusal(SCOUT if scout else MINIMUM, rows, lambda row: _day_figures(pool, row, pace))
