"""How much of an analysis chunk's input each queue has (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.analysis.locality import locality, may_use_vp
from fairq.engine.brokerage.analysis.sources import sources_of
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_pass
from fairq.engine.brokerage.pool.bits import joined
from fairq.engine.brokerage.pool.columns import Booleans, Floats
from fairq.engine.brokerage.storage.availability import VP_SUFFIX, available_files, not_looked_up
from fairq.engine.brokerage.storage.endpoints import USER, units_reading


class LocalData(NamedTuple):
    """The input of a chunk, and the part of it at each queue; arrays have one value per row.

    Args:
        size: bytes of all input.
        disk_size: bytes on the disks of a queue.
        disk_files, tape_files: files on its disks, and on its tapes, that jobs there will use. If no input is moved,
            only datasets of which the queue has all existing files count. Files of an incomplete replica on disk do
            not count as on tape, unless a tape has the whole dataset.
        whole: the queue has all existing files of every dataset.
    """

    size: float
    disk_size: Floats
    disk_files: Floats
    tape_files: Floats
    whole: Booleans


@once_per_pass
def local_data(request: BrokerageRequest) -> LocalData:
    """Return the input at the queues; it is computed once per pass.

    Incomplete replicas count for the master dataset only. Virtually placed files count as on disk if they can be used.
    """
    columns, chunk, storages = request.columns, request.chunk, request.world.storages
    readers, count = units_reading(columns, USER), len(columns.unit_names)
    disk_size, disk_files, tape_files = np.zeros((3, count))
    whole, with_vp = np.ones(count, dtype=np.bool_), may_use_vp(request)
    moves = not request.local or (bool(chunk.datasets) and locality(request).union)
    for number, dataset in enumerate(chunk.datasets):
        disk: dict[int, set[str]] = {}
        tape: dict[int, set[str]] = {}
        all_on_tape: set[int] = set()
        found_on_disk: dict[int, set[str]] = {}
        total = len(dataset.lfns)
        replicas = {
            rse: available_files(dataset, rse, held, merging=chunk.is_merging)
            for rse, held in request.world.replicas.get(dataset.name, {}).items()
            if with_vp or not rse.endswith(VP_SUFFIX)
        }
        unasked = _not_looked_up(request, {rse: len(files) == total for rse, files in replicas.items()})
        for rse, files in replicas.items():
            if len(files) < total and (number or rse in unasked):
                continue
            for unit in readers.get(rse, ()):
                (tape if storages[rse].is_tape else disk).setdefault(int(unit), set()).update(files)
                if storages[rse].is_tape and len(files) == total:
                    all_on_tape.add(int(unit))
                elif not storages[rse].is_tape and len(files) < total:
                    found_on_disk.setdefault(int(unit), set()).update(files)
        sources = sources_of(request)
        apart = request.local and dataset.name in sources.distributed
        if not apart and sources.available[dataset.name].complete_disk:
            complete = {unit for held_there in (disk, tape) for unit, n in held_there.items() if len(n) == total}
            whole &= np.isin(np.arange(count), list(complete))
        sizes = dataset.sizes
        for unit, names in disk.items():
            disk_size[unit] += sum(sizes[name] for name in names)
            disk_files[unit] += len(names) if whole[unit] or moves else 0
        for unit, names in tape.items():
            used = names if unit in all_on_tape else names - found_on_disk.get(unit, set())
            tape_files[unit] += len(used) if whole[unit] or moves else 0
    size = float(sum(size or 0 for dataset in chunk.datasets for size in dataset.columns.sizes))
    of = columns.unit_of
    return LocalData(size, disk_size[of], disk_files[of], tape_files[of], whole[of])


def _not_looked_up(request: BrokerageRequest, is_whole: Mapping[str, bool]) -> frozenset[str]:
    """Return the endpoints where single files are not looked for, under the rules panda."""
    if request.rules.partial_input or all(is_whole.values()):
        return frozenset()
    readers = units_reading(request.columns, USER)
    units = {rse: joined(1 << int(unit) for unit in readers[rse]) for rse in is_whole if rse in readers}
    return not_looked_up(is_whole, units)
