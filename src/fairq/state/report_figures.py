"""The sums that reports are made of, over jobs that ended, runs and claims."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import Struct

from fairq.state.connection import State


class EndedFigures(Struct, frozen=True):
    """The figures of a submitter's jobs that ended in a window.

    *failed* jobs ended with an exit code other than 0 or by a signal. *cpu* are the CPU seconds of the *measured* jobs,
    *cores* the seconds of their requested cores. *waits* are the seconds from submission to the first start of each job
    that ever ran.
    """

    submitter: str
    jobs: int
    failed: int
    removed: int
    measured: int
    cpu: float
    cores: float
    waits: list[int]


def ended(state: State, since: int, until: int) -> list[EndedFigures]:
    """Return the figures of the jobs that ended from *since* to *until* (not included), by submitter."""
    cursor = state.connection.execute(
        "SELECT submitter, sum(last_proc - first_proc + 1), "
        "sum(status = 4 AND (signal IS NOT NULL OR coalesce(exit_code, 0) <> 0)), "
        "sum(CASE WHEN status = 3 THEN last_proc - first_proc + 1 ELSE 0 END), count(nullif(measured_seconds, 0)), "
        "total(CASE WHEN measured_seconds > 0 THEN user_seconds + system_seconds END), "
        "total(CASE WHEN measured_seconds > 0 THEN measured_seconds * coalesce(request_cpus, 1) END), "
        # One text of numbers is read ten times as fast as a row for each of them.
        "'[' || coalesce(group_concat(CASE WHEN runs > 0 THEN max(0, first_start - queue_date) END), '') || ']' "
        "FROM ended_job WHERE end_time >= ? AND end_time < ? GROUP BY submitter ORDER BY submitter",
        (since, until),
    )
    rows = ((*figures, json.loads(waits)) for *figures, waits in cursor)
    return [EndedFigures(*row) for row in rows]


class RunSums(Struct, frozen=True):
    """The runs of a submitter on a slot (empty: on all): how many, their seconds, and these times slot weight."""

    submitter: str
    slot: str
    runs: int
    seconds: float
    weighted: float


def run_sums(state: State, since: int, until: int, longest: int, *, by_slot: bool) -> list[RunSums]:
    """Return the sums of what ended runs of at most *longest* seconds took from *since* to *until*.

    A run without length counts at its start.
    """
    slot = "slot" if by_slot else "''"
    cursor = state.connection.execute(
        "SELECT submitter, place, count(*), sum(seconds), total(seconds * slot_weight) FROM ("
        f"SELECT submitter, {slot} AS place, slot_weight, min(end_time, ?2) - max(start_time, ?1) AS seconds FROM run "
        "WHERE end_time >= ?1 AND end_time <= ?2 + ?3 AND start_time < ?2 "
        "AND (end_time > ?1 OR start_time = end_time) AND end_time - start_time <= ?3) GROUP BY 1, 2",
        (since, until, longest),
    )
    return [RunSums(*row) for row in cursor]


def lost(state: State, since: int, until: int) -> dict[str, float]:
    """Return, by submitter, the seconds times slot weight of the runs that a preemption ended in that time."""
    cursor = state.connection.execute(
        "SELECT submitter, total((end_time - start_time) * slot_weight) FROM run "
        "WHERE end_time >= ? AND end_time < ? AND how = 'preempted' GROUP BY submitter",
        (since, until),
    )
    return dict(cursor)


def ran(state: State, since: int, until: int, longest: int, now: int) -> Iterator[tuple[str, str, int, int, float]]:
    """Yield each run of more than *longest* seconds that overlaps *since* to *until*, and each that goes on.

    They are submitter, slot, start, end and slot weight. Runs that have not ended end *now*, the time of the last
    update, up to which they are charged.
    """
    return state.connection.execute(
        "SELECT submitter, slot, start_time, end_time, slot_weight FROM run WHERE end_time > ?1 AND start_time < ?2 "
        "AND end_time - start_time > ?4 "
        "UNION ALL SELECT submitter, slot.name, start_time, max(start_time, ?3), slot_weight "
        "FROM whole_claim JOIN slot ON slot.id = slot_id WHERE start_time < min(?2, ?3)",
        (since, until, now, longest),
    )


def slot_counts(state: State) -> tuple[int, int, int]:
    """Return how many slots the pool has without those carved out of others, how many drain, and the claims."""
    counts: tuple[int, int, int] = state.connection.execute(
        "SELECT (SELECT count(*) FROM slot) - (SELECT count(*) FROM dynamic_slot), "
        "(SELECT count(*) FROM slot WHERE draining), (SELECT count(*) FROM claim)"
    ).fetchone()
    return counts


_EXACT = 1e9
"""The sum of so large whole numbers, one for each slot, is the same in any order."""


def weights_in_use(state: State) -> Iterator[tuple[str, float]]:
    """Return submitters with the slot weight of their claims: of every claim in pool order, or sums of whole numbers.

    Both add up to the same, to the last digit.
    """
    find = state.connection.execute
    uneven = "slot_weight != CAST(slot_weight AS INTEGER) OR abs(slot_weight) > ?"
    if find(f"SELECT EXISTS (SELECT 1 FROM claim_terms WHERE {uneven})", (_EXACT,)).fetchone()[0]:
        return find("SELECT submitter, slot_weight FROM whole_claim ORDER BY slot_id")
    return find("SELECT submitter, slot_weight * used FROM claim_terms")


def matches_of(state: State, cycle: int) -> tuple[int, int]:
    """Return how many matches a cycle made, and how many of them preempted somebody."""
    counts: tuple[int, int] | None = state.connection.execute(
        "SELECT made, preempting FROM match WHERE cycle = ?", (cycle,)
    ).fetchone()
    return counts or (0, 0)


def cycle_count(state: State) -> int:
    """Return how many cycles were held."""
    return int(state.value("SELECT count(*) FROM cycle"))
