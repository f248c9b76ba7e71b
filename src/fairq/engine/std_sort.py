"""The order in which libstdc++'s ``std::sort`` leaves equal entries, computed only as far as it is read.

The negotiator sorts its match list with ``std::sort``, which is not stable: among slots that rank equally the
order follows from the algorithm alone (docs/htcondor.md 3.8). Introsort sorts the front of the range before the
rest, so a caller who takes a few slots of a long list pays only for the partitions on the way to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

INSERTION_LIMIT = 16
"""Ranges of up to this many entries are sorted by insertion."""

_FIRST_PIECE, _LARGEST_PIECE = 64, 512
"""Minimum and maximum number of equal keys that are put in order at once."""

_Path: TypeAlias = "tuple[int, int, _Path] | None"
"""The partitions that led to a piece, the last one first: start, end, and the path before it."""


def std_sorted(keys: NDArray[np.int64]) -> Iterator[int]:
    """Yield the positions of *keys* (smaller sorts first) in the order ``std::sort`` would leave them."""
    return chain.from_iterable(piece.tolist() for piece in std_sorted_pieces(keys))


def std_sorted_pieces(keys: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the positions of `std_sorted` in arrays, piece by piece."""
    all_equal = not len(keys) or bool(keys.min() == keys.max())
    return equal_sorted(len(keys)) if all_equal else unequal_sorted(keys)


def unequal_sorted(keys: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield `std_sorted_pieces` for any keys, by running the algorithm."""
    order = np.arange(len(keys))
    keys = keys.copy()
    pending = [(0, len(keys), 2 * max(len(keys).bit_length() - 1, 0))]
    while pending:
        first, last, depth = pending.pop()
        while last - first > INSERTION_LIMIT:
            if depth == 0:
                _heap_sort(keys, order, first, last)
                break
            depth -= 1
            cut = _partition(keys, order, first, last)
            pending.append((cut, last, depth))
            last = cut
        # The closing insertion sort never carries an entry past an equal one, so it is a stable sort within
        # the piece that the partitions left, and nothing crosses the pieces' borders.
        piece = np.argsort(keys[first:last], kind="stable")
        yield order[first:last][piece]


def equal_sorted(size: int, expected: int = 0) -> Iterator[NDArray[np.int64]]:
    """Yield `std_sorted_pieces` for *size* equal keys, whose order follows from their number.

    The first piece has about as many entries as are *expected* to be read; later pieces grow.

    Every partition of equal keys exchanges the first and the middle entry, reverses all but the first, and cuts in
    the middle; the depth limit is never reached. A position is traced back through the partitions of its piece.
    """
    pending: list[tuple[int, int, _Path]] = [(0, size, None)]
    at_once = min(max(expected, _FIRST_PIECE), _LARGEST_PIECE)
    while pending:
        first, last, path = pending.pop()
        while last - first > at_once:
            path = first, last, path
            cut = _cut(first, last)
            pending.append((cut, last, path))
            last = cut
        yield _positions_before_partitions(last - first, first, path)
        at_once = min(2 * at_once, _LARGEST_PIECE)


@cache
def _equal_piece(size: int) -> NDArray[np.int64]:
    """Return the order of *size* equal keys; cached, since the pieces of a range have few sizes."""
    if size <= INSERTION_LIMIT:
        return np.arange(size)
    cut = _cut(0, size)
    return _positions_before_partition(np.concatenate((_equal_piece(cut), cut + _equal_piece(size - cut))), 0, size)


def _cut(first: int, last: int) -> int:
    """Return where a partition of equal keys cuts a range."""
    return first + 1 + (last - first - 1) // 2


def _positions_before_partitions(size: int, first: int, path: _Path) -> NDArray[np.int64]:
    """Return where the *size* entries of a piece of equal keys at *first* were before the partitions of *path*.

    All partitions together are one shift or reflection, except for the few entries that were exchanged.
    """
    sign, shift = 1, first
    exchanged: dict[int, int] = {}
    while path is not None:
        start, end, path = path
        middle, ends = start + (end - start) // 2, start + end
        for entry, position in exchanged.items():
            exchanged[entry] = middle if position == start else start if ends - position == middle else ends - position
        for position, before in ((start, middle), (ends - middle, start)):
            entry = sign * (position - shift)
            if 0 <= entry < size:
                exchanged.setdefault(entry, before)
        sign, shift = -sign, ends - shift
    positions = sign * _equal_piece(size) + shift
    indices = _indices_in_piece(size)
    for entry, position in exchanged.items():
        positions[indices[entry]] = position
    return positions


@cache
def _indices_in_piece(size: int) -> list[int]:
    """Return the index of every entry in `_equal_piece`."""
    indices: list[int] = np.argsort(_equal_piece(size)).tolist()
    return indices


def _positions_before_partition(positions: NDArray[np.int64], start: int, end: int) -> NDArray[np.int64]:
    """Return where the entries at *positions* of a range of equal keys were before its partition."""
    middle, turned = start + (end - start) // 2, start + end - positions
    return np.where(positions == start, middle, np.where(turned == middle, start, turned))


def _swap(keys: NDArray[np.int64], order: NDArray[np.int64], i: int, j: int) -> None:
    keys[i], keys[j] = keys[j], keys[i]
    order[i], order[j] = order[j], order[i]


def _partition(keys: NDArray[np.int64], order: NDArray[np.int64], first: int, last: int) -> int:
    """Partition around the median of three put at *first*; return the start of the right part."""
    _swap(keys, order, first, _median(keys, first + 1, first + (last - first) // 2, last - 1))
    pivot = keys[first]
    body = keys[first + 1 : last]
    from_left = np.flatnonzero(body >= pivot)
    from_right = np.flatnonzero(body <= pivot)[::-1]
    pairs = min(len(from_left), len(from_right))
    crossed = np.flatnonzero(from_left[:pairs] >= from_right[:pairs])
    swaps = int(crossed[0]) if len(crossed) else pairs
    left, right = from_left[:swaps] + first + 1, from_right[:swaps] + first + 1
    for values in (keys, order):
        values[left], values[right] = values[right], values[left]
    # The left scan stops at the next entry not below the pivot; the last entry swapped to the right is one too.
    stops = [int(from_left[swaps])] if swaps < len(from_left) else []
    if swaps:
        stops.append(int(from_right[swaps - 1]))
    return min(stops) + first + 1


def _median(keys: NDArray[np.int64], x: int, y: int, z: int) -> int:
    if keys[x] < keys[y]:
        if keys[y] < keys[z]:
            return y
        return z if keys[x] < keys[z] else x
    if keys[x] < keys[z]:
        return x
    return z if keys[y] < keys[z] else y


def _heap_sort(keys: NDArray[np.int64], order: NDArray[np.int64], first: int, last: int) -> None:
    """Sort a range by heap, as introsort does at its depth limit."""
    heap = list(zip(keys[first:last].tolist(), order[first:last].tolist(), strict=True))
    size = len(heap)
    for parent in range((size - 2) // 2, -1, -1):
        _sift(heap, parent, size, heap[parent])
    for end in range(size - 1, 0, -1):
        value, heap[end] = heap[end], heap[0]
        _sift(heap, 0, end, value)
    keys[first:last] = [key for key, _ in heap]
    order[first:last] = [position for _, position in heap]


def _sift(heap: list[tuple[int, int]], hole: int, size: int, value: tuple[int, int]) -> None:
    """Move the hole down to a leaf along the larger children, then move *value* up from there."""
    top = hole
    child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and heap[parent][0] < value[0]:
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = value
