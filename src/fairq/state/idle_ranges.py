"""What task queues need to know of idle jobs, by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairq.records import Ad, JobStatus
from fairq.state import rows
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey

_COLUMNS = "cluster, schedd, first_proc, last_proc, ad_id, owner, priority, own, template"

_ORDER = "ORDER BY cluster, schedd, first_proc"


class IdleRanges(NamedTuple):
    """Ranges of idle jobs, ordered by cluster, schedd, first proc; the columns are those of `JobRange`.

    *own* and *template* are places in *owns* and *templates*, where equal ones are once; -1: none.
    """

    cluster: Sequence[int]
    schedd: Sequence[str]
    first_proc: Sequence[int]
    last_proc: Sequence[int]
    ad_id: Sequence[int]
    owner: Sequence[str]
    priority: Sequence[int]
    own: Sequence[int]
    template: Sequence[int]
    owns: list[Ad]
    templates: list[Ad]


def count(state: State) -> int:
    """Return how many ranges of idle jobs there are."""
    found = state.connection.execute("SELECT count(*) FROM job WHERE status = ?", (JobStatus.IDLE,))
    return int(found.fetchone()[0])


def condition(state: State) -> str:
    """Return the SQL condition by which all idle jobs are found in least time, in the order of clusters and procs."""
    (every,) = state.connection.execute("SELECT count(*) FROM job").fetchone()
    # The plus keeps SQLite from the index of statuses: to read most jobs in their order takes a third of the time.
    return f"{'+status' if count(state) > every / 4 else 'status'} = {int(JobStatus.IDLE)}"


def load(state: State) -> IdleRanges:
    """Return all idle jobs."""
    return _columns(
        state.connection.execute(f"SELECT {_COLUMNS} FROM job WHERE {condition(state)} {_ORDER}").fetchall()
    )


def at(state: State, keys: Iterable[JobKey]) -> IdleRanges:
    """Return those of the ranges *keys* that are there and idle."""
    where = f"cluster = ? AND schedd = ? AND first_proc = ? AND status = {int(JobStatus.IDLE)}"
    found = (
        state.connection.execute(f"SELECT {_COLUMNS} FROM job WHERE {where}", key).fetchone()
        for key in sorted(set(keys))
    )
    return _columns([row for row in found if row is not None])


def _columns(found: Sequence[tuple[Any, ...]]) -> IdleRanges:
    columns = zip(*found, strict=True) if found else ((),) * 9
    cluster, schedd, first, last, ad_id, owner, priority, own, template = columns
    (of_own, owns), (of_template, templates) = _read_once(own), _read_once(template)
    return IdleRanges(cluster, schedd, first, last, ad_id, owner, priority, of_own, of_template, owns, templates)


def _read_once(texts: Sequence[str | None]) -> tuple[list[int], list[Ad]]:
    """Return over the *texts* the place of each one's ad, and the ads."""
    places: dict[str, int] = {}
    of_text = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    return of_text, rows.loads_all(places)
