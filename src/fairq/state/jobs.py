"""The queue: ranges of jobs that are alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any, NamedTuple

from msgspec.structs import astuple

from fairq.common.expression_form import OPEN
from fairq.common.procs import Procs
from fairq.common.records import WITHDRAWN, Ad, JobRange, JobStatus
from fairq.state import ad_texts, job_ads, rows, waits
from fairq.state.connection import State
from fairq.state.job_ads import ad_id, ad_ids, ads
from fairq.state.job_ads import in_turn as ads_in_turn
from fairq.state.job_changes import (
    JobColumns,
    change,
    change_many,
    mark_running,
    remove,
    remove_many,
    set_status,
)

__all__ = [
    "JobColumns",
    "Procs",
    "ad_id",
    "ad_ids",
    "add",
    "ads",
    "ads_in_turn",
    "at",
    "change",
    "change_many",
    "count",
    "counts",
    "counts_by_submitter",
    "find",
    "first",
    "idle",
    "mark_running",
    "names_starting",
    "next_cluster",
    "owners_starting",
    "remove",
    "remove_many",
    "replace_all",
    "running_counts",
    "select",
    "set_status",
    "whole_ad",
    "widest",
]

_JOBS = rows.Records(JobRange, "job", "own", "template")
_OWN, _TEMPLATE = _JOBS.names.index("own"), _JOBS.names.index("template")
_MANY = 5000
"""From so many ranges on, it takes less time to put all of them into the indexes at the end than each by itself."""

_MOST_DIGITS = 18
"""Of a number that SQLite can hold."""


def next_cluster(state: State, count: int = 1) -> int:
    """Reserve *count* numbers of clusters that no job had before, and return the first; the first one of all is 1."""
    row = state.connection.execute("SELECT value FROM meta WHERE key = 'next_cluster'").fetchone()
    highest = int(state.value("SELECT coalesce(max(cluster), 0) FROM job"))
    number = max(int(row[0]) if row else 1, highest + 1)
    state.connection.execute("INSERT OR REPLACE INTO meta VALUES ('next_cluster', ?)", (str(number + count),))
    return number


def add(state: State, ranges: Iterable[JobRange]) -> None:
    """Queue ranges of jobs: one row each, however many jobs that is."""
    rows.insert(state, f"INSERT INTO job ({_JOBS.columns})", map(_row, ranges))


def replace_all(state: State, ranges: Sequence[JobRange], ads: Sequence[Ad]) -> None:
    """Put *ranges* in the place of all jobs; their ``ad_id`` is an index into *ads*, and becomes the ad's number.

    This is many times faster than to take each job out of the queue and put another one in.
    """
    is_first = job_ads.is_empty(state)
    with rows.indexed_at_the_end(state, "job") if len(ranges) >= _MANY else nullcontext():
        state.connection.execute("DELETE FROM job")
        waits.remove_all(state)
        numbers = job_ads.ad_ids(state, ads)
        for job in ranges:
            job.ad_id = numbers[job.ad_id]
        add(state, ranges)
    if not is_first or len({job.ad_id for job in ranges}) < len(set(numbers)):
        job_ads.delete_all_unused(state)


def _row(job: JobRange) -> tuple[Any, ...]:
    row = astuple(job)
    if job.own is None and job.template is None:
        return row
    own = None if job.own is None else ad_texts.of_ad(job.own)
    template = None if job.template is None else rows.dumps(job.template)
    return (*row[:_OWN], own, template, *row[_TEMPLATE + 1 :])


def idle(state: State) -> list[JobRange]:
    """Return the idle jobs, ordered by schedd, submitter, cluster, first proc."""
    where = "WHERE status = ? ORDER BY schedd, submitter, cluster, first_proc"
    return _JOBS.select(state, where, (JobStatus.IDLE,))


def has_idle_since(state: State, time: float) -> bool:
    """Return whether a job has been idle since *time*, or longer."""
    query = "SELECT 1 FROM job WHERE status = ? AND status_date <= ? LIMIT 1"
    return state.connection.execute(query, (JobStatus.IDLE, time)).fetchone() is not None


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
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    ranges = _JOBS.select(state, f"{where} ORDER BY cluster, schedd, first_proc", values)
    if proc is not None:
        for job in ranges:
            job.first_proc = job.last_proc = proc
    return ranges


def find(state: State, schedd: str, cluster: int, proc: int) -> JobRange | None:
    """Return one job of the queue; None if it is not there."""
    ranges = select(state, cluster=cluster, proc=proc, schedd=schedd)
    return ranges[0] if ranges else None


def whole_ad(state: State, job: JobRange) -> Ad:
    """Return the whole ad of the first job of a range."""
    return job.ad_of(ads(state, [job.ad_id])[job.ad_id], job.first_proc)


def at(state: State, keys: Iterable[tuple[int, str, int]], status: int | None = None) -> list[JobRange]:
    """Return the ranges with these clusters, schedds and first procs (in *status* only if given), in that order."""
    condition = "cluster = ?1 AND schedd = ?2 AND first_proc = ?3 AND (?4 IS NULL OR status = ?4)"
    query = f"SELECT {_JOBS.columns} FROM job WHERE {condition}"
    selected = (state.connection.execute(query, (*key, status)).fetchone() for key in sorted(set(keys)))
    return _JOBS.read([row for row in selected if row is not None])


def first(
    state: State, limit: int | None, statuses: Collection[int] | None = None, after: JobRange | None = None
) -> list[JobRange]:
    """Return the first *limit* ranges of jobs (None: all), ordered by schedd, cluster, first proc.

    Only those in *statuses*, and those *after* a range, if given.
    """
    where, values = _in_statuses(statuses)
    key: tuple[object, ...] = ()
    if after is not None:
        where += f" {'AND' if where else 'WHERE'} (schedd, cluster, first_proc) > (?, ?, ?)"
        key = (after.schedd, after.cluster, after.first_proc)
    rest = f"{where} ORDER BY schedd, cluster, first_proc LIMIT ?"
    return _JOBS.select(state, rest, (*values, *key, -1 if limit is None else limit))


class Widest(NamedTuple):
    """The largest values of all jobs (or those of some statuses); *waiting*: some wait before they are idle, or an
    engine has not started them."""

    cluster: int
    proc: int
    priority: int
    submitter: str
    waiting: bool


def widest(state: State, statuses: Collection[int] | None = None) -> Widest | None:
    """Return the largest values of the jobs (in *statuses* only if given), read in one pass; None without jobs.

    *priority* is the one with most digits, sign included.
    """
    where, values = _in_statuses(statuses)
    cursor = state.connection.execute(
        "SELECT max(cluster), max(last_proc), min(priority), max(priority), max(length(submitter)), "
        f"max(status = {int(JobStatus.WAITING)} OR "
        f"(status = {int(JobStatus.IDLE)} AND reason LIKE '{WITHDRAWN}%')) FROM job{where}",
        values,
    )
    cluster, proc, lowest, highest, length, withdrawn = cursor.fetchone()
    if cluster is None:
        return None
    priority = max(lowest, highest, key=lambda value: len(str(value)))
    return Widest(cluster, proc, priority, "x" * length, bool(withdrawn))


def counts(state: State, statuses: Collection[int] | None = None) -> dict[int, int]:
    """Return how many jobs there are by status, of *statuses* only if given."""
    where, values = _in_statuses(statuses)
    cursor = state.connection.execute(
        f"SELECT status, sum(last_proc - first_proc + 1) FROM job{where} GROUP BY status", values
    )
    return dict(cursor.fetchall())


def counts_of(state: State, cluster: int) -> dict[int, int]:
    """Return how many jobs of a *cluster* of fairq's own queue there are by status."""
    query = "SELECT status, sum(last_proc - first_proc + 1) FROM job WHERE cluster = ? AND schedd = '' GROUP BY status"
    return dict(state.connection.execute(query, (cluster,)).fetchall())


def _in_statuses(statuses: Collection[int] | None) -> tuple[str, list[int]]:
    if statuses is None:
        return "", []
    return f" WHERE status IN ({', '.join('?' * len(statuses))})", list(statuses)


def counts_by_submitter(state: State) -> dict[str, tuple[int, int, int]]:
    """Return how many jobs of each submitter are (idle, running, held); those that wait are idle, too."""
    query = "SELECT submitter, " + ", ".join(
        f"sum(CASE WHEN status IN ({', '.join(str(int(status)) for status in statuses)}) "
        "THEN last_proc - first_proc + 1 ELSE 0 END)"
        for statuses in ((JobStatus.IDLE, JobStatus.WAITING), (JobStatus.RUNNING,), (JobStatus.HELD,))
    )
    cursor = state.connection.execute(f"{query} FROM job GROUP BY submitter ORDER BY submitter")
    return {name: (waiting, running, held) for name, waiting, running, held in cursor}


def count(state: State) -> int:
    """Return how many jobs are in fairq's own queue."""
    query = "SELECT coalesce(sum(last_proc - first_proc + 1), 0) FROM job WHERE schedd = ''"
    return int(state.value(query))


def count_ranges(state: State, owner: str) -> int:
    """Return how many ranges of alike jobs of an *owner* are in fairq's own queue."""
    query = "SELECT count(*) FROM job WHERE schedd = '' AND owner = ?"
    return int(state.value(query, (owner,)))


def running_counts(state: State) -> dict[tuple[str, str], int]:
    """Return how many jobs run, by (submitter, schedd)."""
    cursor = state.connection.execute(
        "SELECT submitter, schedd, sum(last_proc - first_proc + 1) FROM job WHERE status = ? GROUP BY 1, 2",
        (JobStatus.RUNNING,),
    )
    return {(submitter, schedd): count for submitter, schedd, count in cursor}


def owners(state: State) -> set[tuple[str, str]]:
    """Return every submitter that has jobs, each with the owners of these."""
    return set(state.connection.execute("SELECT DISTINCT submitter, owner FROM job"))


def names_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return what a job's name that starts with *prefix* can go on as, by one indexed query.

    Clusters (``12``) as long as there is no dot, then the jobs of one cluster (``12.0``).
    """
    cluster, dot, proc = prefix.partition(".")
    if not dot:
        condition, values = _starting("cluster", cluster)
        cursor = state.connection.execute(
            f"SELECT DISTINCT cluster FROM job WHERE {condition} ORDER BY cluster LIMIT ?", (*values, limit)
        )
        return [str(number) for (number,) in cursor]
    if not cluster.isdecimal() or len(cluster) > _MOST_DIGITS:
        return []
    cursor = state.connection.execute(
        "SELECT first_proc, last_proc FROM job WHERE cluster = ? ORDER BY first_proc", (int(cluster),)
    )
    procs = (number for first, last in cursor for number in _numbers_starting(proc, first, last))
    return [f"{cluster}.{number}" for number in islice(procs, limit)]


def owners_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return the owners of queued jobs whose names start with *prefix*, in order, by one indexed query."""
    cursor = state.connection.execute(
        "SELECT DISTINCT owner FROM job WHERE owner >= ? AND owner < ? ORDER BY owner LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )
    return [owner for (owner,) in cursor]


def _bounds_starting(prefix: str) -> list[tuple[int, int]]:
    """Return within which bounds the numbers are that begin with the digits *prefix*."""
    if not prefix:
        return [(0, 10**_MOST_DIGITS)]
    if not prefix.isdecimal():
        return []
    number = int(prefix)
    if prefix.startswith("0"):
        return [(0, 0)] if prefix == "0" else []
    more = range(_MOST_DIGITS - len(prefix) + 1)
    return [(number * 10**digits, (number + 1) * 10**digits - 1) for digits in more]


def _starting(column: str, prefix: str) -> tuple[str, list[int]]:
    bounds = _bounds_starting(prefix)
    condition = " OR ".join(f"{column} BETWEEN ? AND ?" for _ in bounds) or "FALSE"
    return condition, [bound for pair in bounds for bound in pair]


def _numbers_starting(prefix: str, first: int, last: int) -> Iterator[int]:
    for low, high in _bounds_starting(prefix):
        yield from range(max(low, first), min(high, last) + 1)


def with_policies(state: State, names: Sequence[str]) -> list[JobRange]:
    """Return the jobs of fairq's own queue whose ads have any of these attributes as an expression or true."""
    return _with_any(state, [f'"{name}":{start}' for name in names for start in (f'"{OPEN}', "true")])


def with_number(state: State, name: str, numbers: Iterable[int]) -> list[JobRange]:
    """Return the jobs of fairq's own queue whose ads have any of these *numbers*, of one digit, as this attribute."""
    return _with_any(state, [f'"{name}":{number}' for number in numbers])


def _with_any(state: State, written: Sequence[str]) -> list[JobRange]:
    every = "job_ad.ad || coalesce(job.own, '') || coalesce(job.template, '')"
    condition = " OR ".join(f"instr({every}, ?)" for _ in written)
    where = f"JOIN job_ad ON job_ad.id = ad_id WHERE schedd = '' AND ({condition})"
    return _JOBS.select(state, f"{where} ORDER BY cluster, schedd, first_proc", written)
