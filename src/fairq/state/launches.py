"""The runs that fairq starts itself, from the intent to long after their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairq.common.records import Launch, LaunchPhase
from fairq.state import rows
from fairq.state.connection import State

_LAUNCHES = rows.Records(Launch, "launch", "after", "cores", "ordered", "ended", phase=LaunchPhase)


def load_all(state: State) -> list[Launch]:
    """Return every run that there is a record of, oldest first."""
    return _LAUNCHES.select(state, "ORDER BY id")


def live(state: State) -> list[Launch]:
    """Return the runs that have not ended, oldest first."""
    return _LAUNCHES.select(state, "WHERE phase <> 'ended' ORDER BY id")


def of_job(state: State, cluster: int, proc: int) -> list[Launch]:
    """Return the runs of one job, oldest first."""
    return _LAUNCHES.select(state, "WHERE cluster = ? AND proc = ? ORDER BY id", (cluster, proc))


def of_procs(state: State, schedd: str, cluster: int, first_proc: int, last_proc: int) -> list[Launch]:
    """Return the runs of a range of procs, oldest first."""
    where = "WHERE cluster = ? AND proc BETWEEN ? AND ? AND schedd = ? ORDER BY id"
    return _LAUNCHES.select(state, where, (cluster, first_proc, last_proc, schedd))


def last_of_cluster(state: State, cluster: int) -> dict[int, Launch]:
    """Return the last run of every job of a cluster, by proc."""
    launches = _LAUNCHES.select(state, "WHERE cluster = ? ORDER BY id", (cluster,))
    return {launch.proc: launch for launch in launches}


def ended_before(state: State, time: int, limit: int) -> list[tuple[str, str]]:
    """Return launcher and name of at most *limit* runs that ended before *time*, the oldest first."""
    cursor = state.connection.execute(
        "SELECT launcher, name FROM launch WHERE phase = 'ended' AND end_time < ? ORDER BY id LIMIT ?", (time, limit)
    )
    return cursor.fetchall()


def failed_starts(state: State, slot: str, whole: str) -> int:
    """Return of how many clusters jobs have not started on a slot since another job did.

    With a *whole* slot of another name, also on what else was carved out of it. A program that is itself the fault,
    such as a script without ``#!``, says nothing of the slot.
    """
    stem, at, machine = whole.partition("@")
    there = (
        "phase = 'ended' AND (slot = ?1 OR (?2 <> ?1 AND substr(slot, 1, length(?3)) = ?3 "
        "AND substr(slot, -length(?4)) = ?4)) AND coalesce(json_extract(ended, '$.step'), '') <> 'executable'"
    )
    cursor = state.connection.execute(
        f"SELECT count(DISTINCT cluster) FROM launch WHERE {there} AND id > (SELECT coalesce(max(id), 0) FROM launch "
        f"WHERE {there} AND json_extract(ended, '$.reason') <> 'start')",
        (slot, whole, f"{stem}_", at + machine or "_"),
    )
    return int(cursor.fetchone()[0])


def names(state: State) -> set[str]:
    """Return the names of all runs that there is a record of."""
    return set(state.column("SELECT name FROM launch"))


def add(state: State, launches: Iterable[Launch]) -> None:
    """Append runs; a number of 0 is replaced by the next one."""
    _LAUNCHES.add(state, launches)


def store(state: State, launches: Iterable[Launch], *columns: str) -> None:
    """Store these *columns* of runs as they are now."""
    setting = ", ".join(f"{name} = :{name}" for name in columns)
    stored = (dict(zip(_LAUNCHES.names, _LAUNCHES.row(launch), strict=True)) for launch in launches)
    state.connection.executemany(f"UPDATE launch SET {setting} WHERE name = :name", stored)


def delete(state: State, run_names: Sequence[str]) -> None:
    """Delete the records of runs."""
    state.connection.executemany("DELETE FROM launch WHERE name = ?", [(name,) for name in run_names])
