"""The events of jobs, as in the event log of a submit description, and those still to be written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import astuple, replace

from fairq.common.records import JobEvent
from fairq.state import rows
from fairq.state.connection import State

_COLUMNS = ", ".join(JobEvent.__struct_fields__)


def load_all(state: State) -> list[JobEvent]:
    """Return all events, oldest first."""
    return _records(state.connection.execute(f"SELECT {_COLUMNS} FROM job_event ORDER BY id").fetchall())


def of_job(state: State, cluster: int, proc: int | None = None) -> list[JobEvent]:
    """Return the events of a job, or of a whole cluster, oldest first."""
    return _records(
        state.connection.execute(
            f"SELECT {_COLUMNS} FROM job_event WHERE cluster = ?1 "
            "AND (?2 IS NULL OR ?2 BETWEEN first_proc AND last_proc) ORDER BY id",
            (cluster, proc),
        ).fetchall()
    )


def unwritten(state: State) -> list[JobEvent]:
    """Return the events that are still to be written to their logs, oldest first."""
    cursor = state.connection.execute(f"SELECT {_COLUMNS} FROM job_event WHERE NOT written ORDER BY id")
    return _records(cursor.fetchall())


def unwritten_ids(state: State) -> set[int]:
    """Return the numbers of the events that are still to be written to their logs."""
    return {number for (number,) in state.connection.execute("SELECT id FROM job_event WHERE NOT written")}


def add(state: State, events: Iterable[JobEvent]) -> None:
    """Append events; a number (id) of 0 is replaced by the next one."""
    state.connection.executemany(
        f"INSERT INTO job_event ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (astuple(replace(event, id=event.id or None, body=rows.dumps(event.body))) for event in events),
    )


def mark_written(state: State, ids: Iterable[int]) -> None:
    """Note that events are in their logs."""
    state.connection.executemany("UPDATE job_event SET written = 1 WHERE id = ?", [(number,) for number in ids])


def forget(state: State, before: int) -> None:
    """Delete the written events before a time, except those of jobs in the queue."""
    state.connection.execute(
        "DELETE FROM job_event WHERE time < ?1 AND written AND NOT EXISTS (SELECT 1 FROM job "
        "WHERE job.cluster = job_event.cluster AND job.schedd = job_event.schedd "
        "AND job.first_proc <= job_event.last_proc AND job.last_proc >= job_event.first_proc)",
        (before,),
    )


def _records(stored: Sequence[tuple[Any, ...]]) -> list[JobEvent]:
    return [JobEvent(*(*row[:7], json.loads(row[7]), row[8], bool(row[9]))) for row in stored]
