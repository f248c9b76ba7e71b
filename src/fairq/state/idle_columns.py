"""The idle jobs by column: a copy from which a cycle reads what did not change, in a tenth of the time.

Cycles create it. The database notes the clusters that change afterwards; their ranges are read from the queue. So the
copy is always valid, and it is written anew when too much of it has changed. Without a copy, the queue is read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from fairq.idle_jobs import NUMBERS, TEXTS, IdleJobs, Kinds, KnownKind, Numbers, idle_jobs
from fairq.records import JobStatus
from fairq.state import rows
from fairq.state.connection import State

WORTHWHILE = 5000
"""Number of ranges below which no copy is made."""

_CHANGES = 1000
"""So many changed clusters are read one by one before the copy is written anew; more of a longer queue."""

_SELECT = f"SELECT schedd, submitter, {', '.join(NUMBERS + TEXTS)} FROM job WHERE"
_ORDER = "ORDER BY schedd, submitter, cluster, first_proc"

_Place = tuple[str, str]
"""Schedd and submitter."""


class _Content(msgspec.Struct, array_like=True):
    """A submitter's ranges as stored: columns in little-endian bytes, or one number for all *size* rows."""

    size: int
    columns: dict[str, bytes | int]
    texts: list[str | None]


def load(state: State) -> tuple[list[IdleJobs], Kinds]:
    """Return the idle jobs of every submitter at every schedd, ordered by schedd and submitter, and the known kinds."""
    try:
        found = {(idle.schedd, idle.submitter): idle for idle in _copied(state)}
    except (msgspec.DecodeError, ValueError):  # damaged, as 'fairq state check' tells; the queue has all of it
        found = {}
    if not found:
        return list(queued(state)), Kinds()
    changed: dict[str, set[int]] = defaultdict(set)
    for schedd, cluster in state.connection.execute("SELECT schedd, cluster FROM idle_changed"):
        changed[schedd].add(cluster)
    if changed:
        for place, idle in found.items():
            found[place] = idle.without(changed[idle.schedd])
        for idle in _of_clusters(state, changed):
            place = idle.schedd, idle.submitter
            found[place] = found[place].joined(idle) if place in found else idle
    known: dict[int, KnownKind] = {}
    for number, content in state.connection.execute("SELECT id, content FROM job_kind"):
        names, ad = json.loads(content)
        known[number] = KnownKind(frozenset(names), ad)
    return [found[place] for place in sorted(found) if len(found[place])], Kinds(known)


def exists(state: State) -> bool:
    """Return whether there is a copy."""
    return bool(state.connection.execute("SELECT EXISTS (SELECT 1 FROM idle_columns)").fetchone()[0])


def keep(state: State, loaded: Sequence[IdleJobs], kinds: Kinds) -> None:
    """Create the copy if there is none, or too much of it has changed; *loaded* and *kinds* are what a cycle had."""
    find = state.connection.execute
    size = sum(map(len, loaded))
    if exists(state):
        most = _CHANGES + size // 16
        if len(kinds.learned) <= most and find("SELECT count(*) FROM idle_changed").fetchone()[0] <= most:
            return
    elif size < WORTHWHILE:
        return
    kept, now = load(state)
    forget(state)
    if sum(map(len, kept)) < WORTHWHILE:
        return
    now.learned = kinds.learned
    numbers = _Numbers(now)
    for idle in kept:
        idle.columns["kind"] = numbers.of(idle)
        content = msgspec.msgpack.encode(_packed(idle))
        find("INSERT INTO idle_columns VALUES (?, ?, ?)", (idle.schedd, idle.submitter, content))
    state.connection.executemany(
        "INSERT INTO job_kind VALUES (?, ?)",
        ((number, rows.dumps((sorted(kind.names), kind.ad))) for number, kind in numbers.used.items()),
    )


def forget(state: State) -> None:
    """Delete the copy."""
    for table in ("idle_columns", "idle_changed", "job_kind"):
        state.connection.execute(f"DELETE FROM {table}")


class _Numbers:
    """Gives kinds new numbers, from 1 on; *used* are those that any job has."""

    def __init__(self, kinds: Kinds) -> None:
        self.used: dict[int, KnownKind] = {}
        self._kinds = kinds
        self._numbers: dict[int, int] = {}

    def of(self, idle: IdleJobs) -> Numbers:
        """The kinds of the ranges by their new numbers; 0 where none is known, or a job has something of its own."""
        known, learned = self._kinds.known, self._kinds.learned
        kinds = (
            learned.get(ad_id) or known.get(kind)
            for ad_id, kind in zip(idle.columns["ad_id"].tolist(), idle.columns["kind"].tolist(), strict=True)
        )
        numbers = np.fromiter((0 if kind is None else self._number(kind) for kind in kinds), np.int64, len(idle))
        return np.where(idle.is_plain(), numbers, 0)

    def _number(self, kind: KnownKind) -> int:
        number = self._numbers.get(id(kind))
        if number is None:
            number = self._numbers[id(kind)] = len(self._numbers) + 1
            self.used[number] = kind
        return number


def _copied(state: State) -> Iterator[IdleJobs]:
    decoder = msgspec.msgpack.Decoder(_Content)
    for schedd, submitter, content in state.connection.execute("SELECT schedd, submitter, content FROM idle_columns"):
        stored = decoder.decode(content)
        columns = {name: _unpacked(column, stored.size) for name, column in stored.columns.items()}
        yield IdleJobs(schedd, submitter, columns, stored.texts)


def queued(state: State) -> Iterator[IdleJobs]:
    """Yield the same jobs as `load`, as the queue has them; no kind is known."""
    found = state.connection.execute(f"{_SELECT} status = ? {_ORDER}", (JobStatus.IDLE,))
    yield from _by_place(found.fetchall())


def _of_clusters(state: State, clusters: dict[str, set[int]]) -> Iterator[IdleJobs]:
    """The idle jobs of these clusters, by schedd."""
    found: list[tuple[Any, ...]] = []
    for schedd, numbers in clusters.items():
        for number in numbers:
            found += state.connection.execute(
                f"{_SELECT} cluster = ? AND schedd = ? AND status = ?", (number, schedd, JobStatus.IDLE)
            )
    yield from _by_place(sorted(found, key=itemgetter(0, 1, 2, 3)))


def _by_place(found: Iterable[tuple[Any, ...]]) -> Iterator[IdleJobs]:
    for (schedd, submitter), some in groupby(found, key=itemgetter(0, 1)):
        yield idle_jobs(schedd, submitter, [row[2:] for row in some])


def _packed(idle: IdleJobs) -> _Content:
    columns: dict[str, bytes | int] = {}
    for name, column in idle.columns.items():
        one = bool((column == column[0]).all())
        columns[name] = int(column[0]) if one else column.astype("<i8").tobytes()
    return _Content(len(idle), columns, list(idle.texts))


def _unpacked(column: bytes | int, size: int) -> Numbers:
    return np.full(size, column, np.int64) if isinstance(column, int) else np.frombuffer(column, "<i8", size)
