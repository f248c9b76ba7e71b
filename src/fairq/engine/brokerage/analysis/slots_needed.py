"""Filters of analysis by what a job needs of a slot: memory, scratch disk, walltime (docs/panda.md, Analysis)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairq.engine.brokerage.checks.memory import MemoryCheck
from fairq.engine.brokerage.checks.scratch_disk import ScratchCheck, atom_of, scratch_rules
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.scratch_needed import AnalysisScratch, analysis_scratch
from fairq.engine.brokerage.jobs.units import is_hs06
from fairq.engine.brokerage.jobs.walltime_needed import (
    DAY,
    compared_times,
    is_time_unknown,
    job_work,
    minimum_work,
    work_within,
)
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Floats

_ANALYSIS = frozenset({ANALYSIS})


class Memory(MemoryCheck):
    """The memory of a job must be between the minimum and the maximum of the queue's slots, both included."""

    name = "analysis memory"
    activities = _ANALYSIS


class ScratchDisk(ScratchCheck):
    """The files of a job must fit into its part of the scratch disk; a task may require that input is read directly."""

    name = "analysis scratch"
    stage = "scratch disk check"
    activities = _ANALYSIS
    reads = (*ScratchCheck.reads, "rule NG")

    def stated(self, request: BrokerageRequest) -> AnalysisScratch:
        """Return what the task states of its jobs."""
        return analysis_scratch(request.task, scratch_rules(request), merging=request.chunk.is_merging)


class Walltime(PlainFilter):
    """The wall time of a job must be between mintime and maxtime of the queue, both included.

    A walltime that the task states in seconds counts as it is. One in HS06, and under the rules panda every one, counts
    as work.
    """

    name = "analysis walltime"
    stage = "walltime check"
    activities = _ANALYSIS
    reasons = (
        Reason("shortwalltime"),
        Reason("longwalltime"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Look where the time is known; not at merges."""
        known = _stated_seconds(request) or _work(request)
        return bool(known) and not request.chunk.is_merging

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Compare the time of a job with the limits, or its work with what fits into them."""
        limits = request.columns
        most = limits.numbers("maxtime", lambda queue: queue.maxtime)[rows]
        least = limits.numbers("mintime", lambda queue: queue.mintime)[rows]
        stated = _stated_seconds(request)
        if stated is None:
            work = _work(request)
            fits, wanted = _within(request, "maxtime")[rows], _within(request, "mintime")[rows]
        else:
            work, fits, wanted = stated, most, least
        codes: Codes = ((least != 0) & (work < wanted)) * np.uint8(2)
        codes[(most != 0) & (work > fits)] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the work of a job, what fits, and the limit."""
        limit: Literal["maxtime", "mintime"] = "maxtime" if reason.tag == "shortwalltime" else "mintime"
        stated = _stated_seconds(request)
        if stated is not None:
            seconds = getattr(request.columns.queues[row], limit)
            return {"walltime": stated, limit: seconds, "seconds_needed": stated}
        return compared_times(request.task, request.columns.queues[row], limit, _work(request))


def _stated_seconds(request: BrokerageRequest) -> float | None:
    """Return the walltime in seconds that the task states, if it counts as it is."""
    task = request.task
    counts = request.rules.stated_walltime and not is_hs06(task.cpu_time_unit)
    return task.walltime or None if counts else None


def _work(request: BrokerageRequest) -> float:
    return job_work(request.task).of(atom_of(request)) or 0.0


def _within(request: BrokerageRequest, limit: str) -> Floats:
    columns = request.columns
    result: Floats = work_within(
        columns.numbers(limit, lambda queue: float(getattr(queue, limit))),
        request.task,
        columns.numbers("corecount", lambda queue: queue.corecount),
        columns.numbers("corepower", lambda queue: queue.corepower),
    )
    return result


class MinimumWalltime(PlainFilter):
    """Queues must offer a day to scouts and to jobs of unknown duration."""

    name = "analysis minimum walltime"
    stage = "minimum walltime capacity check"
    activities = _ANALYSIS
    reasons = (
        Reason("scout_walltime"),
        Reason("min_walltime"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Under the rules panda, apply to scouts unless one queue is given, and to tasks that state no time."""
        scout = request.chunk.is_scout and request.preassigned != "single"
        return request.rules.analysis_minimum_walltime and (scout or is_time_unknown(request.task))

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse where less than a day fits."""
        fits, day = _within(request, "maxtime")[rows], self._day(request)[rows]
        less = (fits != 0) & (fits < day)
        if request.rules.plain_minimum_walltime:
            most = request.columns.numbers("maxtime", lambda queue: queue.maxtime)[rows]
            less = (most != 0) & (most < DAY)
        codes: Codes = less * np.uint8(1 if request.chunk.is_scout else 2)
        return codes

    def _day(self, request: BrokerageRequest) -> Floats:
        cores = request.columns.numbers("corecount", lambda queue: queue.corecount)
        result: Floats = minimum_work(cores)
        return result

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the work that fits into the limit, and that of a day."""
        queue, day = request.columns.queues[row], float(self._day(request)[row])
        if request.rules.plain_minimum_walltime:
            return {"maxtime": queue.maxtime, "seconds_needed": DAY}
        return compared_times(request.task, queue, "maxtime", day, "work_in_a_day")
