"""The sums that reports are made of, over jobs that ended, runs and claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from fairq.state.connection import State


@dataclass(frozen=True, slots=True)
class EndedFigures:
    """Of a submitter's jobs that ended in a window: how many, and the seconds that they computed and might have.

    *failed* ended with another code than 0 or by a signal. *cpu* are CPU seconds, *cores* the seconds of the requested
    cores, both of the jobs that were measured.
    """

    submitter: str
    jobs: int
    failed: int
    removed: int
    measured: int
    cpu: float
    cores: float


def ended(state: State, since: int, until: int) -> list[EndedFigures]:
    """Return the figures of the jobs that ended from *since* to *until* (not included), by submitter."""
    found = state.connection.execute(
        "SELECT submitter, sum(last_proc - first_proc + 1), "
        "sum(status = 4 AND (signal IS NOT NULL OR coalesce(exit_code, 0) <> 0)), "
        "sum(CASE WHEN status = 3 THEN last_proc - first_proc + 1 ELSE 0 END), count(nullif(measured_seconds, 0)), "
        "total(CASE WHEN measured_seconds > 0 THEN user_seconds + system_seconds END), "
        "total(CASE WHEN measured_seconds > 0 THEN measured_seconds * coalesce(request_cpus, 1) END) "
        "FROM ended_job WHERE end_time >= ? AND end_time < ? GROUP BY submitter ORDER BY submitter",
        (since, until),
    )
    return [EndedFigures(*row) for row in found]


def waits(state: State, since: int, until: int) -> dict[str, list[int]]:
    """Return how long the jobs that ended in the window and ever ran had waited for their first start, by submitter."""
    result: dict[str, list[int]] = defaultdict(list)
    found = state.connection.execute(
        "SELECT submitter, max(0, first_start - queue_date) FROM ended_job "
        "WHERE end_time >= ? AND end_time < ? AND runs > 0",
        (since, until),
    )
    for name, seconds in found:
        result[name].append(seconds)
    return result


def ran(state: State, since: int, until: int, now: int) -> Iterator[tuple[str, str, int, int, float]]:
    """Yield what ran from *since* to *until*: submitter, slot, start, end and slot weight of each run.

    Runs that have not ended end *now*, the time of the last update, up to which they are charged.
    """
    return state.connection.execute(
        "SELECT submitter, slot, start_time, end_time, slot_weight FROM run WHERE end_time > ?1 AND start_time < ?2 "
        "UNION ALL SELECT submitter, slot.name, start_time, max(start_time, ?3), slot_weight "
        "FROM claim JOIN slot ON slot.id = slot_id WHERE start_time < min(?2, ?3)",
        (since, until, now),
    )


def slot_counts(state: State) -> tuple[int, int, int]:
    """Return how many slots the pool has without those carved out of others, how many drain, and the claims."""
    counts: tuple[int, int, int] = state.connection.execute(
        "SELECT (SELECT count(*) FROM slot) - (SELECT count(*) FROM dynamic_slot), "
        "(SELECT count(*) FROM slot WHERE draining), (SELECT count(*) FROM claim)"
    ).fetchone()
    return counts


def matches_of(state: State, cycle: int) -> tuple[int, int]:
    """Return how many matches a cycle made, and how many of them preempted somebody."""
    counts: tuple[int, int] = state.connection.execute(
        "SELECT count(*), count(preempted) FROM match WHERE cycle = ?", (cycle,)
    ).fetchone()
    return counts


def cycle_count(state: State) -> int:
    """Return how many cycles were held."""
    return int(state.connection.execute("SELECT count(*) FROM cycle").fetchone()[0])
