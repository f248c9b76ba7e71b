"""The copy of the waiting jobs' needs in the state (`fairq.state.kept_queues`): packed columns.

A copy is worth while where reading all jobs takes long: for many jobs. Commands that import queues, match pilots or
store priorities make it; others read it.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq import __version__
from fairq.engine.shares.columns import Column, Integers, Table
from fairq.engine.shares.queues import RequirementTable
from fairq.state import kept_queues, task_queues
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues.policy import SharePolicy
from fairq.steps.taskqueues.waiting_jobs import WaitingJobs

WORTHWHILE = 1000
"""Number of jobs of different needs or ranges below which no copy is made."""

FEW_CHANGES = 500
"""Up to so many changed ranges of jobs, an existing copy is left as it is."""

_FORM = 2
"""Increase it with each change of the copy's form, or of how the needs of jobs are read."""


class NumberedQueue(NamedTuple):
    """A queue that has a number: the number of its requirements, and its part (`formation.FormedQueues`)."""

    asked: int
    part: int
    number: int


class Numbers(Table[NumberedQueue], frozen=True):
    """Numbers of queues."""

    record = NumberedQueue

    asked: Integers
    part: Integers
    number: Integers


class Known(NamedTuple):
    """The requirements of jobs and of numbered queues, these numbers, and the waiting jobs."""

    requirements: RequirementTable
    numbers: Numbers
    jobs: WaitingJobs

    @classmethod
    def nothing(cls) -> Known:
        """Return empty tables."""
        none = np.empty(0, np.int64)
        return cls(RequirementTable.of(()), Numbers(none, none, none), WaitingJobs.none())


def load(state: State, policy: SharePolicy) -> tuple[Known, int, list[JobKey]] | None:
    """Return the copy, the highest number in it, and the ranges of jobs that changed since; None if there is none."""
    found = kept_queues.load(state, _policy(policy))
    if found is None:
        return None
    try:
        return _unpacked(found.content), found.highest, found.changed
    except (msgspec.DecodeError, ValueError, TypeError, LookupError):
        return None  # `fairq check` tells that it is damaged


def keep(state: State, policy: SharePolicy, known: Known, changes: int | None, unlasting: set[JobKey]) -> None:
    """Make the copy if it is worth while, with those of the *known* numbers that are stored.

    *changes* is the number of ranges of jobs that changed since the former copy; None: it was not used. *unlasting* are
    ranges whose needs may change though the jobs do not.
    """
    if len(known.jobs) < WORTHWHILE or len(unlasting) > FEW_CHANGES:
        return
    if changes is not None and changes <= FEW_CHANGES and kept_queues.exists(state):
        return
    stored = np.flatnonzero(np.isin(known.numbers.number, list(task_queues.priorities(state))))
    numbers = known.numbers.take(stored)
    try:
        content = _packed(known._replace(numbers=numbers))
    except OverflowError:  # a number is too large for the form
        return
    highest = int(numbers.number.max(initial=0))
    kept_queues.keep(state, _policy(policy), highest, content, sorted(unlasting))


def _policy(policy: SharePolicy) -> str:
    """Return all that the needs of a job depend on besides the job."""
    return repr((_FORM, __version__, policy.job_defaults))


class _Array(Struct, tag=True):
    """The numbers of an array in as few bytes as they need; if all are equal, the first one alone."""

    size: int
    kind: str
    content: bytes

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> _Array:
        size = len(numbers)
        if size and (numbers == numbers[0]).all():
            numbers = numbers[:1]
        if numbers.dtype != float and size:
            least, most = np.min_scalar_type(numbers.min()), np.min_scalar_type(numbers.max())
            numbers = numbers.astype(np.result_type(least, most))
        return cls(size, numbers.dtype.str, numbers.tobytes())

    def unpacked(self) -> NDArray[Any]:
        stored = np.frombuffer(self.content, np.dtype(self.kind))
        numbers = stored.astype(float if stored.dtype.kind == "f" else np.int64)
        return numbers if len(numbers) == self.size else np.repeat(numbers, self.size)


class _Column(Struct, tag=True):
    codes: _Array
    values: list[Any]

    def unpacked(self) -> Column:
        return Column(self.codes.unpacked(), self.values)


class _Lists(Struct, tag=True):
    """A column of lists: the length of each different one, and all names in them, one after the other."""

    codes: _Array
    lengths: _Array
    names: _Column

    def unpacked(self) -> Column:
        names = iter(self.names.unpacked().tolist())
        lists = [tuple(islice(names, length)) for length in self.lengths.unpacked().tolist()]
        return Column(self.codes.unpacked(), lists)


_Packed = _Array | _Column | _Lists


def _packed_column(column: Column | NDArray[Any]) -> _Packed:
    if not isinstance(column, Column):
        return _Array.of(column)
    used = column.compact()
    codes = _Array.of(used.codes)
    if not used.values or not isinstance(used.values[0], tuple):
        return _Column(codes, used.values)
    names = Column.of(list(chain.from_iterable(used.values)))
    lengths = np.array(list(map(len, used.values)))
    return _Lists(codes, _Array.of(lengths), _Column(_Array.of(names.codes), names.values))


def _packed(known: Known) -> bytes:
    """Return *known* as bytes, without requirements that nothing has; raises OverflowError for a number too large."""
    asked = np.concatenate((known.numbers.asked, known.jobs.asked))
    used = np.flatnonzero(np.isin(np.arange(len(known.requirements)), asked))
    # The last place is for jobs that are in no queue, whose number is -1.
    places = np.full(len(known.requirements) + 1, -1)
    places[used] = np.arange(len(used))
    numbers = replace(known.numbers, asked=places[known.numbers.asked])
    waiting = replace(known.jobs, asked=places[known.jobs.asked])
    tables = (known.requirements.take(used), numbers, waiting)
    return msgspec.msgpack.encode([list(map(_packed_column, table.columns)) for table in tables])


def _unpacked(content: bytes) -> Known:
    tables = msgspec.msgpack.decode(content, type=list[list[_Packed]])
    columns: list[list[Any]] = [[column.unpacked() for column in table] for table in tables]
    requirements, numbers, waiting = columns
    return Known(RequirementTable(*requirements), Numbers(*numbers), WaitingJobs(*waiting))
