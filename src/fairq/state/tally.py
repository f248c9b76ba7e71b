"""Counters since the state began: runs by outcome, waits of jobs by group, and durations of cycles.

Each cycle adds what has ended since the one before. So metrics cost the same however long the history is, and waits
stay counted when old jobs are forgotten.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable

from msgspec import Struct, field, to_builtins

from fairq.state import meta
from fairq.state.connection import State

WAITS = (10, 60, 300, 1800, 7200, 28800, 86400, 604800)
"""Upper limits of the buckets of waits, in seconds; one more bucket has the rest."""

CYCLES = (0.1, 0.3, 1, 3, 10, 30, 100, 300)
"""Upper limits of the buckets of cycle durations, in seconds; one more bucket has the rest."""

_KEY = "tally"


class Histogram(Struct):
    """The *counts* of each bucket, not cumulated, and the *sum* of all values in seconds."""

    counts: list[int]
    sum: float = 0.0


class Tally(Struct):
    """The counters up to the run number *run* and the ended job number *job*.

    *outcomes* counts ended runs; those with an exit code other than 0 are *failed*. *waits* are the times from
    submission to the first start, by accounting group.
    """

    run: int = 0
    job: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    waits: dict[str, Histogram] = field(default_factory=dict)
    cycles: Histogram = field(default_factory=lambda: Histogram([0] * (len(CYCLES) + 1)))


def current(state: State, group_of: Callable[[str], str]) -> Tally:
    """Return the stored counters with everything that has ended since; *group_of* is the group of a submitter."""
    tally = _stored(state)
    last_run, last_job = state.connection.execute(
        "SELECT (SELECT coalesce(max(id), 0) FROM run), (SELECT coalesce(max(id), 0) FROM ended_job)"
    ).fetchone()
    if tally.run > last_run or tally.job > last_job:
        # Records were taken back, or another program has numbered them anew.
        tally = Tally(cycles=tally.cycles)
    outcomes: defaultdict[str, int] = defaultdict(int, tally.outcomes)
    for how, bad, count in state.connection.execute(
        "SELECT how, coalesce(exit_code, 0) <> 0, count(*) FROM run WHERE id > ? GROUP BY 1, 2", (tally.run,)
    ):
        outcomes["failed" if how == "finished" and bad else how] += count
    tally.outcomes = dict(outcomes)
    for submitter, wait, jobs in state.connection.execute(
        "SELECT submitter, max(0, first_start - queue_date), sum(last_proc - first_proc + 1) FROM ended_job "
        "WHERE id > ? AND runs > 0 GROUP BY 1, 2",
        (tally.job,),
    ):
        waits = tally.waits.setdefault(group_of(submitter), Histogram([0] * (len(WAITS) + 1)))
        waits.counts[bisect_left(WAITS, wait)] += jobs
        waits.sum += wait * jobs
    tally.run, tally.job = last_run, last_job
    return tally


def keep(state: State, tally: Tally) -> None:
    """Store the counters."""
    meta.set(state, _KEY, json.dumps(to_builtins(tally), separators=(",", ":")))


def add_cycle(state: State, seconds: float) -> None:
    """Count a cycle that took *seconds*."""
    tally = _stored(state)
    tally.cycles.counts[bisect_left(CYCLES, seconds)] += 1
    tally.cycles.sum += seconds
    keep(state, tally)


def _stored(state: State) -> Tally:
    try:
        members = json.loads(meta.get(state, _KEY) or "{}")
        cycles = Histogram(**members.pop("cycles"))
        waits = {group: Histogram(**histogram) for group, histogram in members.pop("waits").items()}
        if {len(histogram.counts) for histogram in waits.values()} | {len(WAITS) + 1} != {len(WAITS) + 1}:
            return Tally()
        return Tally(**members, cycles=cycles, waits=waits) if len(cycles.counts) == len(CYCLES) + 1 else Tally()
    except (ValueError, KeyError, TypeError, AttributeError):
        # A state document may hold anything here: the counters begin again.
        return Tally()
