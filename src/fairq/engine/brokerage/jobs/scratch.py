"""Scratch disk of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

import math

from msgspec import Struct

from fairq.engine.brokerage.jobs.atom import Atom
from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.jobs.units import MIB, is_per_event, output_bytes, work_bytes
from fairq.engine.brokerage.pool.model import Queue

ALWAYS_DIRECT = -1
"""The ``maxinputsize`` of a queue that never copies input."""


class Scratch(Struct, frozen=True, gc=False):
    """MiB of scratch that a job needs if it copies its input, and if it reads it directly."""

    copied: float
    direct: float


class ScratchRules(Struct, frozen=True, gc=False):
    """Rules for scratch; the fields are the rule points ``scratch_NAME``, sizes in MiB."""

    floor: float
    margin: float
    must_exceed: bool
    of_whole_job: bool

    def mib(self, size: float) -> float:
        """Return bytes as MiB: exact if a limit must be exceeded, otherwise rounded down."""
        return size / MIB if self.must_exceed else int(size // MIB)


class ProductionScratch(Struct, frozen=True, gc=False):
    """What a task states of the scratch of its production jobs.

    Args:
        per_event: output grows with events and not with the size of the input.
        output: its bytes per event or MiB; *least* bytes of it count at least.
        work: bytes of working space.
        how: the rules.
    """

    per_event: bool
    output: float
    least: float
    work: float
    how: ScratchRules

    def of(self, atom: Atom) -> Scratch:
        """Return the scratch of a job: output, working space and copied input."""
        factor = atom.events if self.per_event else atom.effective_mib
        kept = max(self.output * factor, self.least) + self.work
        return Scratch(self.how.mib(kept + atom.input_bytes), self.how.mib(kept))


def production_scratch(task: Task, how: ScratchRules) -> ProductionScratch:
    """Return what *task* states."""
    return ProductionScratch(
        is_per_event(task.out_disk_unit),
        output_bytes(task.out_disk_count, task.out_disk_unit),
        how.floor * MIB,
        work_bytes(task.work_disk_count, task.work_disk_unit, how.margin),
        how,
    )


class AnalysisScratch(Struct, frozen=True, gc=False):
    """What a task states of the scratch of its analysis jobs.

    Args:
        merging: the jobs merge; such a job stores its input twice.
        per_mib: bytes of output per MiB of input.
        work: bytes of working space.
        copied, direct: MiB that a job needs at least if it copies its input, and if it reads it directly.
        how: the rules.
    """

    merging: bool
    per_mib: float
    work: float
    copied: float
    direct: float
    how: ScratchRules

    def of(self, atom: Atom) -> Scratch:
        """Return the scratch of a job: output, working space and copied input."""
        if self.merging:
            twice = self.how.mib(2 * atom.input_bytes)
            return Scratch(twice, twice)
        kept = self.per_mib * atom.effective_mib + self.work
        return Scratch(
            max(self.how.mib(kept + atom.input_bytes), self.copied),
            max(self.how.mib(kept), self.direct),
        )


def analysis_scratch(task: Task, how: ScratchRules, *, merging: bool) -> AnalysisScratch:
    """Return what *task* states.

    Under the rules panda, with rule *NG* (GiB of a job), all of that size must fit if input is copied, otherwise its
    output.
    """
    per_mib = output_bytes(task.out_disk_count, task.out_disk_unit)
    work = work_bytes(task.work_disk_count, task.work_disk_unit, how.margin)
    copied = direct = -math.inf
    gib = task.rule("NG") if how.of_whole_job else None
    if gib:
        copied = limit = gib * 1024
        if not task.copies_input:
            direct = (per_mib * limit + work) / MIB
    return AnalysisScratch(merging, per_mib, work, copied, direct, how)


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
