"""Scratch disk of a slot compared with the need of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask, atom_of
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.flow.pool import Pool
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.scratch import (
    ALWAYS_DIRECT,
    Scratch,
    ScratchRules,
    analysis_scratch,
    available_scratch,
    production_scratch,
    reads_directly,
)
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Floats

COPIED_ONLY, DISK = Reason("remoteio"), Reason("disk")


def _how(rules: Rules) -> ScratchRules:
    sizes = rules.scratch_floor, rules.scratch_margin
    return ScratchRules(*sizes, rules.scratch_must_exceed, rules.scratch_of_whole_job)


def uses_whole_scratch(ask: Ask) -> bool:
    """Return whether a job may use the scratch of its whole slot: where cores do not divide it (`scratch_per_core`)."""
    return ask.asks_for_cores or (ask.activity == PRODUCTION and bool(ask.task.event_service))


def scratch_for_jobs(pool: Pool, whole: bool) -> Floats:
    """Return the MiB of scratch of one job at each row; 0 is no limit. Cores are those of the unified queue."""
    per_core = pool.rules.scratch_per_core or not whole
    return pool.unit_numbers_of(("scratch", per_core), lambda unit: available_scratch(unit, per_core=per_core))


def _read(ask: Ask, need: Scratch) -> Values:
    task, merging = ask.task, ask.chunk.is_merging
    must = task.rule("IL") == 2 and not merging
    return need.copied, need.direct, uses_whole_scratch(ask), merging, task.copies_input, task.has_rule("IL"), must


def _reads_scratch(ask: Ask) -> Values:
    return _read(ask, production_scratch(ask.task, _how(ask.rules)).of(atom_of(ask)))


def _reads_analysis_scratch(ask: Ask) -> Values:
    stated = analysis_scratch(ask.task, _how(ask.rules), merging=ask.chunk.is_merging)
    return _read(ask, stated.of(atom_of(ask)))


def _alike(pool: Pool, copied: float, direct: float, whole: bool, *rest: bool) -> Values:
    """Return how many of the different scratch disks lack each need."""
    sizes = pool.under(("scratch sizes", whole), lambda: np.unique(scratch_for_jobs(pool, whole)).tolist())
    place = bisect_right if pool.rules.scratch_must_exceed else bisect_left
    return place(sizes, copied), place(sizes, direct), whole, *rest


@refuses("scratch", "disk check", COPIED_ONLY, DISK, reads=_reads_scratch, alike=_alike)
def scratch(
    pool: Pool, copied: float, direct: float, whole: bool, merging: bool, copies: bool, may_read: bool, must_read: bool
) -> Refusals:
    """The files of a job must fit into its part of the scratch disk; a task may require that input is read directly."""
    have, queues, rules = scratch_for_jobs(pool, whole), pool.queues, pool.rules
    how = merging, copies, may_read, rules.direct_access_of_queue
    directly = pool.unit_flags(("reads directly", *how), lambda unit: reads_directly(unit, *how))
    need = np.where(directly, float(direct), float(copied))
    if must_read:
        copied_only = pool.unit_flags(
            "no direct input", lambda unit: not unit.direct_access_lan and unit.maxinputsize != ALWAYS_DIRECT
        )
        yield Refusal(
            COPIED_ONLY,
            copied_only,
            lambda row: {
                "direct_access_lan": queues[row].direct_access_lan,
                "maxinputsize": queues[row].maxinputsize,
            },
        )

    def figures(row: int) -> Details:
        return {
            "kind": "scratch",
            "scratch_need_mb": direct if directly[row] else copied,
            "scratch_have_mb": float(have[row]),
            "maxwdir": queues[row].maxwdir,
            "reads_directly": bool(directly[row]),
            **({"less_than": float(have[row])} if rules.scratch_must_exceed else {}),
        }

    lacking = need >= have if rules.scratch_must_exceed else need > have
    yield Refusal(DISK, lacking & (have != 0), figures)


analysis_scratch_disk = scratch._replace(
    name="analysis scratch", stage="scratch disk check", reads=_reads_analysis_scratch
)
