"""The idle jobs, read by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fairq.columns.idle_jobs import KIND, NO_NUMBER, NUMBERS, TEXTS, IdleJobs, Numbers
from fairq.common.records import JobStatus
from fairq.state import rows
from fairq.state.connection import State

_RARE = ("hold_code", "hold_subcode", "own", "template", "reason")
"""Columns that most idle jobs have no value in."""

_NONE = {"hold_code": NO_NUMBER, "hold_subcode": NO_NUMBER, KIND: 0}
"""What stands for none in a column of numbers that may have none."""

_COMMON = tuple(name for name in (*NUMBERS, KIND, *TEXTS) if name not in _RARE)

_ORDER = "ORDER BY cluster, schedd, first_proc"


def load(state: State, clusters: Iterable[int] | None = None) -> IdleJobs:
    """Return the idle jobs, only of some *clusters* if given, in the order of clusters, schedds and procs."""
    if clusters is None:
        return _found(state, _every(state), ())
    where = f"+status = {int(JobStatus.IDLE)} AND cluster IN (SELECT value FROM json_each(?))"
    return _found(state, where, (rows.dumps(sorted(clusters)),))


def count(state: State) -> int:
    """Return how many ranges of idle jobs there are."""
    found = state.connection.execute("SELECT count(*) FROM job WHERE status = ?", (JobStatus.IDLE,))
    return int(found.fetchone()[0])


def _every(state: State) -> str:
    """Return the condition by which all idle jobs are found in least time."""
    (every,) = state.connection.execute("SELECT count(*) FROM job").fetchone()
    # The plus keeps SQLite from the index of statuses: to read most jobs in their order takes a third of the time.
    return f"{'+status' if count(state) > every / 4 else 'status'} = {int(JobStatus.IDLE)}"


def _found(state: State, where: str, values: Sequence[str]) -> IdleJobs:
    taken = f"SELECT job.*, kind FROM job LEFT JOIN job_ad_kind USING (ad_id) WHERE {where} {_ORDER}"

    def read(*columns: str) -> list[Any]:
        found = state.connection.execute(f"SELECT {', '.join(columns)} FROM ({taken})", values)
        return list(found.fetchone())

    size, *counts = read("count(*)", *(f"count({name})" for name in _RARE), *map(_together, _COMMON))
    given = dict(zip(_COMMON, counts[len(_RARE) :], strict=True))
    rare = [name for name, many in zip(_RARE, counts, strict=False) if many]
    given |= dict(zip(rare, read(*map(_together, rare)), strict=True)) if rare else {}
    places: dict[str | None, int] = {None: 0}
    columns = {name: np.broadcast_to(np.int64(NO_NUMBER if name in NUMBERS else 0), size) for name in _RARE}
    while given:  # each text is let go before the next one is taken apart
        name, together = given.popitem()
        if name in TEXTS:
            each = (places.setdefault(text, len(places)) for text in rows.loads_array(together))
            columns[name] = np.fromiter(each, np.int64, size)
        else:
            columns[name] = _numbers(together, size)
    idle = IdleJobs(columns, list(places))
    columns[KIND] = np.where(idle.is_plain(), columns[KIND], 0)
    return idle


def _together(name: str) -> str:
    """Return what puts a column into one text; to make an object of each value takes three times as long."""
    if name in TEXTS:
        return f"json_group_array({name})"
    return f"group_concat({f'coalesce({name}, {_NONE[name]})' if name in _NONE else name})"


def _numbers(text: str | None, size: int) -> Numbers:
    """Return the *size* numbers of a text."""
    found = np.fromstring(text or "", np.int64, sep=",")
    if len(found) != size:
        raise ValueError("a number of a job is none")
    return found
