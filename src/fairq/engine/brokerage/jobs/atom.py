"""The smallest job that a chunk can be split into, with its other datasets (docs/panda.md, Estimates).

Sources: PanDA InputChunk.getMaxAtomSize and getSubChunk."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from fairq.engine.brokerage.jobs.tasks import GIB, MIB, Chunk, Dataset, File, Files, Task, rule_number

_PER_JOB = re.compile(r"np=(\d+)")
_RATIO = re.compile(r"ratio=(\d+(?:\.\d+)*)")


class Secondary:
    """A secondary dataset, of which each job reads the next files.

    The dataset's attributes set the number of files of a job: all (``nosplit``), N (``np=N``), or R per file of the
    master (``ratio=R``, default 1). With ``ru``, files are reused.

    Attributes:
        is_whole: every job reads all of it.
    """

    def __init__(self, dataset: Dataset, step: int = 1) -> None:
        """*step*: number of master files that a job takes at a time."""
        attributes = dataset.attributes
        self.is_whole = "nosplit" in attributes
        self._files = tuple(dataset.files)
        self._per_job = int(match[1]) if (match := _PER_JOB.search(attributes)) else None
        self._ratio = _number(match[1]) if (match := _RATIO.search(attributes)) else 1
        self._is_reusable = "ru" in attributes.split(",")
        self._step = step
        self._next = 0
        self._sizes = [0.0, *accumulate(file.fsize or 0.0 for file in self._files)]
        self._events = [0, *accumulate(map(_events, self._files))]

    def files(self, count: int) -> list[File]:
        """Return the files that the current job reads if it has *count* master files."""
        return [file for start, end in self._runs(count) for file in self._files[start:end]]

    def size_with(self, count: int) -> float:
        """Return the bytes that the current job would read with *count* master files.

        As in PanDA, the last file is counted before reuse is considered.
        """
        return sum(self._sizes[end] - self._sizes[start] for start, end in self._runs(count, ahead=True))

    def events_with(self, count: int) -> int:
        """Return the number of events that the current job would read with *count* master files."""
        return sum(self._events[end] - self._events[start] for start, end in self._runs(count, ahead=True))

    def end_job(self, count: int) -> None:
        """End the current job with *count* master files and begin the next one."""
        if not self.is_whole:
            self._next = self._runs(count)[-1][1]

    def _runs(self, count: int, *, ahead: bool = False) -> list[tuple[int, int]]:
        total = len(self._files)
        if self.is_whole:
            return [(0, total)]
        if not self._is_reusable:
            return [(self._next, min(self._next + self._needed(count), total))]
        runs, start, taken_files = [], self._next, 0
        for done in range(self._step, count + self._step, self._step):
            needed = self._needed(min(done, count)) - taken_files
            if start + needed > total and not (ahead and done >= count):
                start = 0
            end = min(start + needed, total)
            runs.append((start, end))
            taken_files += end - start
            start = end
            if self._per_job is not None:
                break
        return runs

    def _needed(self, count: int) -> int:
        return math.ceil(count * self._ratio) if self._per_job is None else self._per_job


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1


def _events(file: File) -> int:
    if file.start_event is not None and file.end_event is not None:
        return file.end_event - file.start_event + 1
    return file.events or 0


DEFAULT_MAX_FILES = 200
MERGE_MAX_FILES = 50
"""Files of a job, and of a merge, if the task states no limit."""

EXPECTED_OUTPUT = 1500 * MIB
"""Bytes of output reserved for a job."""

_LARGEST_INPUT = 20 * GIB - EXPECTED_OUTPUT
"""Maximum bytes of a job's input if a rule is 0, so that only size limits its files."""

_EXACT = 2**53
"""Below this, whole numbers are the same as reals."""

_JOB_RULES = "NF", "NE", "MF"
_MERGE_RULES = "ZF", "ZE", "ZM"


Number = TypeVar("Number", int, float)


class Atom(Struct, frozen=True, gc=False):
    """The largest of the smallest legal jobs: bytes of input with secondaries, effective MiB and events of the master
    files."""

    input_bytes: float = 0
    effective_mib: float = 0
    events: int = 0


def effective_events(file: File) -> int:
    """Return the events of a file that are read: those of its range (at least 1), else all, else 1."""
    if file.start_event is not None and file.end_event is not None:
        return max(file.end_event - file.start_event + 1, 1)
    return file.events or 1


def effective_mib(file: File) -> float:
    """Return the MiB of a file that are read: its range's part of the size; 1 if that is nothing."""
    size: float = file.fsize or 0
    if size and file.events and file.start_event is not None and file.end_event is not None:
        size = int(size * (file.end_event - file.start_event + 1) / file.events)
    return size / MIB if size else 1.0


def smallest_job(task: Task, chunk: Chunk) -> Atom:
    """Return the smallest job of *chunk*: *NF* files, or consecutive events up to *NE*, or one file.

    A merge uses the rules *ZF*, *ZE* and *ZM* instead of *NF*, *NE* and *MF*. Each number is the largest over all
    smallest jobs.
    """
    if not chunk.datasets:
        return Atom()
    master, *other_datasets = chunk.datasets
    limits = _limits(*map(task.rules.get, _MERGE_RULES if chunk.is_merging else _JOB_RULES), chunk.is_merging)
    files_per_job, events_per_job, max_files, by_size = limits
    columns = master.columns
    if columns.lfn and not other_datasets and columns.are_whole and not by_size:
        # Events are counted where files are given as ranges only.
        per_job = files_per_job or 1
        if events_per_job is not None:
            per_job = max_files if events_per_job >= 0 else 1
        if per_job == 1 or len(master.sizes) == len(columns.lfn):
            return _largest_run(columns, max(1, per_job))
    master_files, total = tuple(master.files), len(master.columns.lfn)
    count = max(1, files_per_job or 1)
    secondaries = [Secondary(dataset, count if files_per_job else 1) for dataset in other_datasets if dataset.files]
    if by_size:
        jobs = _jobs_by_size(master_files, secondaries, max_files)
    elif events_per_job is not None:
        jobs = _jobs_by_events(master_files, secondaries, events_per_job, max_files)
    else:
        jobs = (master_files[start : start + count] for start in range(0, total, count))
    largest = Atom()
    for files in jobs:
        sizes: dict[str, float] = {}
        for file in files:
            sizes.setdefault(file.lfn, file.fsize or 0)
        for secondary in secondaries:
            for file in secondary.files(len(files)):
                sizes.setdefault(file.lfn, file.fsize or 0)
            secondary.end_job(len(files))
        largest = Atom(
            max(largest.input_bytes, sum(sizes.values())),
            max(largest.effective_mib, sum(map(effective_mib, files))),
            max(largest.events, sum(map(effective_events, files))),
        )
    return largest


class _JobLimits(NamedTuple):
    """The files of a job, or else its events, and its maximum of files; *by_size*: only their size counts."""

    files: int | None
    events: int | None
    max_files: int
    by_size: bool


@lru_cache(1000)
def _limits(files: str | None, events: str | None, max_files: str | None, is_merging: bool) -> _JobLimits:
    """Return the limits by the texts of the rules."""
    files_per_job, events_per_job = rule_number(files), rule_number(events)
    if files_per_job is not None:
        events_per_job = None
    default = MERGE_MAX_FILES if is_merging else DEFAULT_MAX_FILES
    by_size = 0 in (files_per_job, events_per_job)
    # A job takes a file before it looks at its maximum.
    return _JobLimits(files_per_job, events_per_job, max(1, rule_number(max_files, default) or 0), by_size)


def _largest_run(files: Files, count: int) -> Atom:
    # Shortcut for jobs of *count* different files that are read as a whole.
    sizes = _or_else(files.sizes, 0)
    events = [1] * len(sizes) if files.events is None else _or_else(files.events, 1)
    largest = _largest_sum(sizes, count)
    if type(largest) is int and largest < _EXACT and 0 not in sizes:
        # The largest size is also the largest in MiB: to divide by a power of 2 rounds nothing.
        mib = largest / MIB
    else:
        mib = _largest_sum([size / MIB if size else 1.0 for size in sizes], count)
    return Atom(largest, mib, _largest_sum(events, count))


def _or_else(numbers: Sequence[Any], otherwise: int) -> Sequence[Any]:
    """Return *numbers* with *otherwise* instead of 0 and None."""
    # Most lists need no replacement.
    return numbers if all(numbers) else [number or otherwise for number in numbers]


def _largest_sum(numbers: Sequence[Number], count: int) -> Number:
    """Return the largest sum of consecutive blocks of *count* numbers."""
    if count == 1:
        return max(numbers)
    if count >= len(numbers):
        return sum(numbers)
    return max([sum(numbers[start : start + count]) for start in range(0, len(numbers), count)])


def _jobs_by_size(files: Sequence[File], secondaries: Sequence[Secondary], max_files: int) -> Iterator[Sequence[File]]:
    """Yield the files of each job: as many as fit, together with the files of secondary datasets."""
    start, total = 0, len(files)
    while start < total:
        end, size = start + 1, files[start].fsize or 0
        while end < total and end - start < max_files:
            size += files[end].fsize or 0
            if size + sum(secondary.size_with(end + 1 - start) for secondary in secondaries) > _LARGEST_INPUT:
                break
            end += 1
        yield files[start:end]
        start = end


def _jobs_by_events(
    files: Sequence[File], secondaries: Sequence[Secondary], events_per_job: int, max_files: int
) -> Iterator[Sequence[File]]:
    """Yield the files of each job: consecutive events, up to *events_per_job*."""
    count = event_counter(files, secondaries)
    start = 0
    while start < len(files):
        end = start + 1
        while end < len(files) and end - start < max_files and follows(files[end - 1], files[end]):
            if count(start, end + 1) > events_per_job:
                break
            end += 1
        yield files[start:end]
        start = end


def event_counter(files: Sequence[File], secondaries: Sequence[Secondary]) -> Callable[[int, int], int]:
    """Return a function that counts the events of the current job, given the range (start, end) of master *files*.

    Only files given as event ranges count. If no master file is, the events of the first secondary dataset count
    (whole files as well), unless each job reads all of it.
    """
    first = next((secondary for secondary in secondaries if not secondary.is_whole), None)
    if first is None or any(_range_events(file) for file in files):
        sums: list[int] = list(accumulate(map(_range_events, files), initial=0))
        return lambda start, end: sums[end] - sums[start]
    return lambda start, end: first.events_with(end - start)


def _range_events(file: File) -> int:
    return 0 if file.start_event is None or file.end_event is None else file.end_event - file.start_event + 1


def follows(before: File, after: File) -> bool:
    """Return whether the events of *after* continue those of *before*; always true for files without ranges."""
    if before.end_event is None or after.start_event is None:
        return True
    # Consecutive within one file, or from the end of one file to the beginning of the next.
    first = before.end_event + 1
    if first == before.events:
        return after.start_event == 0
    return after.start_event == first and after.lfn == before.lfn
