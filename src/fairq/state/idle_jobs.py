"""The idle jobs, read by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fairq.columns.idle_jobs import KIND, NO_NUMBER, NUMBERS, PRIORITIES, QUEUE, TEXTS, IdleJobs, Numbers
from fairq.common.records import JobStatus
from fairq.state import rows
from fairq.state.connection import State

_RARE = ("hold_code", "hold_subcode", "own", "template", "reason")
"""Columns that most idle jobs have no value in."""

_COMMON = tuple(name for name in (*NUMBERS, KIND, *TEXTS) if name not in _RARE)

_NEEDS = ("cluster", "first_proc", "last_proc", "ad_id", "priority", QUEUE, "schedd", "owner")
"""Common columns that decide in which task queue jobs are."""

_RARE_NEEDS = ("own", "template", PRIORITIES)

_TEXTS = {*TEXTS, PRIORITIES}

_NONE = {"hold_code": NO_NUMBER, "hold_subcode": NO_NUMBER, KIND: 0, QUEUE: 0}
"""What stands for none in a column of numbers that may have none."""

_ORDER = "ORDER BY cluster, schedd, first_proc"


def load(state: State, clusters: Iterable[int] | None = None) -> IdleJobs:
    """Return the idle jobs, only of some *clusters* if given, in the order of clusters, schedds and procs."""
    chosen = f"+status = {int(JobStatus.IDLE)} AND cluster IN (SELECT value FROM json_each(?))"
    where, values = (_every(state), []) if clusters is None else (chosen, [rows.dumps(sorted(clusters))])
    idle = _read(state, _COMMON, _RARE, "job_ad_kind USING (ad_id)", where, values)
    idle.columns[KIND] = np.where(idle.is_plain(), idle.columns[KIND], 0)
    return idle


def load_needs(state: State) -> IdleJobs:
    """Return what decides in which task queue the idle jobs are, in the same order: other columns are missing."""
    return _read(state, _NEEDS, _RARE_NEEDS, "job_need USING (ad_id, owner)", _every(state), [])


def count(state: State) -> int:
    """Return how many ranges of idle jobs there are."""
    cursor = state.connection.execute("SELECT count(*) FROM job WHERE status = ?", (JobStatus.IDLE,))
    return int(cursor.fetchone()[0])


def _every(state: State) -> str:
    """Return the condition by which all idle jobs are found in least time."""
    every = state.value("SELECT count(*) FROM job")
    # The plus keeps SQLite from the index of statuses: to read most jobs in their order takes a third of the time.
    return f"{'+status' if count(state) > every / 4 else 'status'} = {int(JobStatus.IDLE)}"


def _read(
    state: State, common: Sequence[str], rare: Sequence[str], facts: str, where: str, values: Sequence[str]
) -> IdleJobs:
    """Return columns of the jobs *where* a condition holds, with *facts* of their ads if there are any."""

    def read(names: Sequence[str], counted: Sequence[str] = ()) -> list[Any]:
        # SQLite carries all that is named here from row to row, and does without facts that are not.
        taken = f"SELECT {', '.join([*names, *counted])} FROM job LEFT JOIN {facts} WHERE {where} {_ORDER}"
        counts = ["count(*)", *(f"count({name})" for name in counted)] if counted else []
        cursor = state.connection.execute(
            f"SELECT {', '.join([*counts, *map(_together, names)])} FROM ({taken})", values
        )
        return list(cursor.fetchone())

    size, *counts = read(common, rare)
    given = dict(zip(common, counts[len(rare) :], strict=True))
    there = [name for name, many in zip(rare, counts, strict=False) if many]
    given |= dict(zip(there, read(there), strict=True)) if there else {}
    places: dict[str | None, int] = {None: 0}
    columns = {name: np.broadcast_to(np.int64(NO_NUMBER if name in NUMBERS else 0), size) for name in rare}
    while given:  # each text is let go before the next one is taken apart
        name, together = given.popitem()
        if name in _TEXTS:
            texts = rows.loads_array(together)
            for text in dict.fromkeys(texts):
                places.setdefault(text, len(places))
            columns[name] = np.fromiter(map(places.__getitem__, texts), np.int64, size)
        else:
            columns[name] = numbers_in(together, size)
    return IdleJobs(columns, list(places))


def _together(name: str) -> str:
    """Return what puts a column into one text; to make an object of each value takes three times as long."""
    if name in _TEXTS:
        return f"json_group_array({name})"
    return f"group_concat({f'coalesce({name}, {_NONE[name]})' if name in _NONE else name})"


def numbers_in(text: str | None, size: int) -> Numbers:
    """Return the *size* numbers that SQLite put into one *text*."""
    numbers = np.fromstring(text or "", np.int64, sep=",")
    if len(numbers) != size:
        raise ValueError("a number of a job is none")
    return numbers
