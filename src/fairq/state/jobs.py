"""The queue: ranges of jobs that are alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from fairq.records import JobRange, JobStatus
from fairq.state import rows
from fairq.state.connection import State
from fairq.state.job_ads import ad_id, ad_ids, ads
from fairq.state.job_changes import (
    JobColumns,
    change,
    change_many,
    mark_running,
    remove,
    remove_many,
    set_status,
)
from fairq.state.job_ranges import Procs

__all__ = [
    "JobColumns",
    "Procs",
    "ad_id",
    "ad_ids",
    "add",
    "ads",
    "change",
    "change_many",
    "clusters_starting",
    "counts_by_submitter",
    "idle",
    "mark_running",
    "next_cluster",
    "owners_starting",
    "remove",
    "remove_many",
    "select",
    "set_status",
]

_SELECT = (
    "SELECT cluster, first_proc, last_proc, ad_id, submitter, owner, status, queue_date, status_date, "
    "priority, schedd, own, template, reason FROM job"
)
_OWN, _TEMPLATE = 11, 12


def next_cluster(state: State) -> int:
    """Reserve a cluster number that no job had before, and return it; the first one is 1."""
    row = state.connection.execute("SELECT value FROM meta WHERE key = 'next_cluster'").fetchone()
    highest = int(state.connection.execute("SELECT coalesce(max(cluster), 0) FROM job").fetchone()[0])
    number = max(int(row[0]) if row else 1, highest + 1)
    state.connection.execute("INSERT OR REPLACE INTO meta VALUES ('next_cluster', ?)", (str(number + 1),))
    return number


def add(state: State, ranges: Iterable[JobRange]) -> None:
    """Queue ranges of jobs: one row each, however many jobs that is."""
    state.connection.executemany(
        "INSERT INTO job (cluster, first_proc, last_proc, ad_id, submitter, owner, status, queue_date, "
        "status_date, priority, schedd, own, template, reason) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                job.cluster,
                job.first_proc,
                job.last_proc,
                job.ad_id,
                job.submitter,
                job.owner,
                job.status,
                job.queue_date,
                job.status_date,
                job.priority,
                job.schedd,
                None if job.own is None else rows.dumps(job.own),
                None if job.template is None else rows.dumps(job.template),
                job.reason,
            )
            for job in ranges
        ),
    )


def idle(state: State) -> list[JobRange]:
    """Return the idle jobs, ordered by schedd, submitter, cluster, first proc."""
    found = state.connection.execute(
        f"{_SELECT} WHERE status = ? ORDER BY schedd, submitter, cluster, first_proc", (JobStatus.IDLE,)
    )
    return _ranges(found.fetchall())


def select(
    state: State,
    *,
    cluster: int | None = None,
    proc: int | None = None,
    owner: str | None = None,
    submitter: str | None = None,
    statuses: Collection[int] | None = None,
    schedd: str | None = None,
) -> list[JobRange]:
    """Return the jobs that satisfy every given condition, ordered by cluster, schedd, first proc.

    With *proc* (which goes with *cluster*) the range returned is that proc alone.
    """
    conditions: list[str] = []
    values: list[object] = []
    wanted = {"cluster": cluster, "owner": owner, "submitter": submitter, "schedd": schedd}
    for column, value in wanted.items():
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if proc is not None:
        conditions.append("? BETWEEN first_proc AND last_proc")
        values.append(proc)
    if statuses is not None:
        conditions.append(f"status IN ({', '.join('?' * len(statuses))})")
        values.extend(statuses)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    found = _ranges(
        state.connection.execute(f"{_SELECT}{where} ORDER BY cluster, schedd, first_proc", values).fetchall()
    )
    if proc is not None:
        for job in found:
            job.first_proc = job.last_proc = proc
    return found


def counts_by_submitter(state: State) -> dict[str, tuple[int, int, int]]:
    """Return how many jobs of each submitter are (idle, running, held)."""
    query = "SELECT submitter, " + ", ".join(
        f"sum(CASE status WHEN {int(status)} THEN last_proc - first_proc + 1 ELSE 0 END)"
        for status in (JobStatus.IDLE, JobStatus.RUNNING, JobStatus.HELD)
    )
    found = state.connection.execute(f"{query} FROM job GROUP BY submitter ORDER BY submitter")
    return {name: (waiting, running, held) for name, waiting, running, held in found}


def running_counts(state: State) -> dict[tuple[str, str], int]:
    """Return how many jobs run, by submitter and schedd."""
    found = state.connection.execute(
        "SELECT submitter, schedd, sum(last_proc - first_proc + 1) FROM job WHERE status = ? "
        "GROUP BY submitter, schedd",
        (JobStatus.RUNNING,),
    )
    return {(submitter, schedd): count for submitter, schedd, count in found}


def clusters_starting(state: State, prefix: str, limit: int = 50) -> list[int]:
    """Return the clusters in the queue whose number, written out, starts with *prefix*, in order."""
    if not prefix.isdecimal() or prefix.startswith("0"):
        if prefix:
            return []
        return _clusters(state, "cluster >= 0", [], limit)
    number = int(prefix)
    bounds = [(number * 10**digits, (number + 1) * 10**digits - 1) for digits in range(19 - len(prefix))]
    condition = " OR ".join("cluster BETWEEN ? AND ?" for _ in bounds)
    return _clusters(state, condition, [bound for pair in bounds for bound in pair], limit) if bounds else []


def owners_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return the owners of queued jobs whose names start with *prefix*, in order, by one indexed query."""
    found = state.connection.execute(
        "SELECT DISTINCT owner FROM job WHERE owner >= ? AND owner < ? ORDER BY owner LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )
    return [owner for (owner,) in found]


def _clusters(state: State, condition: str, values: list[int], limit: int) -> list[int]:
    found = state.connection.execute(
        f"SELECT DISTINCT cluster FROM job WHERE {condition} ORDER BY cluster LIMIT ?", [*values, limit]
    )
    return [cluster for (cluster,) in found]


def _ranges(found: Sequence[tuple[Any, ...]]) -> list[JobRange]:
    if all(row[_OWN] is None and row[_TEMPLATE] is None for row in found):
        return [JobRange(*row) for row in found]
    owns = rows.loads_all(row[_OWN] or "null" for row in found)
    templates = rows.loads_all(row[_TEMPLATE] or "null" for row in found)
    return [
        JobRange(*(*row[:_OWN], own, template, row[-1]))
        for row, own, template in zip(found, owns, templates, strict=True)
    ]
