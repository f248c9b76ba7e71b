"""The ledger of usage: what was charged and found, by bucket of time, and what else changed the sums.

For every submitter and group the sum of all its rows is what its accounting record has accumulated.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from math import fsum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.past import Charge, UsageEdit, UsageRow
from fairq.common.periods import parts
from fairq.state import meta, rows
from fairq.state.connection import State

_ROWS = rows.Records(UsageRow, "usage")
_EDITS = rows.Records(UsageEdit, "usage_edit")
_SUMS = _ROWS.names[2:]
_THINNED = "usage_thinned_until"
_ROUNDING = 1e-6
"""Seconds: what is less, or less than this share of the usage, is no edit, but the rounding of sums."""

SAMPLE = "usage_sample"
"""Where the state keeps it: {"time": ..., "of": {name: [entitled, wants, idle, running, priority, delivered]}}."""

LONGEST_GAP = 3600
"""Seconds after a cycle that what it found is taken to last; later, where no cycle ran, nothing is known."""


class Booking(Struct, frozen=True):
    """How to book what no charge explains: its *kind* (see `UsageEdit`), when, and by whom."""

    kind: str
    time: int
    user: str = ""


def load_all(state: State) -> list[UsageRow]:
    """Return all buckets, oldest first."""
    return _ROWS.select(state, "ORDER BY start, name")


def load_edits(state: State) -> list[UsageEdit]:
    """Return everything that changed usage and is no charge, oldest first."""
    return _EDITS.select(state, "ORDER BY id")


def add(state: State, sums: Iterable[UsageRow]) -> None:
    """Add these sums to those of their buckets."""
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
    state.connection.executemany(
        f"INSERT INTO usage ({_ROWS.columns}) VALUES (?, ?{', ?' * len(_SUMS)}) "
        f"ON CONFLICT (start, name) DO UPDATE SET {added}",
        map(_ROWS.row, sums),
    )


def add_edits(state: State, edits: Iterable[UsageEdit]) -> None:
    """Append what changed usage and is no charge."""
    _EDITS.add(state, edits)


def book(
    state: State,
    before: dict[str, tuple[float, float]],
    after: dict[str, tuple[float, float]],
    charges: Iterable[Charge],
    booking: Booking,
    wanting: dict[str, tuple[int, int]],
) -> None:
    """Book the change of usage, plain and weighted, of the names in *after*: *charges*, and the rest as *booking* says.

    *wanting* says of whom wanted more than it had from when to when.
    """
    buckets: dict[tuple[int, str], UsageRow] = {}
    charged: defaultdict[str, list[Charge]] = defaultdict(list)
    for charge in charges:
        charged[charge.name].append(charge)
        _put(buckets, charge, wanting.get(charge.name))
    edits = []
    for name, (usage, weighted) in after.items():
        old_usage, old_weighted = before.get(name, (0.0, 0.0))
        own = charged.get(name, ())
        rest = fsum([usage, -old_usage, *(-edit.usage for edit in own)])
        rest_weighted = fsum([weighted, -old_weighted, *(-edit.weighted for edit in own)])
        if not rest and not rest_weighted:
            continue
        if max(abs(rest), abs(rest_weighted)) <= _ROUNDING * max(1.0, abs(weighted), abs(old_weighted)):
            at = own[-1] if own else Charge(name, booking.time, booking.time + 1, 0.0, 0.0)
            _put(buckets, replace(at, start=at.end - 1, usage=rest, weighted=rest_weighted), None)
        else:
            edits.append(UsageEdit(booking.time, name, booking.kind, booking.user, rest, rest_weighted))
    add(state, buckets.values())
    add_edits(state, edits)


def _put(buckets: dict[tuple[int, str], UsageRow], charge: Charge, wanting: tuple[int, int] | None) -> None:
    for start, part in parts(charge.start, charge.end):
        row = buckets.setdefault((start, charge.name), UsageRow(start, charge.name))
        row.usage += charge.usage * part
        row.weighted += charge.weighted * part
    if wanting is not None:
        since, until = max(wanting[0], charge.start), min(wanting[1], charge.end)
        if since < until:
            delivered = charge.weighted * (until - since) / (charge.end - charge.start)
            for start, part in parts(since, until):
                buckets.setdefault((start, charge.name), UsageRow(start, charge.name)).delivered += delivered * part


def sums(state: State, since: int, until: int) -> dict[str, UsageRow]:
    """Return the sums by name of the buckets that begin from *since* to *until* (not included)."""
    totals = ", ".join(f"total({name})" for name in _SUMS)
    cursor = state.connection.execute(
        f"SELECT name, {totals} FROM usage WHERE start >= ? AND start < ? GROUP BY name ORDER BY name", (since, until)
    )
    return {name: UsageRow(since, name, *rest) for name, *rest in cursor}


def edits_between(state: State, since: int, until: int) -> list[UsageEdit]:
    """Return what was changed from *since* to *until* (not included) and is no charge."""
    return _EDITS.select(state, "WHERE time >= ? AND time < ? ORDER BY id", (since, until))


def first_start_after(state: State, time: int) -> int | None:
    """Return when the first bucket begins that begins at *time* or later; None if there is none."""
    start: int | None = state.value("SELECT min(start) FROM usage WHERE start >= ?", (time,))
    return start


def thinned_until(state: State) -> int:
    """Return up to when buckets are days."""
    return meta.number(state, _THINNED)


def keep_thinned_until(state: State, time: int) -> None:
    """Remember up to when buckets are days."""
    meta.set(state, _THINNED, str(time))


def merge(state: State, start: int, end: int) -> None:
    """Make one bucket of all that begin from *start* to *end* (not included)."""
    merged = list(sums(state, start, end).values())
    state.connection.execute("DELETE FROM usage WHERE start >= ? AND start < ?", (start, end))
    add(state, merged)


def differences(state: State) -> list[tuple[str, float, float]]:
    """Return the names whose ledger does not give what their record has: (name, weighted usage there, sum here)."""
    sums: list[tuple[Any, ...]] = state.connection.execute(
        "SELECT name, total(recorded), total(booked) FROM ("
        "SELECT name, weighted_accumulated_usage AS recorded, 0 AS booked FROM submitter "
        "UNION ALL SELECT name, 0, weighted FROM usage UNION ALL SELECT name, 0, weighted FROM usage_edit) "
        "GROUP BY name ORDER BY name"
    ).fetchall()
    return [
        (name, recorded, booked)
        for name, recorded, booked in sums
        if abs(recorded - booked) > max(0.5, 1e-9 * abs(recorded))
    ]


def between(state: State, since: int, until: int) -> list[UsageRow]:
    """Return the buckets that begin from *since* to *until* (not included), oldest first."""
    return _ROWS.select(state, "WHERE start >= ? AND start < ? ORDER BY start, name", (since, until))


class Sample(Struct, frozen=True):
    """Of a submitter, or of the pool: see `fairq.common.past.UsageRow`; *delivered* is told of the pool alone."""

    entitled: float
    wants: bool
    idle: int
    running: int
    priority: float
    delivered: float = 0.0


def replace_samples(state: State, now: int, samples: dict[str, Sample]) -> None:
    """Add what the cycle before found to the ledger, for the time until *now*; keep *samples* for the next one."""
    stored = meta.get(state, SAMPLE)
    if stored is not None:
        former = json.loads(stored)
        since = former["time"]
        until = min(now, since + LONGEST_GAP)
        if since < until:
            add(state, _of_sample(former["of"], since, until))
    values = {
        name: [sample.entitled, int(sample.wants), sample.idle, sample.running, sample.priority, sample.delivered]
        for name, sample in samples.items()
    }
    meta.set(state, SAMPLE, json.dumps({"time": now, "of": values}, separators=(",", ":")))


def _of_sample(values: dict[str, list[float]], since: int, until: int) -> list[UsageRow]:
    sums = []
    for start, part in parts(since, until):
        seconds = part * (until - since)
        for name, (entitled, wants, idle, running, priority, delivered) in values.items():
            sums.append(
                UsageRow(
                    start,
                    name,
                    entitled=entitled * seconds if wants else 0.0,
                    delivered=delivered * seconds,
                    wanting=seconds if wants else 0.0,
                    idle=idle * seconds,
                    running=running * seconds,
                    priority=priority * seconds,
                    known=seconds,
                )
            )
    return sums
