"""The part of the state's document about runs that fairq starts itself; see `fairq.state.document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.common.records import JobEvent, Launch
from fairq.state import job_events, launches
from fairq.state.connection import State

RECORDS: dict[str, type[Any]] = {"launches": Launch, "job_events": JobEvent}
TABLES = ("launch", "job_event")


def export(state: State) -> dict[str, Iterable[Any]]:
    """Return the records of every member."""
    return {"launches": launches.load_all(state), "job_events": job_events.load_all(state)}


def check(
    found: dict[str, Any],
    require: Callable[[bool, str, str], None],
    once: Callable[[str, Iterable[Any]], None],
) -> None:
    """See that records are there once."""
    once("launches", (launch.name for launch in found["launches"]))
    once("launches", (launch.id for launch in found["launches"]))
    once("job_events", (event.id for event in found["job_events"]))
    for number, launch in enumerate(found["launches"]):
        is_plain = launch.name not in ("", ".", "..") and "/" not in launch.name and "\0" not in launch.name
        require(is_plain, f"launches[{number}].name", "must be the name of a directory")


def store(state: State, found: dict[str, Any]) -> None:
    """Store the records that were read."""
    launches.add(state, found["launches"])
    job_events.add(state, found["job_events"])
