"""Which queues have the input of an analysis task nearby, and how much of it (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.criteria.candidates import rows_called, selection_of
from fairq.engine.brokerage.criteria.input_data import FileCounts, usable_replicas
from fairq.engine.brokerage.criteria.sources import ReplicaState, analysis_sources_of, queues_with_data
from fairq.engine.brokerage.flow.ask import Ask, once_per_pass
from fairq.engine.brokerage.flow.plan import FINAL_STAGE
from fairq.engine.brokerage.flow.plugin import Details, Figures, Reason, Refusal, Refusals, Values, refuses, weighs
from fairq.engine.brokerage.jobs.tasks import GIB, Dataset
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.flags import has_flag
from fairq.engine.brokerage.pool.storage import USER, VP_SUFFIX, endpoints_of, units_reading

HIGH_PRIORITY = 2000
"""Task priority from which input need not be nearby."""

TAPE_WEIGHT = 0.001
"""Weight of a dataset that a queue has, but not on disk."""

DISK_GIB = 10
"""GiB of input on disk that add 1 to the data factor."""

NO_DATA, VIRTUAL, LOST = Reason("no_data"), Reason("avoid_vp"), Reason("fileunavailable")


def needs_no_locality(ask: Ask) -> bool:
    """Return whether the rules skip the locality check: for high priorities and little I/O."""
    cutoff = ask.config.number("anal_jobbroker.IO_INTENSITY_CUTOFF_USER")
    intensity = ask.task.io_intensity
    little = cutoff is not None and intensity is not None and intensity <= cutoff
    return ask.rules.locality_suppressed and (little or ask.task.task_priority >= HIGH_PRIORITY)


def ignores_locality(ask: Ask) -> bool:
    """Return whether the task may run far from its input (rules panda).

    It may with a high priority, with little I/O, or if it has failed for long.
    """
    task, config, now = ask.task, ask.config, ask.pool.world.now
    if task.task_priority >= HIGH_PRIORITY:
        return True
    cutoff = config.amount("anal_jobbroker.IO_INTENSITY_CUTOFF_USER")
    if cutoff and task.io_intensity and task.io_intensity <= cutoff:
        return True
    hours = config.amount("anal_jobbroker.DATA_CHECK_TIMEOUT_USER")
    return bool(hours) and task.frozen_time is not None and now - task.frozen_time > hours * 3600


def has_second_pass(ask: Ask) -> bool:
    """Return whether queues without the input are tried if no queue with it is left."""
    has_input = bool(ask.chunk.datasets)
    return has_input and (not ask.rules.second_pass_needs_source or analysis_sources_of(ask).remote)


class Locality(NamedTuple):
    """The part of the input at each queue; arrays have one value per row.

    Args:
        chosen: queues that have it nearby.
        weight: the sum over datasets of 1 on disk, 0.001 otherwise, 0 without.
        real: queues with a replica that is not virtual.
        union: no queue has every dataset, so queues with any dataset are chosen.
    """

    chosen: Booleans
    weight: Floats
    real: Booleans
    union: bool


class _UnitsWithData(NamedTuple):
    """The units that have a dataset: anywhere, on disk, and not only virtually."""

    any: set[int]
    disk: set[int]
    real: set[int]


def _may_use_vp(ask: Ask) -> bool:
    """Return whether virtually placed input counts; not for merges, scouts, and copied or distributed input."""
    return not (ask.chunk.is_merging or _avoids_vp(ask) or ask.task.rule("US") == 2 or ask.task.copies_input)


def _avoids_vp(ask: Ask) -> bool:
    return ask.task.has_rule("AV") or bool(analysis_sources_of(ask).distributed)


@once_per_pass
def locality(ask: Ask) -> Locality:
    """Return which queues have the input nearby."""
    pool, chosen = ask.pool, selection_of(ask)
    units_by_dataset = [_units_with(ask, dataset) for dataset in ask.chunk.datasets]
    everywhere, on_disk = (
        _common(units_of_dataset.any for units_of_dataset in units_by_dataset),
        _common(units_of_dataset.disk for units_of_dataset in units_by_dataset),
    )
    somewhere = set().union(*(units_of_dataset.any for units_of_dataset in units_by_dataset))
    somewhere_on_disk = set().union(*(units_of_dataset.disk for units_of_dataset in units_by_dataset))
    union = False
    if chosen.given:
        units = set(pool.unit_of[rows_called(pool, chosen.given)].tolist())
        chosen_units = everywhere if units & everywhere else somewhere if units & somewhere else set()
    elif on_disk:
        chosen_units = on_disk
    elif everywhere or not somewhere:
        chosen_units = everywhere
    else:
        chosen_units, union = somewhere_on_disk or somewhere, True
    real = (
        set().union(*(units_of_dataset.real for units_of_dataset in units_by_dataset))
        if union
        else _common(units_of_dataset.real for units_of_dataset in units_by_dataset)
    )
    weights = np.zeros(len(pool.unit_names))
    for units_of_dataset in units_by_dataset:
        weights[list(units_of_dataset.disk & units_of_dataset.any)] += 1
        weights[list(units_of_dataset.any - units_of_dataset.disk)] += TAPE_WEIGHT
    return Locality(chosen.candidates & _mask(pool, chosen_units), weights[pool.unit_of], _mask(pool, real), union)


def _common(sets: Iterable[set[int]]) -> set[int]:
    unit_sets = list(sets)
    return reduce(set.intersection, unit_sets) if unit_sets else set()


def _mask(pool: Pool, units: set[int]) -> Booleans:
    mask = np.zeros(len(pool.unit_names), dtype=np.bool_)
    mask[list(units)] = True
    return mask[pool.unit_of]


def _units_with(ask: Ask, dataset: Dataset) -> _UnitsWithData:
    storages, is_candidate = ask.pool.world.storages, selection_of(ask).units
    readers, states = units_reading(ask.pool, USER), dict[int, list[ReplicaState]]()
    for rse, held in ask.pool.world.replicas.get(dataset.name, {}).items():
        complete = held is None or dataset.lfns <= held
        for unit in readers.get(rse, ()):
            if is_candidate[unit]:
                state = ReplicaState(storages[rse].is_tape, complete, rse.endswith(VP_SUFFIX))
                states.setdefault(int(unit), []).append(state)
    sources = analysis_sources_of(ask)
    welcome = dataset.name in sources.distributed or not sources.available[dataset.name].complete_disk
    return _UnitsWithData(
        queues_with_data(states, include_tape=True, use_vp=True, use_incomplete=welcome),
        queues_with_data(states, include_tape=False, use_vp=_may_use_vp(ask), use_incomplete=welcome),
        queues_with_data(states, include_tape=True, use_vp=False, use_incomplete=welcome),
    )


def nearby(ask: Ask) -> Booleans:
    """Return the queues that have the input, in the pass that requires it nearby."""
    if ask.local and ask.chunk.datasets:
        return locality(ask).chosen
    return np.zeros(len(ask.pool), dtype=np.bool_)


def virtual_rows(pool: Pool) -> Booleans:
    """Return the rows with virtually placed input."""
    return pool.kept("virtual", lambda: pool.unit_rows([endpoints.is_virtual for endpoints in endpoints_of(pool)]))


def _reads_nearby(ask: Ask) -> Values | None:
    applies = ask.local and ask.chunk.datasets and not needs_no_locality(ask)
    return (locality(ask).chosen, [dataset.name for dataset in ask.chunk.datasets]) if applies else None


@refuses("data", "input data check", NO_DATA, reads=_reads_nearby, kept=False)
def data_nearby(pool: Pool, chosen: Booleans, datasets: list[str]) -> Refusals:
    """Refuse queues without the input in the first pass, unless the task needs no input nearby."""
    yield Refusal(NO_DATA, ~chosen, lambda row: {"datasets": datasets})


def _reads_vp(ask: Ask) -> Values | None:
    if not ask.rules.vp_restricted:
        return () if ask.task.has_rule("AV") else None
    if ask.chunk.is_merging or _avoids_vp(ask) or not ask.local:
        return ()
    return () if ask.chunk.datasets and locality(ask).union else None


@refuses("virtual placement", "avoid VP queue check", VIRTUAL, reads=_reads_vp)
def avoid_vp(pool: Pool) -> Refusals:
    """Refuse queues that read virtually placed input (by jobs of any kind) if the task cannot use it.

    The task says so; under the rules panda, also whenever input would have to be moved to these queues.
    """
    yield Refusal(VIRTUAL, virtual_rows(pool))


class LocalData(NamedTuple):
    """The input of an analysis chunk, and the part of it at each queue; arrays have one value per row.

    Args:
        size: bytes of all input.
        disk_size: bytes on the disks of a queue.
        disk_files, tape_files: files on its disks, and on its tapes, that jobs there will use. If no input is moved,
            only datasets of which the queue has all existing files count.
        is_whole: the queue has all existing files of every dataset.
    """

    size: float
    disk_size: Floats
    disk_files: Floats
    tape_files: Floats
    is_whole: Booleans


@once_per_pass
def local_data(ask: Ask) -> LocalData:
    """Return the part of the input at each queue; usable virtually placed files count as on disk."""
    chunk, storages, readers = ask.chunk, ask.pool.world.storages, units_reading(ask.pool, USER)
    count = len(ask.pool.units)
    disk_size, disk_files, tape_files = np.zeros((3, count))
    is_whole, sources = np.ones(count, dtype=np.bool_), analysis_sources_of(ask)
    moves = not ask.local or (bool(chunk.datasets) and locality(ask).union)
    replicas = list(usable_replicas(ask, USER, with_vp=_may_use_vp(ask)))
    for dataset in chunk.datasets:
        counts_by_unit: dict[int, FileCounts] = {}
        for replica in replicas:
            if replica.dataset is dataset:
                for unit in readers[replica.rse].tolist() if replica.rse in readers else ():
                    counts_by_unit.setdefault(unit, FileCounts()).add(replica, is_tape=storages[replica.rse].is_tape)
        is_distributed = ask.local and dataset.name in sources.distributed
        if not is_distributed and sources.available[dataset.name].complete_disk:
            total = len(dataset.lfns)
            is_whole &= np.isin(
                np.arange(count), [unit for unit, counts in counts_by_unit.items() if counts.has_all(total)]
            )
        for unit, counts in counts_by_unit.items():
            disk_size[unit] += sum(dataset.sizes[name] for name in counts.on_disk)
            disk_files[unit] += counts.disk if is_whole[unit] or moves else 0
            tape_files[unit] += counts.tape if is_whole[unit] or moves else 0
    size = float(sum(size or 0 for dataset in chunk.datasets for size in dataset.columns.sizes))
    unit_of = ask.pool.unit_of
    return LocalData(size, disk_size[unit_of], disk_files[unit_of], tape_files[unit_of], is_whole[unit_of])


def _reads_local(ask: Ask) -> Values:
    applies = ask.chunk.datasets and has_flag(ask.pool, "use_only_local_data").any()
    return (local_data(ask) if applies else None,)


@refuses("local data only", FINAL_STAGE, LOST, reads=_reads_local, phase="after")
def analysis_local_data_only(pool: Pool, inputs: LocalData | None) -> Refusals:
    """Refuse queues that accept only local input and lack some of it."""
    if inputs is not None:
        yield Refusal(
            LOST,
            has_flag(pool, "use_only_local_data") & ~inputs.is_whole,
            lambda row: {"nLocalDisk": int(inputs.disk_files[row]), "nLocalTape": int(inputs.tape_files[row])},
        )


def _reads_data(ask: Ask) -> Values | None:
    return (_data_factor(ask) if ask.chunk.datasets else None,) if ask.rules.analysis_weight == "classes" else None


@weighs("analysis data", reads=_reads_data, kept=False)
def analysis_data(pool: Pool, factor: Floats | None) -> tuple[Floats | None, Figures]:
    """Weigh the input at the queue: datasets in the first pass, otherwise GiB on its disks (rules panda)."""

    def figures(row: int) -> Details:
        return {"dataW": 1.0 if factor is None else float(factor[row])}

    return factor, figures


def _data_factor(ask: Ask) -> Floats:
    if ask.local and not locality(ask).union:
        weight = locality(ask).weight
        return np.where(weight > 0, weight, 1.0)
    inputs = local_data(ask)
    if inputs.size < GIB:
        return np.ones(len(ask.pool))
    factor: Floats = 1 + np.floor(inputs.disk_size / GIB) / DISK_GIB
    return factor
