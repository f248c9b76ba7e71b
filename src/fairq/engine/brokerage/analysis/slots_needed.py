"""Filters of analysis by what a job needs of a slot: memory, scratch disk, walltime (reference panda 5.3)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairq.engine.brokerage.analysis.selection import select
from fairq.engine.brokerage.checks.memory import MemoryCheck
from fairq.engine.brokerage.checks.scratch import ScratchCheck, atom_of
from fairq.engine.brokerage.columns import Floats
from fairq.engine.brokerage.estimates.scratch import Scratch, analysis_scratch
from fairq.engine.brokerage.estimates.walltime import (
    compared_times,
    is_time_unknown,
    job_work,
    minimum_work,
    work_within,
)
from fairq.engine.brokerage.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.tasks import ANALYSIS

_ANALYSIS = frozenset({ANALYSIS})


class Memory(MemoryCheck):
    """A job's memory must lie between the least and the most of the queue's slots; limits themselves pass."""

    name = "analysis memory"
    place = 1100
    activities = _ANALYSIS


class ScratchDisk(ScratchCheck):
    """A job's files must fit into its part of the scratch disk; a task may insist on reading input directly."""

    name = "analysis scratch"
    stage = "scratch disk check"
    place = 1200
    activities = _ANALYSIS

    def estimate(self, question: Question) -> Scratch:
        """Return what an analysis job needs."""
        return analysis_scratch(question.task, question.chunk, atom_of(question))


class Walltime(PlainFilter):
    """A job's time must lie between the least and the most of the queue; limits themselves pass."""

    name = "analysis walltime"
    stage = "walltime check"
    place = 1400
    activities = _ANALYSIS
    reasons = (
        Reason("shortwalltime", "jobs need more time than the queue gives"),
        Reason("longwalltime", "jobs need less time than the queue is for"),
    )

    def applies(self, question: Question) -> bool:
        """Look where the time is known; not at merges."""
        return bool(_work(question)) and not question.chunk.is_merging

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare the work of a job with what fits into the limits."""
        work = _work(question)
        fits, wanted = _within(question, "maxtime")[rows], _within(question, "mintime")[rows]
        limits = question.columns
        most = limits.numbers("maxtime", lambda queue: queue.maxtime)[rows]
        least = limits.numbers("mintime", lambda queue: queue.mintime)[rows]
        codes: Codes = ((least != 0) & (work < wanted)) * np.uint8(2)
        codes[(most != 0) & (work > fits)] = 1
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the work of a job, what fits, and the limit."""
        limit: Literal["maxtime", "mintime"] = "maxtime" if reason.tag == "shortwalltime" else "mintime"
        return compared_times(question.task, question.columns.queues[row], limit, _work(question))


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
    place = 1500
    activities = _ANALYSIS
    reasons = (
        Reason("scout_walltime", "scouts need a queue that gives them a day"),
        Reason("min_walltime", "jobs of unknown time need a queue that gives them a day"),
    )

    def applies(self, question: Question) -> bool:
        """Look at scouts, unless one queue is given, and at tasks that state no time."""
        return (question.chunk.is_scout and select(question).single is None) or is_time_unknown(question.task)

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse where less than a day fits."""
        fits, day = _within(question, "maxtime")[rows], self._day(question)[rows]
        codes: Codes = ((fits != 0) & (fits < day)) * np.uint8(1 if question.chunk.is_scout else 2)
        return codes

    def _day(self, question: Question) -> Floats:
        cores = question.columns.numbers("corecount", lambda queue: queue.corecount)
        result: Floats = minimum_work(question.task, cores, plain_day=question.rules.plain_minimum_walltime)
        return result

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what fits into the limit and what a day is."""
        queue, day = question.columns.queues[row], float(self._day(question)[row])
        return compared_times(question.task, queue, "maxtime", day, "work_in_a_day")
