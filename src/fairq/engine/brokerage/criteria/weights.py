"""The weights of queues by their jobs, and the jobs that a chunk of analysis is split into.

Source: docs/panda.md, Production weight and Analysis; PanDA InputChunk.getSubChunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.criteria.input_data import InputAt, input_at
from fairq.engine.brokerage.criteria.jobs import (
    Counting,
    Types,
    UserQueues,
    counted_running,
    counting_of,
    jobs_in,
    many_assigned,
    queued_of_share,
    start_rate,
    type_numbers,
    types_of,
    user_queues,
)
from fairq.engine.brokerage.criteria.walltime import HS06_OF_CORE
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Figures, Left, Values, weighs
from fairq.engine.brokerage.jobs.atom import (
    DEFAULT_MAX_FILES,
    EXPECTED_OUTPUT,
    Secondary,
    effective_events,
    effective_mib,
    event_counter,
    follows,
)
from fairq.engine.brokerage.jobs.tasks import (
    GIB,
    MIB,
    Chunk,
    File,
    Task,
    cpu_time_per_event,
    is_hs06,
    is_per_event,
    output_bytes,
    work_bytes,
)
from fairq.engine.brokerage.pool.columns import Floats, Pool
from fairq.engine.brokerage.pool.supply import pilot_counts

SCOUT_SIZE = 50_000 * MIB
DEFAULT_SIZE = 500_000 * MIB
"""Maximum bytes of a job if the task states none: for a task with scouts, and for others."""

DEFAULT_SECONDS = 345_600


class _Load(NamedTuple):
    """The files of a job: their number, bytes of input and output, seconds."""

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
    secondaries = [Secondary(dataset, group) for dataset in chunk.datasets[1:] if dataset.files]
    work = work_bytes(task.work_disk_count, task.work_disk_unit, margin)
    base = _Load(size=work, seconds=_base_seconds(task))
    holds, most_events = _Limits(task, work).holds, task.rule("NE")
    events = event_counter(files, secondaries)
    jobs, first, job = 1, 0, base.plus(_load(task, files[:group]))
    for start in range(group, len(files), group):
        load = _load(task, files[start : start + group])
        extended, end = job.plus(load), min(start + group, len(files))
        if holds(extended, sum(secondary.size_with(end - first) for secondary in secondaries)) and (
            not most_events or (events(first, end) <= most_events and follows(files[start - 1], files[start]))
        ):
            job = extended
        else:
            for secondary in secondaries:
                secondary.end_job(start - first)
            jobs, first, job = jobs + 1, start, base.plus(load)
    return jobs


class _Limits:
    def __init__(self, task: Task, work: float) -> None:
        gib, hours = task.rule("NG"), task.rule("MW")
        default = SCOUT_SIZE if task.rule("US") == 2 else DEFAULT_SIZE
        self._size = gib * GIB + EXPECTED_OUTPUT + work if gib else default
        self._files = task.rule("NF") or task.rule("MF", DEFAULT_MAX_FILES) or 0
        self._seconds = hours * 3600 if hours else DEFAULT_SECONDS

    def holds(self, job: _Load, secondary_size: float) -> bool:
        input_size = job.size + secondary_size
        size = input_size + job.output
        return (
            job.files <= self._files
            and size <= self._size
            and (job.output >= EXPECTED_OUTPUT or input_size <= self._size - EXPECTED_OUTPUT)
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


SMOOTHING = 10
"""Added to the queued jobs: it avoids a division by 0, and short queues get similar weights."""

CLASSED_SHARES = frozenset({"User Analysis", "Express Analysis"})
"""Shares whose jobs are divided among classes of queues by the class of the task."""

HIGH, MIDDLE, LOW = 1, 0, -1
MINIMUM_JOBS = 0.001
"""Jobs of a class of queues that gets none in the division."""

SMALLEST = 2**-20


def _reads_jobs(ask: Ask) -> Values:
    return input_at(ask), counting_of(ask), types_of(ask), ask.stays_near, ask.preassigned is None


@weighs("jobs", reads=_reads_jobs, kept=False, alike=lambda inputs, counting, *_: (counting, inputs.size > 0))
def jobs(
    pool: Pool, inputs: InputAt, counting: Counting, types: Types, stays_near: bool, counts_pilots: bool
) -> tuple[Floats, Figures]:
    """Weigh by the ratio of running to queued jobs of the share: (running + 1) / (queued + 10).

    If input must be moved, assigned jobs count, and the ratio is divided by manyAssigned (1 to 2).
    """
    share, running = counting.share or "", counted_running(pool, counting)

    def make() -> tuple[Floats, Floats]:
        queued = jobs_in(pool, share, "activated", "starting", "defined")
        assigned = pool.job_counts(share, "assigned")
        far = (running + 1) / (queued + assigned + SMOOTHING) / many_assigned(pool, share)
        return far, (running + 1) / (queued + SMOOTHING)

    def figures(row: int) -> Details:
        of_types = type_numbers(pool, counting, types, inputs.is_local)
        details: Details = {"nRun": float(running[row])}
        for name, state in (("nAct", "activated"), ("nAss", "assigned"), ("nStart", "starting"), ("nDef", "defined")):
            details[name] = float(pool.job_counts(share, state)[row])
        if inputs.is_local[row]:
            del details["nAss"]
        else:
            details["manyAss"] = float(many_assigned(pool, share)[row])
        if stays_near:
            details["nRunningAll"] = float(pool.job_counts(None, "running")[row])
        details["nPilot"] = float(pilot_counts(pool)[row]) if counts_pilots else 0.0
        return details | {"nRun_rt": float(of_types.running[row]), "nQueued_rt": float(of_types.queued[row])}

    far, near = pool.under(("jobs weight", counting), make)
    return np.where(inputs.is_local, near, far), figures


def _reads_balance(ask: Ask) -> Values | None:
    return (ask.task.gshare, counting_of(ask)) if ask.rules.analysis_weight == "ratio" else None


@weighs("analysis jobs", reads=_reads_balance)
def balance(pool: Pool, share: str | None, counting: Counting) -> tuple[Floats, Figures]:
    """Weigh by the ratio of running to queued jobs of the share: (running + 1) / (queued + 1) (rules documented)."""
    running, queued = counted_running(pool, counting), queued_of_share(pool, share)
    factor: Floats = (running + 1) / (queued + 1)
    return factor, lambda row: {"nRun": int(running[row]), "nQueued": int(queued[row])}


class RemainingJobs(NamedTuple):
    """Jobs that the user may yet queue, in total and by class of queues; and the number of queues of each class."""

    total: float
    of_class: dict[int, float]
    queues: dict[int, int]


def _reads_classes(ask: Ask) -> Values | None:
    if ask.rules.analysis_weight != "classes":
        return None
    task_class = None
    if ask.task.gshare in CLASSED_SHARES:
        task_class = ask.pool.world.task_classes.get(ask.task.task_id, HIGH)
    count = split_job_count(ask.task, ask.chunk, ask.rules.scratch_margin)
    return count, task_class, ask.chunk.is_merging, ask.task.gshare, counting_of(ask), user_queues(ask)


@weighs("analysis classes", reads=_reads_classes, looks_back=True)
def classes(
    pool: Pool,
    remaining: Left,
    count: int,
    task_class: int | None,
    merging: bool,
    share: str | None,
    counting: Counting,
    user: UserQueues,
) -> tuple[Floats, Figures]:
    """Divide the task's *count* of jobs among classes of queues, then by the jobs the user may queue (rules panda).

    Pseudo queues of a unit have the same weight. An unknown class of a queue counts as the middle one.
    """
    site_classes, running = pool.world.site_classes, counted_running(pool, counting)
    class_of = pool.unit_numbers_of("class", lambda unit: site_classes.get(unit.name) or MIDDLE)
    units, first = np.unique(pool.unit_of[remaining.rows], return_index=True)
    rows = np.flatnonzero(remaining.rows)[first]
    weights = np.zeros(len(pool.units))
    weights[units] = _weights(count, task_class, user.remaining[rows], class_of[rows], merging) + SMALLEST

    def figures(row: int) -> Details:
        everything = pool.job_counts(None, "running")[row]
        rate = pool.world.to_running_rates.get(pool.queues[row].unit, 0.0)
        return {
            "class": int(class_of[row]),
            "trr": float(running[row] * rate / everything) if everything > 0 else 0.0,
            "share_trr": float(start_rate(pool, share)[row]),
            "userR": int(user.running[row]),
            "userQ": int(user.queued[row]),
            "userQRem": float(user.remaining[row]),
            "nRun": int(running[row]),
        }

    return weights[pool.unit_of], figures


def _weights(count: float, task_class: int | None, remaining: Floats, class_of: Floats, merging: bool) -> Floats:
    """Return the jobs of each queue by the user's *remaining* jobs there and, unless None, the task's class."""
    site_classes = (HIGH, MIDDLE, LOW)
    user_room = RemainingJobs(
        float(remaining.sum()),
        {site_class: float(remaining[class_of == site_class].sum()) for site_class in site_classes},
        {site_class: int((class_of == site_class).sum()) for site_class in site_classes},
    )
    if task_class is None:
        return count * _part(remaining, count, user_room.total, len(remaining), merging)
    shares = _divided(count, user_room, task_class)
    weights = np.zeros(len(remaining))
    for site_class in site_classes:
        in_class = class_of == site_class
        if in_class.any():
            part = _part(
                remaining[in_class],
                shares[site_class],
                user_room.of_class[site_class],
                user_room.queues[site_class],
                merging,
            )
            weights[in_class] = shares[site_class] * part
    return weights


def _divided(count: float, user_room: RemainingJobs, task_class: int) -> dict[int, float]:
    """Return the jobs of each class of queues: the task's own class first, up to the remaining jobs there."""
    remaining_jobs = min(count, user_room.total)
    shares = {HIGH: MINIMUM_JOBS, MIDDLE: MINIMUM_JOBS, LOW: MINIMUM_JOBS}
    if task_class == LOW:
        shares[LOW] = remaining_jobs
    elif task_class == MIDDLE:
        shares[MIDDLE] = min(remaining_jobs, user_room.of_class[MIDDLE])
        shares[LOW] = remaining_jobs - shares[MIDDLE]
        if shares[MIDDLE] > 0:
            shares[MIDDLE] -= 0.1
            shares[LOW] += 0.1
    else:
        shares[HIGH] = min(remaining_jobs, user_room.of_class[HIGH])
        remaining_jobs -= shares[HIGH]
        shares[MIDDLE] = min(remaining_jobs, user_room.of_class[MIDDLE])
        shares[LOW] = remaining_jobs - shares[MIDDLE]
        if shares[HIGH] > 0:
            shares[HIGH] -= 0.052
            shares[MIDDLE] += 0.05
            shares[LOW] += 0.002
    return shares


def _part(remaining: Floats, count: float, room: float, queues: int, merging: bool) -> Floats:
    """Return the part of *count* jobs that each queue gets, by the user's remaining jobs there."""
    if room - count > 0 and not merging:
        return np.maximum(remaining - count / queues, count * 0.001) / (room - count)
    if room > 0:
        return remaining / room
    return np.full(len(remaining), 1 / queues)
