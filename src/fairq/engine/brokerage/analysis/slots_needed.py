"""Filters of analysis by what a job needs of a slot: memory, scratch disk, walltime (docs/panda.md, Analysis)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairq.engine.brokerage.checks.memory import MemoryCheck
from fairq.engine.brokerage.checks.scratch import ScratchCheck, atom_of, scratch_rules
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import Question
from fairq.engine.brokerage.jobs.scratch import Scratch, analysis_scratch
from fairq.engine.brokerage.jobs.units import is_hs06
from fairq.engine.brokerage.jobs.walltime import (
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
    """A job's memory must lie between the least and the most of the queue's slots; limits themselves pass."""

    name = "analysis memory"
    activities = _ANALYSIS


class ScratchDisk(ScratchCheck):
    """A job's files must fit into its part of the scratch disk; a task may insist on reading input directly."""

    name = "analysis scratch"
    stage = "scratch disk check"
    activities = _ANALYSIS

    def estimate(self, question: Question) -> Scratch:
        """Return what an analysis job needs."""
        return analysis_scratch(question.task, question.chunk, atom_of(question), scratch_rules(question))


class Walltime(PlainFilter):
    """A job's time must lie between the least and the most of the queue; limits themselves pass.

    A walltime that the task states counts as it is; one in HS06, and by PanDA's code every one, as work.
    """

    name = "analysis walltime"
    stage = "walltime check"
    activities = _ANALYSIS
    reasons = (
        Reason("shortwalltime"),
        Reason("longwalltime"),
    )

    def applies(self, question: Question) -> bool:
        """Look where the time is known; not at merges."""
        known = _stated_seconds(question) or _work(question)
        return bool(known) and not question.chunk.is_merging

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare the time of a job with the limits, or its work with what fits into them."""
        limits = question.columns
        most = limits.numbers("maxtime", lambda queue: queue.maxtime)[rows]
        least = limits.numbers("mintime", lambda queue: queue.mintime)[rows]
        stated = _stated_seconds(question)
        if stated is None:
            work = _work(question)
            fits, wanted = _within(question, "maxtime")[rows], _within(question, "mintime")[rows]
        else:
            work, fits, wanted = stated, most, least
        codes: Codes = ((least != 0) & (work < wanted)) * np.uint8(2)
        codes[(most != 0) & (work > fits)] = 1
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the work of a job, what fits, and the limit."""
        limit: Literal["maxtime", "mintime"] = "maxtime" if reason.tag == "shortwalltime" else "mintime"
        stated = _stated_seconds(question)
        if stated is not None:
            seconds = getattr(question.columns.queues[row], limit)
            return {"walltime": stated, limit: seconds, "seconds_needed": stated}
        return compared_times(question.task, question.columns.queues[row], limit, _work(question))


def _stated_seconds(question: Question) -> float | None:
    """Return the walltime that the task states, if it counts as it is."""
    task = question.task
    counts = question.rules.stated_walltime and not is_hs06(task.cpu_time_unit)
    return task.walltime or None if counts else None


def _work(question: Question) -> float:
    return job_work(question.task, atom_of(question)) or 0.0


def _within(question: Question, limit: str) -> Floats:
    columns = question.columns
    result: Floats = work_within(
        columns.numbers(limit, lambda queue: float(getattr(queue, limit))),
        question.task,
        columns.numbers("corecount", lambda queue: queue.corecount),
        columns.numbers("corepower", lambda queue: queue.corepower),
    )
    return result


class MinimumWalltime(PlainFilter):
    """Queues must offer a day to scouts and to jobs whose time is not known."""

    name = "analysis minimum walltime"
    stage = "minimum walltime capacity check"
    activities = _ANALYSIS
    reasons = (
        Reason("scout_walltime"),
        Reason("min_walltime"),
    )

    def applies(self, question: Question) -> bool:
        """Look, under PanDA's rules, at scouts unless one queue is given, and at tasks that state no time."""
        scout = question.chunk.is_scout and question.preassigned != "single"
        return question.rules.analysis_minimum_walltime and (scout or is_time_unknown(question.task))

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse where less than a day fits."""
        fits, day = _within(question, "maxtime")[rows], self._day(question)[rows]
        less = (fits != 0) & (fits < day)
        if question.rules.plain_minimum_walltime:
            most = question.columns.numbers("maxtime", lambda queue: queue.maxtime)[rows]
            less = (most != 0) & (most < DAY)
        codes: Codes = less * np.uint8(1 if question.chunk.is_scout else 2)
        return codes

    def _day(self, question: Question) -> Floats:
        cores = question.columns.numbers("corecount", lambda queue: queue.corecount)
        result: Floats = minimum_work(cores)
        return result

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what fits into the limit and what a day is."""
        queue, day = question.columns.queues[row], float(self._day(question)[row])
        if question.rules.plain_minimum_walltime:
            return {"maxtime": queue.maxtime, "seconds_needed": DAY}
        return compared_times(question.task, queue, "maxtime", day, "work_in_a_day")
