"""Split ranges of procs where some of them become different, and join those that became alike again.

A cluster of a million equal jobs is one row. Changing some of its procs cuts that row; neighbours that
are equal in everything afterwards are one row again, so that a queue does not fall to pieces over time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

Tail = tuple[Any, ...]
"""What a range is besides its bounds: the columns after `last_proc`."""


class Procs(NamedTuple):
    """Procs *first_proc* to *last_proc*, both included, of one cluster."""

    schedd: str
    cluster: int
    first_proc: int
    last_proc: int


class Piece(NamedTuple):
    """A range of procs within one cluster and what they have in common."""

    first: int
    last: int
    tail: Tail


class ClusterProcs(NamedTuple):
    """Procs of one cluster; *bounds* are (first, last) in order, neither touching nor overlapping."""

    schedd: str
    cluster: int
    bounds: list[tuple[int, int]]


def by_cluster(procs: Iterable[Procs]) -> Iterator[ClusterProcs]:
    """Group procs by their cluster."""
    for (schedd, cluster), group in groupby(sorted(procs), key=lambda one: one[:2]):
        bounds: list[tuple[int, int]] = []
        for _, _, first, last in group:
            if bounds and first <= bounds[-1][1] + 1:
                bounds[-1] = (bounds[-1][0], max(bounds[-1][1], last))
            elif first <= last:
                bounds.append((first, last))
        if bounds:
            yield ClusterProcs(schedd, cluster, bounds)


def rewrite(
    pieces: Sequence[Piece], bounds: Sequence[tuple[int, int]], change: Callable[[Tail], Tail | None]
) -> tuple[list[Piece], int]:
    """Apply *change* to the procs within *bounds* and return the new pieces and how many procs that were.

    Both are in order and free of overlaps. A change to None takes the procs away. Neighbours that are
    equal afterwards are joined.
    """
    result: list[Piece] = []
    touched = 0
    index = 0
    for piece in pieces:
        start = piece.first
        changed: Tail | None = None
        is_changed = False
        while index < len(bounds) and bounds[index][1] < start:
            index += 1
        while index < len(bounds) and bounds[index][0] <= piece.last:
            first, last = max(bounds[index][0], start), min(bounds[index][1], piece.last)
            if first > start:
                _append(result, Piece(start, first - 1, piece.tail))
            if not is_changed:
                changed, is_changed = change(piece.tail), True
            if changed is not None:
                _append(result, Piece(first, last, changed))
            touched += last - first + 1
            start = last + 1
            if bounds[index][1] > piece.last:
                break
            index += 1
        if start <= piece.last:
            _append(result, Piece(start, piece.last, piece.tail))
    return result, touched


def _append(pieces: list[Piece], piece: Piece) -> None:
    if pieces and pieces[-1].last + 1 == piece.first and pieces[-1].tail == piece.tail:
        pieces[-1] = Piece(pieces[-1].first, piece.last, piece.tail)
    else:
        pieces.append(piece)
