"""What jobs wait for before they are idle."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import astuple

from fairq.common.records import JobStatus
from fairq.common.waits import JobAfter, JobCap, JobWait
from fairq.state import rows
from fairq.state.connection import State

_WAITS = rows.Records(JobWait, "job_wait", waived=bool)
_AFTERS = rows.Records(JobAfter, "job_after")
_CAPS = rows.Records(JobCap, "job_cap")
_AFTER_MARKS = ", ".join("?" * len(_AFTERS.names))

Numbered = tuple[int, JobAfter]
"""A condition with its number in the state."""


def add(state: State, waits: Iterable[JobWait], afters: Iterable[JobAfter], caps: Iterable[JobCap] = ()) -> None:
    """Store what new jobs wait for."""
    _WAITS.add(state, waits)
    _AFTERS.add(state, afters)
    _CAPS.add(state, caps)


def load(state: State) -> list[JobWait]:
    """Return all waits, ordered by cluster and proc."""
    return _WAITS.select(state, "ORDER BY cluster, first_proc")


def load_afters(state: State) -> list[JobAfter]:
    """Return all conditions, in the order in which they came."""
    return _AFTERS.select(state, "ORDER BY id")


def load_caps(state: State) -> list[JobCap]:
    """Return the caps of all clusters."""
    return _CAPS.select(state, "ORDER BY cluster")


def of_cluster(state: State, cluster: int) -> list[JobWait]:
    """Return the waits of a *cluster*, ordered by proc."""
    return _WAITS.select(state, "WHERE cluster = ? ORDER BY first_proc", (cluster,))


def at(state: State, cluster: int, first_proc: int) -> JobWait:
    """Return the wait that begins with this proc of *cluster*."""
    return _WAITS.select(state, "WHERE cluster = ? AND first_proc = ?", (cluster, first_proc))[0]


def conditions(state: State, wait: JobWait) -> list[JobAfter]:
    """Return the conditions of a *wait*."""
    return _AFTERS.select(state, "WHERE cluster = ? AND first_proc = ? ORDER BY id", (wait.cluster, wait.first_proc))


def open_conditions(state: State, wait: JobWait, limit: int) -> list[JobAfter]:
    """Return the first *limit* conditions of a *wait* that are open."""
    is_open = "left > 0 AND NOT (how = 'after_ok' AND failed > 0)"
    where = f"WHERE cluster = ? AND first_proc = ? AND {is_open} ORDER BY id LIMIT ?"
    return _AFTERS.select(state, where, (wait.cluster, wait.first_proc, limit))


def of_others(state: State, cluster: int, first: int, last: int) -> list[Numbered]:
    """Return the conditions about any of the procs *first* to *last* of *cluster*, with their numbers."""
    query = (
        f"SELECT id, {_AFTERS.columns} FROM job_after WHERE other_cluster = ? AND other_first <= ? AND other_last >= ?"
    )
    return [(row[0], JobAfter(*row[1:])) for row in state.connection.execute(query, (cluster, last, first))]


def after(state: State, number: int) -> JobAfter | None:
    """Return the condition with this *number*; None if it is gone."""
    return _AFTERS.first(state, "WHERE id = ?", (number,))


def replace(state: State, number: int, after: JobAfter) -> None:
    """Put *after* in the place of the condition with this *number*."""
    query = f"UPDATE job_after SET ({_AFTERS.columns}) = ({_AFTER_MARKS}) WHERE id = ?"
    state.connection.execute(query, (*astuple(after), number))


def add_afters(state: State, afters: Iterable[JobAfter]) -> list[int]:
    """Store further conditions; return their numbers."""
    query = f"INSERT INTO job_after ({_AFTERS.columns}) VALUES ({_AFTER_MARKS}) RETURNING id"
    return [state.value(query, astuple(after)) for after in afters]


def forget_afters(state: State, numbers: Iterable[int]) -> None:
    """Forget the conditions with these *numbers*."""
    state.connection.executemany("DELETE FROM job_after WHERE id = ?", ((number,) for number in numbers))


def recount(state: State, cluster: int, first_proc: int) -> None:
    """Count again how many conditions of a wait have not come true."""
    wait = at(state, cluster, first_proc)
    left = sum(not condition.is_met for condition in conditions(state, wait))
    open_by(state, [(cluster, first_proc, left - wait.open)])


def is_waited_for(state: State) -> bool:
    """Return whether there is any condition about other jobs."""
    return bool(state.value("SELECT EXISTS (SELECT 1 FROM job_after)"))


def count_on(state: State, conditions: Iterable[Numbered]) -> None:
    """Store the numbers of jobs that are left and that failed of these conditions."""
    state.connection.executemany(
        "UPDATE job_after SET left = ?, failed = ? WHERE id = ?",
        ((condition.left, condition.failed, id_) for id_, condition in conditions),
    )


def open_by(state: State, changes: Iterable[tuple[int, int, int]]) -> None:
    """Change the number of open conditions of waits: cluster, first proc, by how many."""
    state.connection.executemany("UPDATE job_wait SET open = open + ?3 WHERE cluster = ?1 AND first_proc = ?2", changes)


def waive(state: State, waits: Iterable[JobWait]) -> None:
    """Note that these waits are over."""
    state.connection.executemany(
        "UPDATE job_wait SET waived = 1 WHERE cluster = ? AND first_proc = ?",
        ((wait.cluster, wait.first_proc) for wait in waits),
    )


def cap(state: State, cluster: int) -> JobCap | None:
    """Return the cap of a *cluster*; None if it has none."""
    return _CAPS.first(state, "WHERE cluster = ?", (cluster,))


def begun(state: State, now: int) -> list[int]:
    """Return the clusters of the waits whose time to begin has come by *now*."""
    query = "SELECT DISTINCT cluster FROM job_wait WHERE begin <= ?"
    return state.column(query, (now,))


def forget_begun(state: State, now: int) -> None:
    """Forget the times to begin that have come by *now*."""
    state.connection.execute("UPDATE job_wait SET begin = NULL WHERE begin <= ?", (now,))


def missed(state: State, now: int) -> list[JobWait]:
    """Return the waits whose deadline has passed at *now*, of jobs that are not held and have no slot."""
    here = "job.cluster = job_wait.cluster AND job.first_proc <= job_wait.last_proc"
    where = (
        f"WHERE deadline < ? AND EXISTS (SELECT 1 FROM job WHERE {here} "
        "AND job.last_proc >= job_wait.first_proc AND schedd = '' AND status IN (?, ?))"
    )
    return _WAITS.select(state, where, (now, JobStatus.IDLE, JobStatus.WAITING))


def set_times(state: State, wait: JobWait) -> None:
    """Store the times of a *wait*."""
    state.connection.execute(
        "UPDATE job_wait SET begin = ?, deadline = ? WHERE cluster = ? AND first_proc = ?",
        (wait.begin, wait.deadline, wait.cluster, wait.first_proc),
    )


def deadline_of(state: State, cluster: int, proc: int) -> int | None:
    """Return the time by which a job must start; None if it may start at any time."""
    query = "SELECT deadline FROM job_wait WHERE cluster = ? AND first_proc <= ? AND last_proc >= ?"
    row = state.connection.execute(query, (cluster, proc, proc)).fetchone()
    return None if row is None else row[0]


def capped(state: State) -> list[int]:
    """Return the clusters with a cap of their own of which jobs wait."""
    query = (
        "SELECT cluster FROM job_cap WHERE coalesce(running, idle, queued) IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM job WHERE job.cluster = job_cap.cluster AND schedd = '' AND status = ?) ORDER BY cluster"
    )
    return state.column(query, (JobStatus.WAITING,))


_IN_USE = (
    "EXISTS (SELECT 1 FROM job WHERE job.cluster = job_cap.cluster AND job.schedd = '' "
    f"AND job.status <> {int(JobStatus.WAITING)})"
)


def in_use(state: State, category: str) -> int:
    """Return how many clusters of a *category* have jobs in the queue that do not wait."""
    query = f"SELECT count(*) FROM job_cap WHERE category = ? AND {_IN_USE}"
    return int(state.value(query, (category,)))


def admitted(state: State) -> list[int]:
    """Return the clusters that wait only for their categories, as far as these have room; high priorities first."""
    query = "SELECT category, max(clusters) FROM job_cap WHERE category IS NOT NULL GROUP BY category"
    ready = (
        "SELECT cluster, max(job.priority) AS priority FROM job_cap JOIN job USING (cluster) "
        f"WHERE category = ? AND job.schedd = '' AND job.status = ? AND NOT {_IN_USE} AND NOT EXISTS (SELECT 1 "
        "FROM job_wait WHERE job_wait.cluster = job_cap.cluster AND job_wait.first_proc <= job.last_proc "
        "AND job_wait.last_proc >= job.first_proc AND NOT waived AND (open > 0 OR begin IS NOT NULL)) "
        "GROUP BY cluster ORDER BY priority DESC, cluster LIMIT ?"
    )
    clusters: list[int] = []
    for category, most in state.connection.execute(query).fetchall():
        room = max(0, most - in_use(state, category))
        clusters += (row[0] for row in state.connection.execute(ready, (category, JobStatus.WAITING, room)))
    return clusters


def next_begin(state: State) -> int | None:
    """Return when the next time to begin comes; None: there is none."""
    begin: int | None = state.value("SELECT min(begin) FROM job_wait WHERE begin IS NOT NULL")
    return begin


def concerned(state: State, clusters: Collection[int]) -> list[int]:
    """Return those of *clusters* that have a wait or a cap."""
    query = (
        "SELECT EXISTS (SELECT 1 FROM job_wait WHERE cluster = ?1) OR EXISTS (SELECT 1 FROM job_cap WHERE cluster = ?1)"
    )
    return [cluster for cluster in sorted(clusters) if state.value(query, (cluster,))]


def followers(state: State, cluster: int) -> list[JobAfter]:
    """Return the conditions about *cluster* of other clusters with jobs in the queue."""
    where = (
        "WHERE other_cluster = ?1 AND cluster <> ?1 AND EXISTS "
        "(SELECT 1 FROM job WHERE job.cluster = job_after.cluster AND schedd = '') ORDER BY id"
    )
    return _AFTERS.select(state, where, (cluster,))


def remove(state: State, cluster: int) -> None:
    """Forget what the jobs of a *cluster* wait for."""
    for table in TABLES:
        state.connection.execute(f"DELETE FROM {table} WHERE cluster = ?", (cluster,))


def remove_all(state: State) -> None:
    """Forget what jobs wait for: they were replaced."""
    for table in TABLES:
        state.connection.execute(f"DELETE FROM {table}")


def forget(state: State) -> None:
    """Forget what jobs waited for that are neither in the queue nor among those that have ended."""
    for table in TABLES:
        state.connection.execute(
            f"DELETE FROM {table} WHERE cluster NOT IN (SELECT cluster FROM job WHERE schedd = '') "
            "AND cluster NOT IN (SELECT cluster FROM ended_job WHERE schedd = '')"
        )


TABLES = ("job_wait", "job_after", "job_cap")
