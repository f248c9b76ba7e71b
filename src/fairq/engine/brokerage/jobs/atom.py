"""The smallest job that a chunk can be split into (docs/panda.md, Estimates; PanDA InputChunk.getMaxAtomSize)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct

from fairq.engine.brokerage.jobs.tasks import Chunk, File, Files, Task, rule_number
from fairq.engine.brokerage.jobs.units import MIB

DEFAULT_MAX_FILES = 200
"""Files of a job if the task states no limit."""


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
    master, *secondaries = chunk.datasets
    limits = _limits(*map(task.rules.get, _MERGE_RULES if chunk.is_merging else _JOB_RULES))
    files_per_job, events_per_job, most_files = limits
    columns = master.columns
    if columns.lfn and not secondaries and columns.are_whole:
        # Events are counted where files are given as ranges only.
        per_job = files_per_job or 1
        if events_per_job is not None:
            per_job = most_files if events_per_job >= 0 else 1
        if per_job == 1 or len(master.sizes) == len(columns.lfn):
            return _largest_run(columns, max(1, per_job))
    whole, others = tuple(master.files), [tuple(secondary.files) for secondary in secondaries]
    total = len(whole)
    done = 0
    largest = Atom()
    for files in _jobs(whole, files_per_job, events_per_job, most_files):
        sizes = {file.lfn: file.fsize or 0 for file in files}
        for secondary in others:
            for file in secondary[share_of(len(secondary), done, done + len(files), total)]:
                sizes[file.lfn] = file.fsize or 0
        done += len(files)
        largest = Atom(
            max(largest.input_bytes, sum(sizes.values())),
            max(largest.effective_mib, sum(map(effective_mib, files))),
            max(largest.events, sum(map(effective_events, files))),
        )
    return largest


@lru_cache(1000)
def _limits(files: str | None, events: str | None, most: str | None) -> tuple[int | None, int | None, int]:
    """Return the files of a job, or else its events, and its maximum of files, by the texts of the rules."""
    files_per_job = rule_number(files) or None
    events_per_job = None if files_per_job else rule_number(events) or None
    most_files = DEFAULT_MAX_FILES if events_per_job is None else rule_number(most) or DEFAULT_MAX_FILES
    return files_per_job, events_per_job, most_files


def _largest_run(files: Files, count: int) -> Atom:
    # The same for jobs of *count* different files that are read as a whole.
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
    """Return *numbers* with another one in place of 0 and of what is not known."""
    # Hardly any list has one to be replaced.
    return numbers if all(numbers) else [number or otherwise for number in numbers]


def _largest_sum(numbers: Sequence[Number], count: int) -> Number:
    """Return the largest sum of *count* numbers that are next to each other, from the first one on."""
    if count == 1:
        return max(numbers)
    if count >= len(numbers):
        return sum(numbers)
    return max([sum(numbers[start : start + count]) for start in range(0, len(numbers), count)])


def share_of(secondary: int, first: int, end: int, total: int) -> slice:
    """Return the files of a *secondary* dataset that a job reads with the master's files from *first* to *end*.

    This is the same part of them as of the master's *total*, at least one file.
    """
    begin = secondary * first // total
    return slice(begin, max(begin + 1, -(-secondary * end // total)))


def _jobs(
    files: Sequence[File], per_job: int | None, events_per_job: int | None, most_files: int
) -> Iterator[Sequence[File]]:
    if events_per_job is None:
        count = max(1, per_job or 1)
        yield from (files[start : start + count] for start in range(0, len(files), count))
        return
    start = 0
    while start < len(files):
        end, events = start + 1, _range_events(files[start])
        while end < len(files) and end - start < most_files and follows(files[end - 1], files[end]):
            events += _range_events(files[end])
            if events > events_per_job:
                break
            end += 1
        yield files[start:end]
        start = end


def _range_events(file: File) -> int:
    # Events are counted where files are given as ranges only.
    return 0 if file.start_event is None or file.end_event is None else file.end_event - file.start_event + 1


def follows(before: File, after: File) -> bool:
    """Return whether the events of one file are followed by those of another; files without ranges always are."""
    if before.end_event is None or after.start_event is None:
        return True
    # Events go on in the same file, or from the end of one to the beginning of another.
    first = before.end_event + 1
    if first == before.events:
        return after.start_event == 0
    return after.start_event == first and after.lfn == before.lfn
