"""Change or remove some of the queue's jobs, in bulk.

A cluster of a million equal jobs is one row. Changing some of its procs cuts that row; neighbours that
are equal in everything afterwards are one row again, so that a queue does not fall to pieces over time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypedDict, Unpack

from fairq.common.procs import Procs
from fairq.common.records import Ad, JobStatus
from fairq.state import rows
from fairq.state.connection import State
from fairq.state.job_ads import delete_unused

_TAIL = (
    "ad_id",
    "own",
    "template",
    "submitter",
    "owner",
    "status",
    "priority",
    "queue_date",
    "status_date",
    "reason",
    "hold_code",
    "hold_subcode",
)
_BOUNDS = 4
_AD_ID = 0
_VALUES = ("last_proc", *_TAIL)
_KEY = "cluster = ? AND schedd = ? AND first_proc = ?"


class JobColumns(TypedDict, total=False):
    """The columns of a job that can change."""

    ad_id: int
    own: Ad | None
    template: Ad | None
    submitter: str
    owner: str
    status: int
    priority: int
    queue_date: int
    status_date: int
    reason: str | None
    hold_code: int | None
    hold_subcode: int | None


def change(
    state: State, schedd: str, cluster: int, first_proc: int, last_proc: int, **columns: Unpack[JobColumns]
) -> int:
    """Give these procs of a cluster new values; return how many of them are in the queue."""
    return change_many(state, [Procs(schedd, cluster, first_proc, last_proc)], **columns)


def change_many(state: State, procs: Iterable[Procs], **columns: Unpack[JobColumns]) -> int:
    """Give many procs the same new values.

    Return how many of them are in the queue; those that are not are passed over.
    """
    values = {
        name: rows.dumps(value) if name in {"own", "template"} and value is not None else value
        for name, value in columns.items()
    }

    places = [(_TAIL.index(name), value) for name, value in values.items()]

    def changed(tail: Tail) -> Tail:
        new = list(tail)
        for column, value in places:
            new[column] = value
        return tuple(new)

    return _rewrite(state, procs, changed)


def set_status(
    state: State,
    procs: Iterable[Procs],
    status: int,
    time: int,
    reason: str | None = None,
    code: int | None = None,
    subcode: int | None = None,
) -> int:
    """Bring procs into a *status* they have from *time* on; return how many of them are in the queue.

    *code* and *subcode* are HTCondor's HoldReasonCode and HoldReasonSubCode.
    """
    return change_many(
        state,
        procs,
        status=int(status),
        status_date=time,
        reason=reason,
        hold_code=code,
        hold_subcode=subcode,
    )


def mark_running(state: State, procs: Iterable[Procs], time: int) -> int:
    """Mark *procs* as running from *time* on; return how many of them are in the queue."""
    return set_status(state, procs, JobStatus.RUNNING, time)


def remove(state: State, schedd: str, cluster: int, first_proc: int, last_proc: int) -> int:
    """Take these procs of a cluster out of the queue; return how many of them there were."""
    return remove_many(state, [Procs(schedd, cluster, first_proc, last_proc)])


def remove_many(state: State, procs: Iterable[Procs]) -> int:
    """Take many procs out of the queue; return how many there were."""
    return _rewrite(state, procs, lambda _: None)


def _rewrite(state: State, procs: Iterable[Procs], changed: Callable[[Tail], Tail | None]) -> int:
    """Rewrite the ranges that *procs* meet; shared ads that no job uses any more go too."""
    stale: list[tuple[int, str, int]] = []
    fresh: list[tuple[Any, ...]] = []
    other: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    ads_before: set[int] = set()
    ads_after: set[int] = set()
    total = 0
    for schedd, cluster, bounds in by_cluster(procs):
        before = _pieces(state, schedd, cluster, bounds[0][0], bounds[-1][1])
        after, count = rewrite(before, bounds, changed)
        if not count:
            continue
        total += count
        gone = {piece.first: piece for piece in before}
        for piece in after:
            former = gone.pop(piece.first, None)
            if former is None:
                fresh.append((cluster, schedd, *piece[:2], *piece.tail))
            elif former != piece:
                pairs = zip(_VALUES, (former.last, *former.tail), (piece.last, *piece.tail), strict=True)
                names, new = zip(*((name, value) for name, old, value in pairs if value != old), strict=True)
                other[names].append((*new, cluster, schedd, piece.first))
        stale += ((cluster, schedd, first) for first in gone)
        ads_before.update(piece.tail[_AD_ID] for piece in before)
        ads_after.update(piece.tail[_AD_ID] for piece in after)
    state.connection.executemany(f"DELETE FROM job WHERE {_KEY}", stale)
    for names, rows_of_names in other.items():
        # SQLite then leaves the indexes of all other columns alone.
        new_values = ", ".join(f"{name} = ?" for name in names)
        state.connection.executemany(f"UPDATE job SET {new_values} WHERE {_KEY}", rows_of_names)
    state.connection.executemany(
        f"INSERT INTO job (cluster, schedd, first_proc, last_proc, {', '.join(_TAIL)}) "
        f"VALUES ({', '.join('?' * (_BOUNDS + len(_TAIL)))})",
        fresh,
    )
    delete_unused(state, ads_before - ads_after)
    return total


def _pieces(state: State, schedd: str, cluster: int, first: int, last: int) -> list[Piece]:
    """Return the ranges from the one before *first* to the one after *last*, so that they can be joined."""
    cursor = state.connection.execute(
        f"SELECT first_proc, last_proc, {', '.join(_TAIL)} FROM job WHERE cluster = ?1 AND schedd = ?2 "
        "AND first_proc BETWEEN coalesce((SELECT max(first_proc) FROM job "
        "WHERE cluster = ?1 AND schedd = ?2 AND first_proc < ?3), ?3) AND ?4 ORDER BY first_proc",
        (cluster, schedd, first, last + 1),
    )
    return [Piece(row[0], row[1], row[2:]) for row in cursor]


Tail = tuple[Any, ...]
"""What a range is besides its bounds: the columns after `last_proc`."""


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
    for (schedd, cluster), group in groupby(sorted(procs), key=lambda procs_of_cluster: procs_of_cluster[:2]):
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
