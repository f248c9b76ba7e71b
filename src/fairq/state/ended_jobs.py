"""The jobs that have left the queue, newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import repeat
from typing import Any

from msgspec import Struct

from fairq.common.past import EndedJob
from fairq.common.records import JobStatus
from fairq.state import meta, rows
from fairq.state.connection import State
from fairq.state.job_ads import delete_unused

_ENDED = rows.Records(EndedJob, "ended_job", "own", "template")
_PAGE = 5000


class Wanted(Struct, frozen=True):
    """Which ended jobs are wanted; what is None is not asked for.

    *since* and *until* (not included) bound the end, in seconds since 1970. *group* means its subgroups, too.
    *failed*: those that did not end with the exit code 0 (removed ones and unknown codes are not among them).
    """

    since: int | None = None
    until: int | None = None
    owner: str | None = None
    submitter: str | None = None
    group: str | None = None
    status: int | None = None
    exit_code: int | None = None
    failed: bool = False
    jobs: tuple[tuple[int, int | None, int | None, str | None], ...] = ()
    """Cluster, first and last proc, schedd; any of them, or of *people*."""
    people: tuple[str, ...] = ()
    """Owners and submitters."""


def add(state: State, ended: Iterable[EndedJob]) -> None:
    """Append jobs that have left the queue."""
    _ENDED.add(state, ended)


def take_back(state: State, schedd: str, cluster: int, procs: tuple[int, int], status: int, end: int) -> None:
    """Delete what says that the first to the last of *procs* left at *end* with *status*: they are back."""
    state.connection.execute(
        "DELETE FROM ended_job WHERE schedd = ? AND cluster = ? AND first_proc >= ? AND last_proc <= ? AND status = ? "
        "AND end_time = ?",
        (schedd, cluster, *procs, status, end),
    )


def load_all(state: State) -> list[EndedJob]:
    """Return every ended job, in the order in which they left."""
    return _ENDED.select(state, "ORDER BY id")


def procs_after(state: State, schedd: str, time: int) -> list[tuple[int, int, int]]:
    """Return cluster, first and last proc of the jobs of *schedd* that ended after *time* (seconds since 1970)."""
    return state.connection.execute(
        "SELECT cluster, first_proc, last_proc FROM ended_job WHERE schedd = ? AND end_time > ?", (schedd, time)
    ).fetchall()


def page(state: State, wanted: Wanted, limit: int, before: tuple[int, int] | None = None) -> list[tuple[int, EndedJob]]:
    """Return the first *limit* of the jobs that are *wanted*, newest end first, each with its number.

    *before* is the end and the number of the last one of the page before.
    """
    condition, values = _condition(wanted)
    if before is not None:
        condition += (" AND " if condition else " WHERE ") + "end_time <= ? AND (end_time < ? OR id < ?)"
        values += [before[0], *before]
    stored = state.connection.execute(
        f"SELECT id, {_ENDED.columns} FROM ended_job{condition} ORDER BY end_time DESC, id DESC LIMIT ?",
        [*values, limit],
    ).fetchall()
    return list(zip((row[0] for row in stored), _ENDED.read([row[1:] for row in stored]), strict=True))


def pages(state: State, wanted: Wanted) -> Iterator[list[EndedJob]]:
    """Yield all jobs that are *wanted*, newest end first, so many at a time that their ads fit into memory."""
    last: tuple[int, int] | None = None
    while numbered := page(state, wanted, _PAGE, last):
        yield [job for _, job in numbered]
        last = numbered[-1][1].end_time, numbered[-1][0]


def count(state: State, wanted: Wanted) -> int:
    """Return how many jobs are *wanted*."""
    condition, values = _condition(wanted)
    query = f"SELECT coalesce(sum(last_proc - first_proc + 1), 0) FROM ended_job{condition}"
    return int(state.value(query, values))


def reruns(state: State) -> list[tuple[int, str, int, int]]:
    """Return which jobs run again, or have run and were not removed: old cluster, owner, first and last proc."""
    again = "SELECT id, json_extract(ad, '$.RerunOf') AS old FROM job_ad WHERE instr(ad, '\"RerunOf\"')"
    select = "SELECT old, owner, first_proc, last_proc FROM"
    return state.connection.execute(
        f"WITH again AS ({again}) {select} job JOIN again ON ad_id = again.id "
        f"UNION ALL {select} ended_job JOIN again ON ad_id = again.id WHERE status = ?",
        (JobStatus.COMPLETED,),
    ).fetchall()


def forget(state: State, before: int, limit: int) -> None:
    """Delete at most *limit* jobs that ended before a time, the oldest first, and the ads that only they used."""
    cursor = state.connection.execute(
        "SELECT id, ad_id FROM ended_job WHERE end_time < ? ORDER BY end_time, id LIMIT ?", (before, limit)
    ).fetchall()
    if cursor:
        state.connection.executemany("DELETE FROM ended_job WHERE id = ?", ((number,) for number, _ in cursor))
        delete_unused(state, {ad for _, ad in cursor})


def _condition(wanted: Wanted) -> tuple[str, list[Any]]:
    tests: list[str] = []
    values: list[Any] = []

    def test(text: str, *given: Any) -> None:
        tests.append(text)
        values.extend(given)

    if wanted.since is not None:
        test("end_time >= ?", wanted.since)
    if wanted.until is not None:
        test("end_time < ?", wanted.until)
    if wanted.owner is not None:
        test(_OF_USER, wanted.owner, wanted.owner)
    for column in ("submitter", "status", "exit_code"):
        value = getattr(wanted, column)
        if value is not None:
            test(f"{column} = ?", value)
    if wanted.group is not None:
        # A submitter of the group, or of one below it: all names that begin so, and the bare name.
        test("(submitter = ? OR (submitter >= ? AND submitter < ?))", wanted.group, f"{wanted.group}.",
             f"{wanted.group}/")  # fmt: skip
    if wanted.failed:
        test("(signal IS NOT NULL OR exit_code <> 0)")
    if wanted.jobs or wanted.people:
        people = ["submitter = ?" if "@" in name else _OF_USER for name in wanted.people]
        tests.append("(" + " OR ".join([*repeat(_ONE_JOB, len(wanted.jobs)), *people]) + ")")
        for cluster, first, last, schedd in wanted.jobs:
            values += [cluster, last, last, first, first, schedd, schedd]
        for name in wanted.people:
            values += [name] if "@" in name else [name, name]
    return (f" WHERE {' AND '.join(tests)}" if tests else ""), values


_OF_USER = "(owner = ? OR instr('.' || submitter, '.' || ? || '@') > 0)"
"""Jobs of a user, whatever the domain and the group they are charged to."""

_ONE_JOB = (
    "(cluster = ? AND (? IS NULL OR first_proc <= ?) AND (? IS NULL OR last_proc >= ?) AND (? IS NULL OR schedd = ?))"
)


_UNREPORTED = "untold"


def unreported(state: State) -> list[int]:
    """Return the clusters of which a job that wants it has left the queue, and whose end was not reported yet."""
    return [int(word) for word in (meta.get(state, _UNREPORTED) or "").split()]


def set_unreported(state: State, clusters: Collection[int]) -> None:
    """Replace these clusters."""
    if clusters:
        meta.set(state, _UNREPORTED, " ".join(map(str, sorted(clusters))))
    else:
        meta.remove(state, _UNREPORTED)
