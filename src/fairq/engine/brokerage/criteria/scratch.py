"""Scratch disk of a slot compared with the need of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.flow.ask import Ask, atom_of
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.jobs.atom import Atom
from fairq.engine.brokerage.jobs.tasks import MIB, Task, is_per_event, output_bytes, work_bytes
from fairq.engine.brokerage.pool.columns import Floats, Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import PRODUCTION, Queue
from fairq.engine.distinct import distinct

ALWAYS_DIRECT = -1
"""The ``maxinputsize`` of a queue that never copies input."""


class Scratch(Struct, frozen=True, gc=False):
    """MiB of scratch that a job needs if it copies its input, and if it reads it directly."""

    copied: float
    direct: float


def _mib(size: float, rules: Rules) -> float:
    """Return bytes as MiB: exact if a limit must be exceeded, otherwise rounded down."""
    return size / MIB if rules.scratch_must_exceed else int(size // MIB)


def production_scratch(task: Task, atom: Atom, rules: Rules) -> Scratch:
    """Return the scratch of a job *atom* of *task*: output, working space and copied input."""
    factor = atom.events if is_per_event(task.out_disk_unit) else atom.effective_mib
    output = output_bytes(task.out_disk_count, task.out_disk_unit) * factor
    work = work_bytes(task.work_disk_count, task.work_disk_unit, rules.scratch_margin)
    uncopied = max(output, rules.scratch_floor * MIB) + work
    return Scratch(_mib(uncopied + atom.input_bytes, rules), _mib(uncopied, rules))


def analysis_scratch(task: Task, atom: Atom, rules: Rules, *, merging: bool) -> Scratch:
    """Return the scratch of a job *atom* of *task*: output, working space and copied input; merges store input twice.

    Under the rules panda, with rule *NG* (GiB of a job), that size must fit if input is copied, otherwise its output.
    """
    if merging:
        twice = _mib(2 * atom.input_bytes, rules)
        return Scratch(twice, twice)
    per_mib = output_bytes(task.out_disk_count, task.out_disk_unit)
    work = work_bytes(task.work_disk_count, task.work_disk_unit, rules.scratch_margin)
    uncopied = per_mib * atom.effective_mib + work
    copied, direct = _mib(uncopied + atom.input_bytes, rules), _mib(uncopied, rules)
    gib = task.rule("NG") if rules.scratch_of_whole_job else None
    if gib:
        copied = max(copied, gib * 1024)
        if not task.copies_input:
            direct = max(direct, (per_mib * gib * 1024 + work) / MIB)
    return Scratch(copied, direct)


def reads_directly(queue: Queue, merging: bool, copies: bool, may_read: bool, by_queue: bool = False) -> bool:
    """Return whether jobs at *queue* read input directly (PanDA use_direct_io_for_job).

    Args:
        merging: the jobs merge.
        copies: the task copies its input. may_read: it may be read directly (rule *IL*).
        by_queue: the queue's direct access suffices, whatever the task says (docs/panda.md, Estimates).
    """
    if by_queue and queue.direct_access_lan:
        return True
    if merging:
        return False
    return queue.maxinputsize == ALWAYS_DIRECT or (not copies and may_read and queue.direct_access_lan)


def available_scratch(queue: Queue, *, per_core: bool) -> float:
    """Return the MiB of scratch that one job has at *queue*; 0 is no limit.

    With *per_core*, the scratch of a slot is divided among its cores.
    """
    return queue.maxwdir / max(1, queue.corecount) if per_core else queue.maxwdir


COPIED_ONLY, DISK = Reason("remoteio"), Reason("disk")


def uses_whole_scratch(ask: Ask) -> bool:
    """Return whether a job may use the scratch of its whole slot (unless the rule `scratch_per_core` divides it)."""
    return ask.asks_for_cores or (ask.activity == PRODUCTION and bool(ask.task.event_service))


def scratch_for_jobs(pool: Pool, whole_slot: bool) -> Floats:
    """Return the MiB of scratch of one job at each row; 0 is no limit. Cores are those of the unified queue."""
    per_core = pool.rules.scratch_per_core or not whole_slot
    return pool.unit_numbers_of(("scratch", per_core), lambda unit: available_scratch(unit, per_core=per_core))


def _values_of(ask: Ask, need: Scratch) -> Values:
    task, merging = ask.task, ask.chunk.is_merging
    must_read = task.rule("IL") == 2 and not merging
    return need.copied, need.direct, uses_whole_scratch(ask), merging, task.copies_input, task.has_rule("IL"), must_read


def _reads_scratch(ask: Ask) -> Values:
    return _values_of(ask, production_scratch(ask.task, atom_of(ask), ask.rules))


def _reads_analysis_scratch(ask: Ask) -> Values:
    return _values_of(ask, analysis_scratch(ask.task, atom_of(ask), ask.rules, merging=ask.chunk.is_merging))


def _alike(pool: Pool, copied: float, direct: float, whole_slot: bool, *flags: bool) -> Values:
    """Return the positions of both needs among the sorted scratch sizes; equal positions get equal answers."""
    sizes = pool.under(("scratch sizes", whole_slot), lambda: distinct(scratch_for_jobs(pool, whole_slot)).tolist())
    bisect = bisect_right if pool.rules.scratch_must_exceed else bisect_left
    return bisect(sizes, copied), bisect(sizes, direct), whole_slot, *flags


@refuses("scratch", "disk check", COPIED_ONLY, DISK, reads=_reads_scratch, alike=_alike)
def scratch(
    pool: Pool,
    copied: float,
    direct: float,
    whole_slot: bool,
    merging: bool,
    copies: bool,
    may_read: bool,
    must_read: bool,
) -> Refusals:
    """Refuse queues with too little scratch for a job, or without direct reading if the task requires it."""
    available, queues, rules = scratch_for_jobs(pool, whole_slot), pool.queues, pool.rules
    access = merging, copies, may_read, rules.direct_access_of_queue
    directly = pool.unit_flags(("reads directly", *access), lambda unit: reads_directly(unit, *access))
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
            "scratch_have_mb": float(available[row]),
            "maxwdir": queues[row].maxwdir,
            "reads_directly": bool(directly[row]),
            **({"less_than": float(available[row])} if rules.scratch_must_exceed else {}),
        }

    lacking = need >= available if rules.scratch_must_exceed else need > available
    yield Refusal(DISK, lacking & (available != 0), figures)


analysis_scratch_disk = scratch._replace(
    name="analysis scratch", stage="scratch disk check", reads=_reads_analysis_scratch
)
