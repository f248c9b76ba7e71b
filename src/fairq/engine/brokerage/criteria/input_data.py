"""How much of a task's input each queue has (docs/panda.md, Production filters)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.criteria.sources import (
    available_files,
    not_looked_up,
)
from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.flow.plan import FINAL_STAGE
from fairq.engine.brokerage.flow.plugin import (
    Details,
    Figures,
    Left,
    Reason,
    Refusal,
    Refusals,
    Values,
    no_figures,
    refuses,
    weighs,
)
from fairq.engine.brokerage.jobs.tasks import MIB, Dataset
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.flags import has_flag, other_than_jumbo
from fairq.engine.brokerage.pool.storage import DEFAULT, VP_SUFFIX, endpoints_of, units_reading
from fairq.engine.brokerage.pool.world import PRODUCTION

FAR, NOT_LOCAL = Reason("io"), Reason("non_local")


def is_io_intensive(ask: Ask) -> bool:
    """Return whether the task's I/O intensity requires input nearby."""
    return (ask.task.io_intensity or 0) > ask.config.amount("jobbroker.IO_INTENSITY_CUTOFF")


class Held(NamedTuple):
    """Files of a dataset at an endpoint; *is_whole*: it has all of them."""

    dataset: Dataset
    rse: str
    files: Set[str]
    is_whole: bool


def usable_replicas(ask: Ask, scope: str = DEFAULT, *, with_vp: bool = True) -> Iterator[Held]:
    """Yield the replicas that jobs can use.

    Incomplete replicas count in analysis only for the master dataset; in production, the rules panda ignore them for
    secondary datasets and for tasks with much I/O. Under the rules panda, single files are looked up only at endpoints
    read by a queue without a whole replica.
    """
    partial = ask.rules.partial_input
    in_production = ask.activity == PRODUCTION
    for number, dataset in enumerate(ask.chunk.datasets):
        total, replicas = len(dataset.lfns), ask.pool.world.replicas.get(dataset.name, {})
        files = {
            # Most replicas are whole.
            rse: dataset.lfns
            if held_files is None
            else available_files(dataset, rse, held_files, merging=ask.chunk.is_merging)
            for rse, held_files in replicas.items()
            if with_vp or not rse.endswith(VP_SUFFIX)
        }
        is_whole = {rse: len(names) == total for rse, names in files.items()}
        must_be_whole = number > 0
        if in_production:
            is_intensive = is_io_intensive(ask) and not ask.task.has_rule("IS")
            must_be_whole = not partial and (number > 0 or is_intensive)
        ignored: Set[str] = frozenset()
        if not (partial or must_be_whole or all(is_whole.values())):
            ignored = not_looked_up(is_whole, units_reading(ask.pool, scope))
        for rse, names in files.items():
            if names and (is_whole[rse] or not (must_be_whole or rse in ignored)):
                yield Held(dataset, rse, names, is_whole[rse])


class Amount(NamedTuple):
    """Bytes and files of the input at each row."""

    size: Floats
    files: Floats


class InputAt:
    """The input of a production chunk at each queue. A file name counts once.

    Args:
        size: bytes of all input.
        files: number of files.
        disk: what a queue has on the disks that it reads.
        anywhere: the same, tapes included.
    """

    def __init__(self, size: float, files: int, disk: Amount, anywhere: Amount) -> None:
        self.size, self.files, self.disk, self.anywhere = size, files, disk, anywhere

    @cached_property
    def is_local(self) -> Booleans:
        """Whether all input is on disk; true if there is no input."""
        return self.disk.size >= self.size

    def missing(self, present: Amount) -> tuple[Floats, Floats]:
        """Return the MiB and the files that are not in *present*."""
        return (self.size - present.size) / MIB, self.files - present.files

    def figures(self, row: int) -> Details:
        """Return the input that is on none of a queue's disks, in whole MiB and files."""
        mib, files = (self.size - self.disk.size[row]) / MIB, self.files - self.disk.files[row]
        return {"fileSizeToMoveMB": float(np.trunc(mib)), "nFilesToMove": int(files)}


@once_per_task
def input_at(ask: Ask) -> InputAt:
    """Return the input of a production chunk at each queue."""
    readers, storages, chunk = units_reading(ask.pool), ask.pool.world.storages, ask.chunk
    read = [replica for replica in usable_replicas(ask) if replica.rse in readers]
    on_disk = [replica for replica in read if not storages[replica.rse].is_tape]
    disk = _amount(ask, on_disk)
    return InputAt(chunk.total_size, len(chunk.sizes), disk, disk if len(on_disk) == len(read) else _amount(ask, read))


def _amount(ask: Ask, replicas: Iterable[Held]) -> Amount:
    """Return the part of the chunk that each row has in *replicas*."""
    sizes, total, readers = ask.chunk.sizes, ask.chunk.total_size, units_reading(ask.pool)
    has_all = np.zeros(len(ask.pool.units), np.bool_)
    parts: dict[int, Set[str]] = {}
    for _, rse, names, _ in replicas:
        if len(names) == len(sizes):
            has_all[readers[rse]] = True
            continue
        for unit in readers[rse].tolist():
            names_before = parts.get(unit)
            parts[unit] = names if names_before is None or names_before is names else names_before | names
    size, files = np.where(has_all, float(total), 0.0), np.where(has_all, float(len(sizes)), 0.0)
    for unit, names in parts.items():
        if not has_all[unit]:
            size[unit] = total if len(names) == len(sizes) else sum(sizes[name] for name in names)
            files[unit] = len(names)
    return Amount(size[ask.pool.unit_of], files[ask.pool.unit_of])


class FileCounts:
    """Numbers of files of one dataset at one queue that its jobs can use (PanDA SiteCandidate)."""

    def __init__(self) -> None:
        self.on_disk, self.on_tape, self._parts = set[str](), set[str](), set[str]()
        self._all_on_tape = False

    def add(self, replica: Held, *, is_tape: bool) -> None:
        """Add the files at an endpoint of the queue."""
        if is_tape:
            self.on_tape |= replica.files
            self._all_on_tape = self._all_on_tape or replica.is_whole
        else:
            self.on_disk |= replica.files
            self._parts |= set() if replica.is_whole else replica.files

    def has_all(self, total: int) -> bool:
        """Return whether all *total* files are on its disks or on its tapes."""
        return total in (len(self.on_disk), len(self.on_tape))

    @property
    def disk(self) -> int:
        """Files on its disks."""
        return len(self.on_disk)

    @property
    def tape(self) -> int:
        """Files on its tapes: those of an incomplete replica on disk do not count, unless a tape has all files."""
        return len(self.on_tape if self._all_on_tape else self.on_tape - self._parts)


def file_counts(ask: Ask, rows: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return the numbers of files of a production chunk on disks and on tapes at the queues of some *rows*.

    A name that is in two datasets is two files here.
    """
    counts_by_row = {row: [0, 0] for row in rows}
    replicas = list(usable_replicas(ask))
    for row, numbers in counts_by_row.items():
        is_tape = {endpoint.rse: endpoint.is_tape for endpoint in endpoints_of(ask.pool)[ask.pool.unit_of[row]].read}
        for dataset in ask.chunk.datasets:
            counts = FileCounts()
            for replica in replicas:
                if replica.dataset is dataset and replica.rse in is_tape:
                    counts.add(replica, is_tape=is_tape[replica.rse])
            numbers[0] += counts.disk
            numbers[1] += counts.tape
    return {row: (disk, tape) for row, (disk, tape) in counts_by_row.items()}


def _reads_io(ask: Ask) -> Values | None:
    applies = not ask.is_spared_alone and is_io_intensive(ask) and ask.chunk.has_input
    if not applies or ask.chunk.is_merging or ask.task.is_event_service:
        return None
    return input_at(ask), ask.task.io_intensity


@refuses("io", "IO check", FAR, reads=_reads_io, looks_back=True)
def io(pool: Pool, remaining: Left, inputs: InputAt, intensity: float) -> Refusals | None:
    """Refuse queues that lack too much input of a task with much I/O; merges and event service are exempt.

    Under the rules panda, queues that need tape for it are used only if no other is left; if no queue has enough input,
    all pass.
    """
    rules, config = pool.rules, pool.config
    max_mib = config.amount("jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT") * 1024
    max_files = config.amount("jobbroker.NUM_CUTOFF_TO_MOVE_INPUT")

    def lacks(amount: Amount) -> Booleans:
        mib, files = inputs.missing(amount)
        if rules.move_limits == "below":
            # A queue with all files passes even with cut-offs of 0.
            return (files > 0) & ((mib >= max_mib) | (files >= max_files))
        return (np.trunc(mib) > max_mib) | (files > max_files)

    def figures(row: int) -> Details:
        limits = {"SIZE_CUTOFF_TO_MOVE_INPUT": max_mib, "NUM_CUTOFF_TO_MOVE_INPUT": max_files, "ioIntensity": intensity}
        return inputs.figures(row) | limits | ({"below": max_mib} if rules.move_limits == "below" else {})

    refused = lacks(inputs.anywhere)
    if not (remaining.rows & ~refused).any():
        if rules.io_check_lapses:
            return None
    elif rules.tape_second:
        tape_only = refused | lacks(inputs.disk)
        refused = tape_only if (remaining.rows & ~tape_only).any() else refused
    return [Refusal(FAR, refused, figures)]


def _lacks_local(pool: Pool, inputs: InputAt) -> Booleans | None:
    """Return the queues that accept only local input and lack some of it (rules panda); None: no queue does."""
    local_only = has_flag(pool, "use_only_local_data")
    if inputs.size <= 0 or not pool.rules.local_data_only or not local_only.any():
        return None
    mib, files = inputs.missing(inputs.disk)
    return local_only & ((files > 0) | (mib >= 1))


@weighs("data", reads=lambda ask: (input_at(ask),), kept=False, alike=lambda inputs: (inputs.files,))
def data(pool: Pool, inputs: InputAt) -> tuple[Floats | None, Figures]:
    """Weigh by the input that is present: all of it doubles the weight, missing files lower it."""
    if inputs.size <= 0:
        return None, no_figures
    total, lacking = float(inputs.size), _lacks_local(pool, inputs)
    factor = (total + inputs.disk.size) / total / ((inputs.files - inputs.disk.files) / 100 + 1)

    def figures(row: int) -> Details:
        if lacking is not None and lacking[row]:
            return {}
        return {key: float(number) for key, number in inputs.figures(row).items()}

    # Queues that lack local input are refused later.
    return factor if lacking is None else np.where(lacking, 1.0, factor), figures


@refuses(
    "non_local",
    FINAL_STAGE,
    NOT_LOCAL,
    reads=lambda ask: (input_at(ask), ask.takes_jumbo_jobs),
    phase="after",
)
def local_data_only(pool: Pool, inputs: InputAt, jumbo: bool) -> Refusals:
    """Refuse queues that accept only local input and lack some of it."""
    lacking = _lacks_local(pool, inputs)
    if lacking is not None:
        yield Refusal(NOT_LOCAL, other_than_jumbo(pool, lacking, jumbo), inputs.figures)
