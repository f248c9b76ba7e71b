"""The idle jobs by column: a copy from which a cycle reads what did not change, in a tenth of the time.

Cycles create it. The database notes the clusters that change afterwards; their ranges are read from the queue. So the
copy is always valid, and it is written anew when too much of it has changed. Without a copy, the queue is read.

Nobody waits while a copy is made. First, `track` makes the database note changes from now on; then the queue is read;
then `store` puts the copy there, whatever has changed since the first step. Between the first step and the last one,
the table has a row without a schedd. Its content are the clusters that had changed before: the former copy lacks them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from fairq.columns.idle_jobs import NUMBERS, TEXTS, IdleJobs, Kinds, KnownKind, Numbers, among, idle_jobs
from fairq.common.records import JobStatus
from fairq.state import idle_content, idle_ranges, rows
from fairq.state.connection import State
from fairq.state.idle_copy import forget, is_tracked

WORTHWHILE = 5000
"""Number of ranges below which no copy is made."""

_CHANGES = 1000
"""So many changed clusters are read one by one before the copy is written anew; more of a longer queue."""

_AT_ONCE = 100
"""So many submitters' rows of the queue are put into columns together."""

_SELECT = f"SELECT schedd, submitter, {', '.join(NUMBERS + TEXTS)} FROM job WHERE"
_ORDER = "ORDER BY cluster, schedd, first_proc"
_AD_ID = 2 + NUMBERS.index("ad_id")
"""The place of the number of the shared ad in a row."""

_Place = tuple[str, str]
"""Schedd and submitter."""

_Row = tuple[Any, ...]

Loaded = tuple[list[IdleJobs], Kinds]
"""The idle jobs of every submitter at every schedd, ordered by schedd and submitter, and the known kinds."""


class StoredIdle(msgspec.Struct, frozen=True):
    """The idle jobs as they were read: to put them into columns takes longer than that, and needs no transaction.

    Args:
        copied: those of the copy; none without a copy.
        changed: the clusters that have changed since, by schedd.
        queued: rows of the queue: of these clusters, or all without a copy.
        kinds: the known kinds.
        tracking: the content of the row without a schedd; None if there is none.
    """

    copied: dict[_Place, IdleJobs]
    changed: dict[str, set[int]]
    queued: list[_Row]
    kinds: list[tuple[int, str]]
    tracking: bytes | None

    def ads_of_unknown(self) -> set[int]:
        """Return the numbers of the shared ads of all jobs of which no kind is known, and maybe of some others."""
        numbers = {row[_AD_ID] for row in self.queued}
        if self.copied:
            every = self.copied.values()
            kinds, ads = (np.concatenate([of.columns[name] for of in every]) for name in ("kind", "ad_id"))
            numbers.update(ads[kinds == 0].tolist())
        return numbers

    def loaded(self) -> Loaded:
        """Return the jobs by column."""
        found = dict(self.copied)
        for place in self._changed_places():
            found[place] = found[place].without(self.changed[place[0]])
        for idle in _by_place(self.queued):
            place = idle.schedd, idle.submitter
            found[place] = found[place].joined(idle) if place in found else idle
        known: dict[int, KnownKind] = {}
        for number, content in self.kinds:
            names, ad = json.loads(content)
            known[number] = KnownKind(frozenset(names), ad)
        return [found[place] for place in sorted(found) if len(found[place])], Kinds(known)

    def _changed_places(self) -> list[_Place]:
        """The submitters of the copy of whom a cluster has changed; maybe also some with one of the same number."""
        if not self.changed:
            return []
        idle = self.copied.values()
        clusters = np.concatenate([of.columns["cluster"] for of in idle])
        found = np.flatnonzero(among(clusters, chain.from_iterable(self.changed.values())))
        places, ends = list(self.copied), np.cumsum([len(of) for of in idle])
        return [places[number] for number in set(np.searchsorted(ends, found, "right").tolist())]


def load(state: State) -> Loaded:
    """Return the idle jobs, and the known kinds."""
    return read(state).loaded()


def read(state: State) -> StoredIdle:
    """Read the idle jobs."""
    find = state.connection.execute
    try:
        copied = {(idle.schedd, idle.submitter): idle for idle in _copied(state)}
    except (ValueError, KeyError, OverflowError):  # damaged, as 'fairq state check' tells; the queue has all of it
        copied = {}
    changed = changed_clusters(state)
    if not copied or changed is None:
        return _read_queue(state)
    kinds = find("SELECT id, content FROM job_kind").fetchall()
    return StoredIdle(copied, changed, _of_clusters(state, changed), kinds, _tracking(state))


def queued(state: State) -> list[IdleJobs]:
    """Return the same jobs as `load`, as the queue has them; no kind is known."""
    return _read_queue(state).loaded()[0]


def of_clusters(state: State, clusters: Mapping[str, Iterable[int]]) -> Iterator[IdleJobs]:
    """Return the idle jobs of these clusters, by schedd, from the queue."""
    yield from _by_place(_of_clusters(state, clusters))


def is_to_be_tracked(state: State) -> bool:
    """Whether the queue is long, and the database does not note the clusters that change."""
    count = "SELECT count(*) FROM (SELECT 1 FROM job WHERE status = ? LIMIT ?)"
    long = state.connection.execute(count, (JobStatus.IDLE, WORTHWHILE)).fetchone()[0] == WORTHWHILE
    return long and not is_tracked(state)


def track(state: State) -> None:
    """Make the database note the clusters that change from now on, apart from those that have changed before."""
    changed = changed_clusters(state)
    if changed is None:
        forget(state)
    content = msgspec.msgpack.encode({schedd: sorted(of) for schedd, of in (changed or {}).items()})
    state.connection.execute("DELETE FROM idle_columns WHERE schedd IS NULL")
    state.connection.execute("DELETE FROM idle_changed")
    state.connection.execute("INSERT INTO idle_columns VALUES (NULL, NULL, ?)", (content,))


def changed_clusters(state: State) -> dict[str, set[int]] | None:
    """Return the clusters that have changed since the copy was made, or since changes are noted, by schedd.

    None: it cannot be told.
    """
    if not is_tracked(state):
        return None
    changed: dict[str, set[int]] = defaultdict(set)
    tracking = _tracking(state)
    if tracking is not None:
        try:
            before = msgspec.msgpack.decode(tracking, type=dict[str, list[int]])
        except msgspec.DecodeError:  # damaged, as above
            return None
        changed.update((schedd, set(clusters)) for schedd, clusters in before.items())
    for schedd, cluster in state.connection.execute("SELECT schedd, cluster FROM idle_changed"):
        changed[schedd].add(cluster)
    return changed


def is_outdated(state: State, ranges: int, learned: int) -> bool:
    """Whether changes are noted, and the copy is to be made, or made anew.

    *ranges* is the length of the queue, *learned* the number of ads whose kinds are known now.
    """
    find = state.connection.execute
    if not is_tracked(state):
        return False
    if _tracking(state) is not None:
        return True  # nobody has made it since changes are noted
    most = _CHANGES + ranges // 16
    return learned > most or int(find("SELECT count(*) FROM idle_changed").fetchone()[0]) > most


def packed(stored: StoredIdle, learned: Mapping[int, KnownKind]) -> Packed:
    """Return the copy of *stored*, with kinds *learned* since it was read, by the number of a shared ad."""
    idle, kinds = stored.loaded()
    numbers = _Numbers(kinds.known, learned)
    rows_of_copy: list[tuple[str, str, bytes]] = []
    for of in idle:
        of.columns["kind"] = numbers.of(of)
        rows_of_copy.append((of.schedd, of.submitter, idle_content.encoded(of)))
    return Packed(
        stored.tracking,
        sum(map(len, idle)),
        rows_of_copy,
        [(number, rows.dumps((sorted(kind.names), kind.ad))) for number, kind in numbers.used.items()],
    )


class Packed(msgspec.Struct, frozen=True):
    """The copy as it is stored: so many *ranges*, the rows of submitters and of kinds, read with *tracking*."""

    tracking: bytes | None
    ranges: int
    submitters: list[tuple[str, str, bytes]]
    kinds: list[tuple[int, str]]


def store(state: State, copy: Packed) -> None:
    """Store the *copy*, unless it was read without tracking or in another state; drop the copy of a short queue."""
    if copy.tracking is None or copy.tracking != _tracking(state):
        return
    if copy.ranges < WORTHWHILE:
        forget(state)
        return
    for table in ("idle_columns", "job_kind"):
        state.connection.execute(f"DELETE FROM {table}")
    state.connection.executemany("INSERT INTO idle_columns VALUES (?, ?, ?)", copy.submitters)
    state.connection.executemany("INSERT INTO job_kind VALUES (?, ?)", copy.kinds)


class _Numbers:
    """Gives kinds new numbers, from 1 on; *used* are those that any job has."""

    def __init__(self, known: Mapping[int, KnownKind], learned: Mapping[int, KnownKind]) -> None:
        self.used: dict[int, KnownKind] = {}
        self._known, self._learned = known, learned
        self._numbers: dict[int, int] = {}

    def of(self, idle: IdleJobs) -> Numbers:
        """The kinds of the ranges by their new numbers; 0 where none is known, or a job has something of its own."""
        known, learned = self._known, self._learned
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


def _read_queue(state: State) -> StoredIdle:
    find = f"{_SELECT} {idle_ranges.condition(state)} {_ORDER}"
    return StoredIdle({}, {}, state.connection.execute(find).fetchall(), [], _tracking(state))


def _tracking(state: State) -> bytes | None:
    found = state.connection.execute("SELECT content FROM idle_columns WHERE schedd IS NULL").fetchone()
    return None if found is None else bytes(found[0])


def _copied(state: State) -> list[IdleJobs]:
    find = "SELECT schedd, submitter, content FROM idle_columns WHERE schedd IS NOT NULL"
    return idle_content.decoded(state.connection.execute(find))


def _of_clusters(state: State, clusters: Mapping[str, Iterable[int]]) -> list[_Row]:
    """The rows of the idle jobs of these clusters, by schedd, in the order of clusters and procs."""
    found: list[_Row] = []
    for schedd, numbers in clusters.items():
        for number in sorted(numbers):
            found += state.connection.execute(
                f"{_SELECT} cluster = ? AND schedd = ? AND status = ? {_ORDER}", (number, schedd, JobStatus.IDLE)
            )
    return found


def _by_place(found: Iterable[_Row]) -> Iterator[IdleJobs]:
    rows_of: dict[_Place, list[_Row]] = defaultdict(list)
    for row in found:
        rows_of[row[0], row[1]].append(row[2:])
    while rows_of:
        # The rows of a few submitters at a time: then their memory is free again.
        yield from idle_jobs(dict(rows_of.popitem() for _ in range(min(_AT_ONCE, len(rows_of)))))
