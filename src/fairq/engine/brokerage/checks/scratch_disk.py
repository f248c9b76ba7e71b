"""Scratch disk of a slot compared with the need of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.atom import Atom, smallest_job
from fairq.engine.brokerage.jobs.scratch_needed import (
    ALWAYS_DIRECT,
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


class ScratchCheck(KeyedFilter):
    """The files of a job must fit into its part of the scratch disk; a task may require that input is read directly."""

    reasons = (
        Reason("remoteio"),
        Reason("disk"),
    )

    def estimate(self, request: BrokerageRequest) -> Scratch:
        """Return the need of a job; each flow defines it."""
        raise NotImplementedError

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return how many of the different sizes of scratch disks lack each need, and which needs count where."""
        need, levels, rest = self.estimate(request), *_levels(request)
        lacking = bisect_right if request.rules.scratch_must_exceed else bisect_left
        return lacking(levels, need.direct), lacking(levels, need.copied), rest

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare what is needed with what there is."""
        need, have = self.estimate(request), scratch_for_jobs(request)
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
        direct, need = bool(_reads_directly(request)[row]), self.estimate(request)
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
    task, merging = request.task, request.chunk.is_merging
    key = ("reads directly", *_direct_key(request))
    return request.columns.unit_flags(key, lambda unit: reads_directly(task, unit, merging=merging))


def _direct_key(request: BrokerageRequest) -> tuple[bool, bool, bool]:
    task = request.task
    return request.chunk.is_merging, task.copies_input, task.has_rule("IL")


def _levels(request: BrokerageRequest) -> tuple[list[float], Hashable]:
    """Return the sizes in ascending order, among which a need is judged by its place, and what else counts."""
    task, merging, rules = request.task, request.chunk.is_merging, request.rules
    is_single, directly, copies = task.core_count in (None, 0, 1), task.rules.get("IL"), task.rules.get("LI")
    key = (
        "scratch levels",
        rules.scratch_per_core,
        request.activity,
        is_single,
        bool(task.event_service),
        merging,
        directly,
        copies,
    )

    def make() -> tuple[list[float], Hashable]:
        only_directly = task.rule("IL") == 2 and not merging
        levels = np.sort(scratch_for_jobs(request)).tolist()
        return levels, (_divides(request), _direct_key(request), only_directly)

    return request.columns.kept(key, make)


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
