"""The events of jobs, as in the event log of a submit description, and those still to be written."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import JobEvent
from fairq.state import rows
from fairq.state.connection import State

_EVENTS = rows.Records(JobEvent, "job_event", "body", written=bool)


def load_all(state: State) -> list[JobEvent]:
    """Return all events, oldest first."""
    return _EVENTS.select(state, "ORDER BY id")


def of_job(state: State, cluster: int, proc: int | None = None) -> list[JobEvent]:
    """Return the events of a job, or of a whole cluster, oldest first."""
    where = "WHERE cluster = ?1 AND (?2 IS NULL OR ?2 BETWEEN first_proc AND last_proc) ORDER BY id"
    return _EVENTS.select(state, where, (cluster, proc))


def unwritten(state: State) -> list[JobEvent]:
    """Return the events that are still to be written to their logs, oldest first."""
    return _EVENTS.select(state, "WHERE NOT written ORDER BY id")


def unwritten_ids(state: State) -> set[int]:
    """Return the numbers of the events that are still to be written to their logs."""
    return set(state.column("SELECT id FROM job_event WHERE NOT written"))


def add(state: State, events: Iterable[JobEvent]) -> None:
    """Append events; a number (id) of 0 is replaced by the next one."""
    _EVENTS.add(state, events)


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
