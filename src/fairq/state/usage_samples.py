"""What the last cycle found, which holds until the next one: who waits, who is entitled to what."""

from __future__ import annotations

import json

from msgspec import Struct

from fairq.common.past import UsageRow
from fairq.common.periods import parts
from fairq.state import meta, usage
from fairq.state.connection import State

SAMPLE = "usage_sample"
"""Where the state keeps it: {"time": ..., "of": {name: [entitled, wants, idle, running, priority, delivered]}}."""

LONGEST_GAP = 3600
"""Seconds after a cycle that what it found is taken to last; later, where no cycle ran, nothing is known."""


class Sample(Struct, frozen=True):
    """Of a submitter, or of the pool: see `fairq.common.past.UsageRow`; *delivered* is told of the pool alone."""

    entitled: float
    wants: bool
    idle: int
    running: int
    priority: float
    delivered: float = 0.0


def replace(state: State, now: int, samples: dict[str, Sample]) -> None:
    """Add what the cycle before found to the ledger, for the time until *now*; keep *samples* for the next one."""
    stored = meta.get(state, SAMPLE)
    if stored is not None:
        former = json.loads(stored)
        since = former["time"]
        until = min(now, since + LONGEST_GAP)
        if since < until:
            usage.add(state, _rows(former["of"], since, until))
    values = {
        name: [sample.entitled, int(sample.wants), sample.idle, sample.running, sample.priority, sample.delivered]
        for name, sample in samples.items()
    }
    meta.set(state, SAMPLE, json.dumps({"time": now, "of": values}, separators=(",", ":")))


def _rows(values: dict[str, list[float]], since: int, until: int) -> list[UsageRow]:
    rows = []
    for start, part in parts(since, until):
        seconds = part * (until - since)
        for name, (entitled, wants, idle, running, priority, delivered) in values.items():
            rows.append(
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
    return rows
