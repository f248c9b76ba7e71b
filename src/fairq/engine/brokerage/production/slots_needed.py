"""Filters by what a job needs of a slot: cores, memory, scratch, time, network (reference panda 3.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairq.engine.brokerage.columns import Columns
from fairq.engine.brokerage.connectivity import connectivity_of_rules, is_connected, read_queue_connectivity
from fairq.engine.brokerage.estimates.atom import Atom, smallest_job
from fairq.engine.brokerage.estimates.memory import job_memory, stated_memory
from fairq.engine.brokerage.estimates.scratch import Scratch, production_scratch, reads_directly
from fairq.engine.brokerage.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.tasks import PRODUCTION

_PRODUCTION = frozenset({PRODUCTION})
CoreMode = Literal["multi", "any", "single"]


def atom_of(question: Question) -> Atom:
    """Return the smallest job of the question's chunk, found once."""
    if "atom" not in question.notes:
        question.notes["atom"] = smallest_job(question.task, question.chunk)
    atom = question.notes["atom"]
    assert isinstance(atom, Atom)
    return atom


def task_cores(question: Question) -> int | None:
    """Return the cores that the task's jobs, or its merges, ask for."""
    task = question.task
    return task.merge_core_count if question.chunk.is_merging and task.merge_core_count is not None else task.core_count


def core_mode(question: Question) -> CoreMode:
    """Return what queues do: several cores only, any, or single cores only."""
    cores = task_cores(question)
    if cores == 0:
        return "multi" if question.is_high_priority else "any"
    return "multi" if cores is not None and cores > 1 else "single"


class Cores(PlainFilter):
    """The queue's slots must have as many cores as the task's jobs use."""

    name = "cores"
    stage = "core count check"
    place = 800
    activities = _PRODUCTION
    reasons = (
        Reason("cpucore", "single core jobs and slots of several cores, or the other way round"),
        Reason("max_cpucore", "the slot has more cores than the task's jobs may use"),
    )

    def applies(self, question: Question) -> bool:
        """Leave a single given queue alone."""
        return question.preassigned != "single"

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare the cores of slots with those of the task."""
        columns, mode, most = question.columns, core_mode(question), question.task.most_cores

        def make() -> Codes:
            cores = columns.numbers("corecount", lambda queue: queue.corecount)
            codes = np.zeros(len(columns), dtype=np.uint8)
            if most:
                codes[cores > most] = 2
            if mode != "any":
                codes[cores <= 1 if mode == "multi" else cores > 1] = 1
            return codes

        return columns.refusals(("cores", mode, most), make, rows)

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the cores of both."""
        told: Details = {"corecount": question.columns.queues[row].corecount}
        if reason.tag == "max_cpucore":
            return told | {"maxCoreCount": question.task.most_cores}
        return told | {"coreCount": task_cores(question), "wants": core_mode(question)}


class Memory(PlainFilter):
    """A job's memory must lie between the least and the most of the queue's slots; limits themselves pass."""

    name = "memory"
    stage = "memory check"
    place = 1000
    activities = _PRODUCTION
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
        # The estimate differs by cores alone, of which there are few.
        kinds, kind_of = columns.kept("kinds of cores", lambda: _kinds_of_cores(question))
        need = np.array([memory_on(question, int(cores)) for cores in kinds])[kind_of[rows]]
        codes: Codes = ((least > 0) & (need < least) & (need > 0)) * np.uint8(2)
        codes[(most > 0) & (need > most)] = 1
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the estimate and the limits, MiB."""
        queue = question.columns.queues[row]
        limit = {"maxrss": queue.maxrss} if reason.tag == "lowmemory" else {"minrss": queue.minrss}
        return {"memory_need_mb": memory_on(question, queue.corecount), **limit, "corecount": queue.corecount}


def _kinds_of_cores(question: Question) -> tuple[np.ndarray, np.ndarray]:
    cores = question.columns.numbers("corecount", lambda queue: queue.corecount)
    return np.unique(cores, return_inverse=True)


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
    )


class ScratchDisk(PlainFilter):
    """A job's files must fit into its part of the scratch disk; a task may insist on reading input directly."""

    name = "scratch"
    stage = "disk check"
    place = 1100
    activities = _PRODUCTION
    reasons = (
        Reason("remoteio", "the task reads input directly from storage nearby only, and the queue does not"),
        Reason("disk", "jobs need more scratch disk than the queue has for them"),
    )

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare what is needed with what there is."""
        columns = question.columns
        need = _scratch_of(question)
        direct = _reads_directly(question)[rows]
        have = scratch_for_jobs(question)[rows]
        codes: Codes = ((np.where(direct, float(need.direct), float(need.copied)) > have) & (have != 0)) * np.uint8(2)
        if question.task.rule("IL") == 2 and not question.chunk.is_merging:
            no_direct = columns.flags("no direct input", lambda q: not q.direct_access_lan and q.maxinputsize != -1)
            codes[no_direct[rows]] = 1
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return need and limit, MiB."""
        queue = question.columns.queues[row]
        if reason.tag == "remoteio":
            return {"direct_access_lan": queue.direct_access_lan, "maxinputsize": queue.maxinputsize}
        direct, need = bool(_reads_directly(question)[row]), _scratch_of(question)
        return {
            "kind": "scratch",
            "scratch_need_mb": need.direct if direct else need.copied,
            "scratch_have_mb": float(scratch_for_jobs(question)[row]),
            "maxwdir": queue.maxwdir,
            "reads_directly": direct,
        }


def _scratch_of(question: Question) -> Scratch:
    if "scratch" not in question.notes:
        question.notes["scratch"] = production_scratch(question.task, atom_of(question))
    scratch = question.notes["scratch"]
    assert isinstance(scratch, Scratch)
    return scratch


def _reads_directly(question: Question) -> np.ndarray:
    task, columns, merging = question.task, question.columns, question.chunk.is_merging
    key = ("reads directly", merging, task.copies_input, task.has_rule("IL"))
    return columns.unit_flags(key, lambda unit: reads_directly(task, unit, merging=merging))


def scratch_for_jobs(question: Question) -> np.ndarray:
    """Return the MiB of scratch of one job at each row; 0 is no limit.

    Cores are those of the unified queue: a job of a single core gets that part of its scratch.
    """
    whole = question.asks_for_cores or bool(question.task.event_service)
    return question.columns.unit_numbers_of(
        ("scratch", whole), lambda unit: unit.maxwdir if whole else unit.maxwdir / max(1, unit.corecount)
    )


class Network(PlainFilter):
    """Worker nodes must reach what the task needs of the network."""

    name = "network"
    stage = "network check"
    place = 1400
    activities = _PRODUCTION
    reasons = (Reason("network", "worker nodes do not reach what the task needs of the network"),)

    def applies(self, question: Question) -> bool:
        """Look where the task asks for something."""
        asked = connectivity_of_rules(question.task.rules.get("IP"), question.task.rules.get("IK"))
        return question.preassigned != "single" and asked != (None, None)

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare what is offered with what is asked."""
        asked = connectivity_of_rules(question.task.rules.get("IP"), question.task.rules.get("IK"))
        columns = question.columns

        def make() -> Codes:
            offered = {text: is_connected(read_queue_connectivity(text), asked) for text in _connectivities(columns)}
            return np.array([not offered[queue.wnconnectivity] for queue in columns.queues], dtype=np.bool_)

        return columns.refusals(("network", asked), make, rows)

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what both say."""
        asked = connectivity_of_rules(question.task.rules.get("IP"), question.task.rules.get("IK"))
        return {"wnconnectivity": question.columns.queues[row].wnconnectivity, "ipConnectivity": str(asked)}


def _connectivities(columns: Columns) -> frozenset[str]:
    return frozenset(queue.wnconnectivity for queue in columns.queues)
