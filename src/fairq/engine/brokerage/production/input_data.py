"""How much of a chunk's input each queue has (docs/panda.md, Production filters)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.jobs.units import MIB
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.storage.availability import available_files
from fairq.engine.brokerage.storage.endpoints import endpoints_of, units_reading


class InputData(NamedTuple):
    """The input of a chunk, and the part of it at each queue. A file name counts once; arrays have one value per row.

    Args:
        size: bytes of all input.
        files: number of files.
        disk_size, disk_files: bytes and files on the disks that a queue reads.
        all_size, all_files: the same, tapes included.
    """

    size: float
    files: int
    disk_size: Floats
    disk_files: Floats
    all_size: Floats
    all_files: Floats

    @property
    def missing_mib(self) -> Floats:
        """Whole MiB that are on none of a queue's disks."""
        return np.trunc((self.size - self.disk_size) / MIB)

    @property
    def missing_files(self) -> Floats:
        """Files that are on none of a queue's disks."""
        return self.files - self.disk_files

    @property
    def is_local(self) -> np.ndarray:
        """Whether a queue has all input on disk, or the chunk has no input."""
        return self.disk_size >= self.size


def is_io_intensive(request: BrokerageRequest) -> bool:
    """Return whether the task's I/O intensity asks for input nearby."""
    return (request.task.io_intensity or 0) > request.config.amount("jobbroker.IO_INTENSITY_CUTOFF")


@once_per_task
def input_data(request: BrokerageRequest) -> InputData:
    """Return the input of the request's chunk at each queue; it is computed once per task."""
    columns, chunk = request.columns, request.chunk
    on_disk: dict[int, list[frozenset[str]]] = {}
    anywhere: dict[int, list[frozenset[str]]] = {}
    readers, storages = units_reading(columns), columns.world.storages
    for dataset in chunk.datasets:
        whole = _must_be_whole(request, dataset)
        for rse, held in columns.world.replicas.get(dataset.name, {}).items():
            units = readers.get(rse)
            files = available_files(dataset, rse, held, merging=chunk.is_merging)
            if units is None or not files or (whole and len(files) < len(dataset.lfns)):
                continue
            tape = storages[rse].is_tape
            for unit in units.tolist():
                anywhere.setdefault(unit, []).append(files)
                if not tape:
                    on_disk.setdefault(unit, []).append(files)
    disk_size, disk_files = _totals(request, on_disk)
    all_size, all_files = _totals(request, anywhere)
    return InputData(chunk.total_size, len(chunk.sizes), disk_size, disk_files, all_size, all_files)


def _must_be_whole(request: BrokerageRequest, dataset: Dataset) -> bool:
    # Under the rules panda, of secondary datasets, and where much is read, incomplete replicas are no help.
    if request.rules.partial_input:
        return False
    if dataset is not request.chunk.datasets[0]:
        return True
    return is_io_intensive(request) and not request.task.has_rule("IS")


class FileCounts(NamedTuple):
    """Numbers of files at one queue: on its disks, and on its tapes.

    Files on disk do not count as on tape, unless a tape has the whole dataset."""

    disk: int
    tape: int


def file_counts(request: BrokerageRequest, row: int) -> FileCounts:
    """Return the numbers of files at the queue that its jobs can use (PanDA SiteCandidate).

    A name that is in two datasets is two files here.
    """
    columns, chunk, disk_files, tape_files = request.columns, request.chunk, 0, 0
    places = endpoints_of(columns)[columns.unit_of[row]].read
    for dataset in chunk.datasets:
        whole, replicas = _must_be_whole(request, dataset), columns.world.replicas.get(dataset.name, {})
        on_disk: set[str] = set()
        on_tape: set[str] = set()
        all_on_tape = False
        for place in places:
            if place.rse not in replicas:
                continue
            files = available_files(dataset, place.rse, replicas[place.rse], merging=chunk.is_merging)
            complete = len(files) == len(dataset.lfns)
            if complete or not whole:
                (on_tape if place.is_tape else on_disk).update(files)
                all_on_tape = all_on_tape or (complete and place.is_tape)
        disk_files += len(on_disk)
        tape_files += len(on_tape if all_on_tape else on_tape - on_disk)
    return FileCounts(disk_files, tape_files)


def _totals(request: BrokerageRequest, held: dict[int, list[frozenset[str]]]) -> tuple[Floats, Floats]:
    sizes, known = request.chunk.sizes, {}
    size_of, files_of = np.zeros((2, len(request.columns.unit_names)))
    for unit, parts in held.items():
        key = parts[0] if len(parts) == 1 else frozenset().union(*parts)
        if key not in known:
            known[key] = sum(sizes[name] for name in key), len(key)
        size_of[unit], files_of[unit] = known[key]
    rows = request.columns.unit_of
    return size_of[rows], files_of[rows]
