"""How much of a chunk's input each queue has (docs/panda.md, Production filters)."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset
from fairq.engine.brokerage.jobs.units import MIB
from fairq.engine.brokerage.pool.bits import bits_of, flags_in, joined, rows_in
from fairq.engine.brokerage.pool.columns import Columns, Floats
from fairq.engine.brokerage.storage.availability import available_files, not_looked_up
from fairq.engine.brokerage.storage.endpoints import endpoints_of, units_reading


class Part(Struct, frozen=True, gc=False):
    """Queues that have the same part of the input: the set of them, its bytes and its files."""

    rows: int
    size: float
    files: int


class InputData:
    """The input of a chunk, and the part of it at each queue. A file name counts once; arrays have one value per row.

    Args:
        size: bytes of all input.
        files: number of files.
        on_disk: what the queues have on the disks that they read: the rows, bytes and files; rows not named have none.
        anywhere: the same, tapes included.

    Attributes:
        local: the queues that have all input on disk, as a set; all queues if the chunk has no input.
    """

    def __init__(self, columns: Columns, size: float, files: int, on_disk: list[Part], anywhere: list[Part]) -> None:
        self.size = size
        self.files = files
        self.on_disk = on_disk
        self.anywhere = anywhere
        self._columns = columns
        if size <= 0:
            self.local = (1 << len(columns)) - 1
        else:
            self.local = joined([part.rows for part in on_disk if part.size >= size])

    @cached_property
    def disk_size(self) -> Floats:
        """Bytes on the disks that a queue reads."""
        return self._spread([(part.rows, part.size) for part in self.on_disk])

    @cached_property
    def disk_files(self) -> Floats:
        """Files on the disks that a queue reads."""
        return self._spread([(part.rows, part.files) for part in self.on_disk])

    @property
    def missing_mib(self) -> Floats:
        """Whole MiB that are on none of a queue's disks."""
        return np.trunc((self.size - self.disk_size) / MIB)

    @property
    def missing_files(self) -> Floats:
        """Files that are on none of a queue's disks."""
        return self.files - self.disk_files

    @cached_property
    def is_local(self) -> np.ndarray:
        """*local* as one value per row."""
        return flags_in(self.local, len(self._columns))

    def _spread(self, numbers: Iterable[tuple[int, float]]) -> Floats:
        found = np.zeros(len(self._columns))
        for rows, number in numbers:
            found[rows_in(rows, len(found))] = number
        return found


def is_io_intensive(request: BrokerageRequest) -> bool:
    """Return whether the task's I/O intensity asks for input nearby."""
    return (request.task.io_intensity or 0) > request.config.amount("jobbroker.IO_INTENSITY_CUTOFF")


@once_per_task
def input_data(request: BrokerageRequest) -> InputData:
    """Return the input of the request's chunk at each queue; it is computed once per task."""
    columns, chunk = request.columns, request.chunk
    on_disk: list[_Held] = []
    on_tape: list[_Held] = []
    readers, storages = _rows_reading(columns), columns.world.storages
    for dataset in chunk.datasets:
        whole, names = _must_be_whole(request, dataset), dataset.lfns
        unasked = _not_looked_up(request, dataset)
        for rse, held in columns.world.replicas.get(dataset.name, {}).items():
            rows = readers.get(rse)
            if rows is None:
                continue
            # Most replicas are whole.
            files = names if held is None else available_files(dataset, rse, held, merging=chunk.is_merging)
            if not files or (len(files) < len(names) and (whole or rse in unasked)):
                continue
            (on_tape if storages[rse].is_tape else on_disk).append((rows, files))
    disk = everywhere = _counted(chunk, _apart(on_disk))
    if on_tape:
        everywhere = _counted(chunk, _apart([*on_disk, *on_tape]))
    return InputData(columns, chunk.total_size, len(chunk.sizes), disk, everywhere)


_Held = tuple[int, Set[str]]
"""Queues, as a set, and the files that they have."""


def _apart(held: Iterable[_Held]) -> list[_Held]:
    """Return what *held* comes to, each queue in one element only."""
    found: list[_Held] = []
    taken = 0
    for rows, files in held:
        if rows & taken:
            _add(found, rows, files)
        else:
            found.append((rows, files))
        taken |= rows
    return found


def _add(found: list[_Held], rows: int, files: Set[str]) -> None:
    """Add *files* to what the queues in *rows* have; no queue is in two elements of *found*."""
    for place, (others, known) in enumerate(found):
        both = rows & others
        if both:
            found[place] = both, known | files
            if both != others:
                found.append((others ^ both, known))
            rows ^= both
            if not rows:
                return
    found.append((rows, files))


def _counted(chunk: Chunk, found: list[_Held]) -> list[Part]:
    sizes = chunk.sizes
    return [
        Part(rows, chunk.total_size, len(sizes))
        if len(files) == len(sizes)
        else Part(rows, sum(sizes[name] for name in files), len(files))
        for rows, files in found
    ]


def _rows_reading(columns: Columns) -> dict[str, int]:
    """Return for each endpoint the queues that read from it, as a set."""

    def make() -> dict[str, int]:
        found = {}
        for rse, units in units_reading(columns).items():
            reads = np.zeros(len(columns.units), dtype=np.bool_)
            reads[units] = True
            found[rse] = bits_of(reads[columns.unit_of])
        return found

    return columns.kept("rows reading", make)


_NONE: frozenset[str] = frozenset()


def _not_looked_up(request: BrokerageRequest, dataset: Dataset) -> Set[str]:
    """Return the endpoints where single files of *dataset* are not looked for, under the rules panda."""
    columns, chunk = request.columns, request.chunk
    replicas = columns.world.replicas.get(dataset.name, {})
    if request.rules.partial_input or len(replicas) < 2 or not any(replicas.values()):
        return _NONE
    total = len(dataset.lfns)
    is_whole = {
        rse: len(available_files(dataset, rse, held, merging=chunk.is_merging)) == total
        for rse, held in replicas.items()
    }
    return not_looked_up(is_whole, _rows_reading(columns))


def _must_be_whole(request: BrokerageRequest, dataset: Dataset) -> bool:
    # Under the rules panda, of secondary datasets, and where much is read, incomplete replicas are no help.
    if request.rules.partial_input:
        return False
    if dataset is not request.chunk.datasets[0]:
        return True
    return is_io_intensive(request) and not request.task.has_rule("IS")


class FileCounts(NamedTuple):
    """Numbers of files at one queue: on its disks, and on its tapes.

    Files of an incomplete replica on disk do not count as on tape, unless a tape has the whole dataset."""

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
        unasked = _not_looked_up(request, dataset)
        on_disk: set[str] = set()
        on_tape: set[str] = set()
        found_on_disk: set[str] = set()
        all_on_tape = False
        for place in places:
            if place.rse not in replicas:
                continue
            files = available_files(dataset, place.rse, replicas[place.rse], merging=chunk.is_merging)
            complete = len(files) == len(dataset.lfns)
            if complete or not (whole or place.rse in unasked):
                (on_tape if place.is_tape else on_disk).update(files)
                all_on_tape = all_on_tape or (complete and place.is_tape)
                if not (complete or place.is_tape):
                    found_on_disk.update(files)
        disk_files += len(on_disk)
        tape_files += len(on_tape if all_on_tape else on_tape - found_on_disk)
    return FileCounts(disk_files, tape_files)
