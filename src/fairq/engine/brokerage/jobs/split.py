"""The number of jobs into which a chunk is split (docs/panda.md, Analysis; PanDA InputChunk.getSubChunk)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairq.engine.brokerage.jobs.atom import (
    DEFAULT_MAX_FILES,
    EXPECTED_OUTPUT,
    effective_events,
    effective_mib,
    event_counter,
    follows,
)
from fairq.engine.brokerage.jobs.secondaries import Secondary
from fairq.engine.brokerage.jobs.tasks import Chunk, File, Task
from fairq.engine.brokerage.jobs.units import (
    GIB,
    MIB,
    cpu_time_per_event,
    is_hs06,
    is_per_event,
    output_bytes,
    work_bytes,
)

SCOUT_SIZE = 50_000 * MIB
DEFAULT_SIZE = 500_000 * MIB
"""Maximum bytes of a job if the task states none: for a task with scouts, and for others."""

DEFAULT_SECONDS = 345_600
HS06_OF_CORE = 10


class _Load(NamedTuple):
    """The load of files in a job: their number, bytes of input and output, seconds."""

    files: int = 0
    size: float = 0
    output: float = 0
    seconds: float = 0

    def plus(self, other: _Load) -> _Load:
        return _Load(
            self.files + other.files,
            self.size + other.size,
            self.output + other.output,
            self.seconds + other.seconds,
        )


def split_job_count(task: Task, chunk: Chunk, margin: float) -> int:
    """Return the number of jobs into which *chunk* is split: a job takes groups of files while they fit.

    A group has as many files as rule *NF* says, or one. A chunk without input gives 0. *margin*: MiB added to the
    working space.
    """
    files = tuple(chunk.datasets[0].files) if chunk.datasets else ()
    if not files:
        return 0
    group = max(1, task.rule("NF") or 1)
    others = [Secondary(dataset, group) for dataset in chunk.datasets[1:] if dataset.files]
    work = work_bytes(task.work_disk_count, task.work_disk_unit, margin)
    base = _Load(size=work, seconds=_base_seconds(task))
    holds, most_events = _Limits(task, work).holds, task.rule("NE")
    events = event_counter(files, others)
    jobs, first, job = 1, 0, base.plus(_load(task, files[:group]))
    for start in range(group, len(files), group):
        load = _load(task, files[start : start + group])
        more, end = job.plus(load), min(start + group, len(files))
        if holds(more, sum(other.size_with(end - first) for other in others)) and (
            not most_events or (events(first, end) <= most_events and follows(files[start - 1], files[start]))
        ):
            job = more
        else:
            for other in others:
                other.end_job(start - first)
            jobs, first, job = jobs + 1, start, base.plus(load)
    return jobs


class _Limits:
    def __init__(self, task: Task, work: float) -> None:
        gib, hours = task.rule("NG"), task.rule("MW")
        default = SCOUT_SIZE if task.rule("US") == 2 else DEFAULT_SIZE
        self._size = gib * GIB + EXPECTED_OUTPUT + work if gib else default
        self._files = task.rule("NF") or task.rule("MF", DEFAULT_MAX_FILES) or 0
        self._seconds = hours * 3600 if hours else DEFAULT_SECONDS

    def holds(self, job: _Load, beside: float) -> bool:
        read = job.size + beside
        size = read + job.output
        return (
            job.files <= self._files
            and size <= self._size
            and (job.output >= EXPECTED_OUTPUT or read <= self._size - EXPECTED_OUTPUT)
            and job.seconds <= self._seconds
        )


def _load(task: Task, files: Sequence[File]) -> _Load:
    per_event = is_per_event(task.out_disk_unit)
    rate = output_bytes(task.out_disk_count, task.out_disk_unit)
    amounts = [effective_events(file) if per_event else effective_mib(file) for file in files]
    return _Load(
        len(files),
        sum(int(file.fsize or 0) for file in files),
        sum(int(rate * amount) for amount in amounts),
        sum(_seconds(task, file) for file in files),
    )


def _seconds(task: Task, file: File) -> int:
    per_event = cpu_time_per_event(task.cpu_time, task.cpu_time_unit)
    efficiency = 100 if task.cpu_efficiency is None else task.cpu_efficiency
    if per_event is None or per_event < 0 or not efficiency:
        return 0
    return int(per_event * effective_events(file) / (task.core_count or 1) / HS06_OF_CORE / (efficiency / 100))


def _base_seconds(task: Task) -> float:
    return task.base_walltime or 0 if is_hs06(task.cpu_time_unit) else 0
