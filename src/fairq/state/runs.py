"""The runs of jobs that have ended; nothing here is ever changed or deleted."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import Run
from fairq.state import rows
from fairq.state.connection import State

_RUNS = rows.Records(Run, "run")


def preempted_since(state: State, time: int) -> int:
    """Return how many runs a preemption ended after *time*."""
    query = "SELECT count(*) FROM run WHERE how = 'preempted' AND end_time > ?"
    count: int = state.value(query, (time,))
    return count


def add(state: State, runs: Iterable[Run]) -> None:
    """Append runs."""
    _RUNS.add(state, runs)


def load(state: State, *, cluster: int | None = None, proc: int | None = None) -> list[Run]:
    """Return the ended runs in the order they ended: all, of one cluster, or of one job."""
    if cluster is None:
        return _RUNS.select(state, "ORDER BY id")
    return _RUNS.select(state, "WHERE cluster = ?1 AND (?2 IS NULL OR proc = ?2) ORDER BY id", (cluster, proc))


def of_procs(state: State, schedd: str, cluster: int, first_proc: int, last_proc: int) -> list[Run]:
    """Return the ended runs of a range of procs, in the order they ended."""
    where = "WHERE cluster = ? AND proc BETWEEN ? AND ? AND schedd = ? ORDER BY id"
    return _RUNS.select(state, where, (cluster, first_proc, last_proc, schedd))


def latest_with_ads(state: State, how: str, limit: int) -> list[tuple[Run, int | None]]:
    """Return the last *limit* runs that ended in this way, in the order they ended, each with the id of its job's ad.

    The ad is that of the job's record, or of the nearest one before it in the cluster; the id is None without one.
    """
    ad = (
        "SELECT ad_id FROM ended_job WHERE cluster = run.cluster AND first_proc <= run.proc "
        "AND schedd = run.schedd ORDER BY first_proc DESC LIMIT 1"
    )
    stored = state.connection.execute(
        f"SELECT {_RUNS.columns}, ({ad}) FROM run WHERE how = ? ORDER BY id DESC LIMIT ?", (how, limit)
    ).fetchall()
    return [(Run(*row[:-1]), row[-1]) for row in reversed(stored)]


def seconds_between(state: State, since: float, until: float) -> list[tuple[str, float]]:
    """Return for every submitter how many seconds its ended runs lasted, all together, from *since* to *until*."""
    return state.connection.execute(
        "SELECT submitter, sum(min(end_time, ?2) - max(start_time, ?1)) FROM run "
        "WHERE end_time > ?1 AND start_time < ?2 GROUP BY submitter ORDER BY submitter",
        (since, until),
    ).fetchall()
