"""Filters of analysis by what a job needs of a slot: memory, scratch disk, walltime (reference panda 5.3)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairq.engine.brokerage.analysis.selection import select
from fairq.engine.brokerage.columns import Booleans, Floats
from fairq.engine.brokerage.estimates.memory import job_memory, stated_memory
from fairq.engine.brokerage.estimates.scratch import Scratch, analysis_scratch, reads_directly
from fairq.engine.brokerage.estimates.walltime import (
    compared_times,
    is_time_unknown,
    job_work,
    minimum_work,
    work_within,
)
from fairq.engine.brokerage.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.production.slots_needed import atom_of
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.tasks import ANALYSIS

_ANALYSIS = frozenset({ANALYSIS})


class Memory(PlainFilter):
    """A job's memory must lie between the least and the most of the queue's slots; limits themselves pass."""

    name = "analysis memory"
    stage = "memory check"
    place = 1100
    activities = _ANALYSIS
    reasons = (
        Reason("lowmemory", "jobs need more memory than the slot has"),
        Reason("highmemory", "jobs need less memory than the slot is for"),
    )

    def applies(self, question: Question) -> bool:
        """Look where the memory is stated or known."""
        return bool(stated_memory(question.task, question.chunk))

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare the estimate for the cores of each queue with its limits."""
        columns = question.columns
        most = columns.numbers("maxrss", lambda queue: queue.maxrss or 0)[rows]
        least = columns.numbers("minrss", lambda queue: queue.minrss or 0)[rows]
        cores = columns.numbers("corecount", lambda queue: queue.corecount)[rows]
        # The estimate differs by cores alone, of which there are few.
        kinds, kind_of = np.unique(cores, return_inverse=True)
        need = np.array([memory_on(question, int(kind)) for kind in kinds])[kind_of]
        codes = np.zeros(len(rows), dtype=np.uint8)
        codes[(least > 0) & (need < least) & (need != 0)] = 2
        codes[(most > 0) & (need > most)] = 1
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the estimate and the limits, MiB."""
        queue = question.columns.queues[row]
        limit = {"maxrss": queue.maxrss} if reason.tag == "lowmemory" else {"minrss": queue.minrss}
        return {"memory_need_mb": memory_on(question, queue.corecount), **limit, "corecount": queue.corecount}


def memory_on(question: Question, cores: int) -> float:
    """Return the MiB that a job needs in a slot of *cores*."""
    task = question.task
    return job_memory(
        stated_memory(task, question.chunk) or 0,
        cores,
        task.ram_unit,
        task.base_ram_count,
        merging=question.chunk.is_merging,
        base_always=question.rules.base_memory_always,
        production=False,
    )


class ScratchDisk(PlainFilter):
    """A job's files must fit into its part of the scratch disk; a task may insist on reading input directly."""

    name = "analysis scratch"
    stage = "scratch disk check"
    place = 1200
    activities = _ANALYSIS
    reasons = (
        Reason("remoteio", "the task reads input directly from storage nearby only, and the queue does not"),
        Reason("disk", "jobs need more scratch disk than the queue has for them"),
    )

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare what is needed with what there is."""
        need, have = _scratch(question), scratch_for_jobs(question)[rows]
        wanted = np.where(_direct(question)[rows], float(need.direct), float(need.copied))
        codes = np.zeros(len(rows), dtype=np.uint8)
        codes[(wanted > have) & (have != 0)] = 2
        if question.task.rule("IL") == 2 and not question.chunk.is_merging:
            no_direct = question.columns.unit_flags(
                "no direct input of unit", lambda unit: not unit.direct_access_lan and unit.maxinputsize != -1
            )
            codes[no_direct[rows]] = 1
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return need and limit, MiB."""
        queue = question.columns.queues[row]
        if reason.tag == "remoteio":
            return {"direct_access_lan": queue.direct_access_lan, "maxinputsize": queue.maxinputsize}
        direct, need = bool(_direct(question)[row]), _scratch(question)
        return {
            "kind": "scratch",
            "scratch_need_mb": need.direct if direct else need.copied,
            "scratch_have_mb": float(scratch_for_jobs(question)[row]),
            "maxwdir": queue.maxwdir,
            "reads_directly": direct,
        }


def _scratch(question: Question) -> Scratch:
    if "analysis scratch" not in question.notes:
        made = analysis_scratch(question.task, question.chunk, atom_of(question))
        question.notes["analysis scratch"] = made
    found = question.notes["analysis scratch"]
    assert isinstance(found, Scratch)
    return found


def _direct(question: Question) -> Booleans:
    task, merging = question.task, question.chunk.is_merging
    key = ("reads directly", merging, task.copies_input, task.has_rule("IL"))
    return question.columns.unit_flags(key, lambda unit: reads_directly(task, unit, merging=merging))


def scratch_for_jobs(question: Question) -> Floats:
    """Return the MiB of scratch of one job at each row; 0 is no limit. Cores are those of the unified queue."""
    whole = question.asks_for_cores
    return question.columns.unit_numbers_of(
        ("scratch", whole), lambda unit: unit.maxwdir if whole else unit.maxwdir / max(1, unit.corecount)
    )


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
