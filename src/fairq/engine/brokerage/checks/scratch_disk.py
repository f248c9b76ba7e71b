"""Scratch disk of a slot compared with the need of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, InputFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.atom import Atom, smallest_job
from fairq.engine.brokerage.jobs.scratch_needed import (
    ALWAYS_DIRECT,
    AnalysisScratch,
    ProductionScratch,
    Scratch,
    ScratchRules,
    available_scratch,
    reads_directly,
)
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Booleans, Floats


@once_per_task
def atom_of(request: BrokerageRequest) -> Atom:
    """Return the smallest job of the request's chunk, computed once."""
    return smallest_job(request.task, request.chunk)


class ScratchView(NamedTuple):
    """What a task states, the sizes in ascending order among which a need is judged by its place, and what else counts.

    *place* is the function that finds the place.
    """

    stated: ProductionScratch | AnalysisScratch
    levels: list[float]
    place: Callable[[list[float], float], int]
    rest: Hashable


class ScratchCheck(InputFilter[ScratchView]):
    """The files of a job must fit into its part of the scratch disk; a task may require that input is read directly."""

    reads: tuple[str, ...] = (
        "chunk.is_merging",
        "task.core_count",
        "task.event_service",
        "task.out_disk_count",
        "task.out_disk_unit",
        "task.work_disk_count",
        "task.work_disk_unit",
        "rule IL",
        "rule LI",
    )
    reasons = (
        Reason("remoteio"),
        Reason("disk"),
    )

    def stated(self, request: BrokerageRequest) -> ProductionScratch | AnalysisScratch:
        """Return what the task states; each flow defines it."""
        raise NotImplementedError

    def view(self, request: BrokerageRequest) -> ScratchView:
        """Return the sizes of the scratch disks, and which needs count where."""
        key = "scratch levels", _divides(request), request.rules.scratch_per_core
        levels = request.columns.kept(key, lambda: np.sort(scratch_for_jobs(request)).tolist())
        place = bisect_right if request.rules.scratch_must_exceed else bisect_left
        only_directly = request.task.rule("IL") == 2 and not request.chunk.is_merging
        return ScratchView(
            self.stated(request), levels, place, (_divides(request), _direct_key(request), only_directly)
        )

    def key_of(self, view: ScratchView, request: BrokerageRequest) -> Hashable:
        """Return how many of the different sizes of scratch disks lack each need, and which needs count where."""
        stated, levels, place, rest = view
        need = stated.of(atom_of(request))
        return place(levels, need.direct), place(levels, need.copied), rest

    def _need(self, request: BrokerageRequest) -> Scratch:
        return self.stated(request).of(atom_of(request))

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare what is needed with what there is."""
        need, have = self._need(request), scratch_for_jobs(request)
        wanted = np.where(_reads_directly(request), float(need.direct), float(need.copied))
        lacks = np.greater_equal if request.rules.scratch_must_exceed else np.greater
        codes: Codes = (lacks(wanted, have) & (have != 0)) * np.uint8(2)
        if request.task.rule("IL") == 2 and not request.chunk.is_merging:
            no_direct = request.columns.unit_flags(
                "no direct input", lambda unit: not unit.direct_access_lan and unit.maxinputsize != ALWAYS_DIRECT
            )
            codes[no_direct] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return need and limit, MiB."""
        queue = request.columns.queues[row]
        if reason.tag == "remoteio":
            return {"direct_access_lan": queue.direct_access_lan, "maxinputsize": queue.maxinputsize}
        direct, need = bool(_reads_directly(request)[row]), self._need(request)
        have = float(scratch_for_jobs(request)[row])
        limit = {"less_than": have} if request.rules.scratch_must_exceed else {}
        return {
            "kind": "scratch",
            "scratch_need_mb": need.direct if direct else need.copied,
            "scratch_have_mb": have,
            "maxwdir": queue.maxwdir,
            "reads_directly": direct,
            **limit,
        }


def _reads_directly(request: BrokerageRequest) -> Booleans:
    task, merging, by_queue = request.task, request.chunk.is_merging, request.rules.direct_access_of_queue
    key = ("reads directly", by_queue, *_direct_key(request))
    return request.columns.unit_flags(key, lambda unit: reads_directly(task, unit, merging=merging, by_queue=by_queue))


def _direct_key(request: BrokerageRequest) -> tuple[bool, bool, bool]:
    task = request.task
    return request.chunk.is_merging, task.copies_input, task.has_rule("IL")


def scratch_for_jobs(request: BrokerageRequest) -> Floats:
    """Return the MiB of scratch of one job at each row; 0 is no limit. Cores are those of the unified queue."""
    task = request.task
    event_service = _is_event_service(request)
    per_core = request.rules.scratch_per_core
    return request.columns.unit_numbers_of(
        ("scratch", _divides(request), per_core),
        lambda unit: available_scratch(task, unit, per_core=per_core, event_service=event_service),
    )


def _is_event_service(request: BrokerageRequest) -> bool:
    return request.activity == PRODUCTION and bool(request.task.event_service)


def _divides(request: BrokerageRequest) -> bool:
    # Whether `available_scratch` tells the task from one for a single core.
    return request.asks_for_cores or _is_event_service(request)


def scratch_rules(request: BrokerageRequest) -> ScratchRules:
    """Return the rules that estimate scratch."""
    rules = request.rules
    sizes = rules.scratch_floor, rules.scratch_margin
    return ScratchRules(*sizes, rules.scratch_must_exceed, rules.scratch_of_whole_job)
