"""The copy of formed task queues in the state (`fairq.state.kept_queues`): packed columns.

A copy is worth while where forming all queues takes long: for many jobs. Commands that match pilots or store priorities
make it; others read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq import __version__
from fairq.engine.shares.columns import Integers, ListColumn, NumberColumn, TextColumn
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.state import kept_queues
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues.formed import FormedQueues, Numbers
from fairq.steps.taskqueues.job_pieces import JobPieces
from fairq.steps.taskqueues.policy import SharePolicy

WORTHWHILE = 1000
"""Number of parts of ranges of jobs below which no copy is made."""

FEW_CHANGES = 500
"""Up to so many changed ranges of jobs, an existing copy is left as it is."""

_FORM = 1
"""Increase it with each change of the copy's form, or of how jobs are put into queues."""

_SIZE = 8
"""Bytes for the length of the head of a copy."""


class Known(NamedTuple):
    """Queues and their jobs as they were formed."""

    numbers: Numbers
    pieces: JobPieces
    reasons: list[str]


def load(state: State, policy: SharePolicy) -> tuple[Known, int, list[JobKey]] | None:
    """Return the copy, the highest number in it, and the ranges of jobs that changed since; None if there is none."""
    found = kept_queues.load(state, _policy(policy))
    if found is None:
        return None
    try:
        return _unpacked(found.content), found.highest, found.changed
    except (ValueError, TypeError, LookupError):
        return None  # `fairq check` tells that it is damaged


def keep(state: State, policy: SharePolicy, formed: FormedQueues, *, without_gone: bool = False) -> None:
    """Make the copy if it is worth while; the numbers of all *formed* queues must be stored.

    *without_gone* tells that the numbers of queues that no longer exist are not stored.
    """
    if len(formed.pieces) < WORTHWHILE or len(formed.unlasting) > FEW_CHANGES:
        return
    if formed.changes <= FEW_CHANGES and kept_queues.exists(state):
        return
    numbers, pieces = formed.numbers, formed.pieces
    if without_gone:
        numbers, pieces = _only(numbers, pieces, np.flatnonzero(numbers.jobs))
    _keep(state, policy, formed, Known(numbers, pieces, formed.reasons), formed.unlasting)


def keep_stored(state: State, policy: SharePolicy, formed: FormedQueues) -> None:
    """Make the copy if it is worth while, without queues whose numbers are not stored: their jobs count as changed."""
    new = formed.pieces.take(formed.pieces.queue >= formed.stored).tolist()
    again = formed.unlasting.union((one.cluster, one.schedd, one.whole) for one in new)
    if len(formed.pieces) >= WORTHWHILE and len(again) <= FEW_CHANGES:
        numbers, pieces = _only(formed.numbers, formed.pieces, np.arange(formed.stored))
        _keep(state, policy, formed, Known(numbers, pieces, formed.reasons), again)


def _keep(state: State, policy: SharePolicy, formed: FormedQueues, known: Known, again: set[JobKey]) -> None:
    content = _packed(known)
    if content is not None:
        highest = int(known.numbers.number.max(initial=0))
        kept_queues.keep(state, _policy(policy), highest, content, sorted(again))


def _policy(policy: SharePolicy) -> str:
    """Return all that the queues of a job depend on besides the job."""
    return repr((_FORM, __version__, policy.capacity, policy.job_defaults))


def _only(of: Numbers, pieces: JobPieces, left: Integers) -> tuple[Numbers, JobPieces]:
    """Return the numbers at the places *left*, and the pieces that are not in other queues, with the new places."""
    places = np.full(len(of.number), -1, np.int64)
    places[left] = np.arange(len(left))
    is_placed = pieces.queue >= 0
    queue = pieces.queue.copy()
    queue[is_placed] = places[queue[is_placed]]
    numbers = Numbers(of.sets, of.number[left], of.of_set[left], of.part[left], of.jobs[left], of.real_priorities[left])
    return numbers, replace(pieces, queue=queue).take(~is_placed | (queue >= 0))


def _packed(known: Known) -> bytes | None:
    """Return *known* as bytes; None if a number in it is too large for an array."""
    texts: list[list[str]] = [known.reasons]
    arrays: list[NDArray[Any]] = []
    for column in (*known.numbers.sets.columns, *_fields(known.numbers)[1:], *_fields(known.pieces)):
        if isinstance(column, ListColumn):
            arrays += (column.codes, column.lengths, column.items)
            texts.append(column.names)
        elif isinstance(column, TextColumn):
            arrays.append(column.codes)
            texts.append(column.names)
        else:
            arrays.append(column.values if isinstance(column, NumberColumn) else column)
    if any(array.dtype == object for array in arrays):
        return None
    small = [_small(array) for array in arrays]
    shapes = [(len(array), less.dtype.str, len(less)) for array, less in zip(arrays, small, strict=True)]
    head = json.dumps((texts, shapes)).encode()
    return b"".join((len(head).to_bytes(_SIZE, "little"), head, *(array.tobytes() for array in small)))


def _fields(record: Any) -> list[Any]:
    return [getattr(record, name) for name in record.__struct_fields__]


def _small(array: NDArray[Any]) -> NDArray[Any]:
    """Return *array* in as few bytes as its numbers need; of equal ones the first."""
    if len(array) and (array == array[0]).all():
        array = array[:1]
    if array.dtype == float or not len(array):
        return array
    return array.astype(np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


def _unpacked(content: bytes) -> Known:
    size = int.from_bytes(content[:_SIZE], "little")
    (reasons, *names), shapes = json.loads(content[_SIZE : _SIZE + size])
    arrays, texts = _arrays(content, _SIZE + size, shapes), iter(names)

    def texts_of() -> TextColumn:
        return TextColumn(next(arrays), next(texts))

    def lists_of() -> ListColumn:
        return ListColumn(next(arrays), next(arrays), next(arrays), next(texts))

    def numbers_of() -> NumberColumn:
        return NumberColumn(next(arrays))

    made = {TextColumn: texts_of, ListColumn: lists_of, NumberColumn: numbers_of}
    sets = RequirementTable(*(made[kind]() for kind in RequirementTable.kinds()))  # type: ignore[arg-type]
    numbers = Numbers(sets, *(next(arrays) for _ in Numbers.__struct_fields__[1:]))
    cluster = next(arrays)
    pieces = JobPieces(cluster, texts_of(), *(next(arrays) for _ in JobPieces.__struct_fields__[2:]))
    return Known(numbers, pieces, reasons)


def _arrays(content: bytes, start: int, shapes: Sequence[tuple[int, str, int]]) -> Iterator[NDArray[Any]]:
    for length, kind, stored in shapes:
        found = np.frombuffer(content, np.dtype(kind), stored, start)
        start += found.nbytes
        wide = found.astype(float if found.dtype.kind == "f" else np.int64)
        yield wide if stored == length else np.repeat(wide, length)
