"""The part of the state's document about runs that fairq starts itself; see `fairq.state.document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.records import JobEvent, Launch
from fairq.state import job_events, launches
from fairq.state.connection import State

SCHEMA = 11
"""The first schema with these members."""

ENGINES = 15
"""The first schema with the runs of engines."""

RECORDS: dict[str, type[Any]] = {"launches": Launch, "job_events": JobEvent}
TABLES = ("launch", "job_event")


def export(state: State) -> dict[str, Iterable[Any]]:
    """Return the records of every member."""
    return {"launches": launches.load_all(state), "job_events": job_events.load_all(state)}


def as_of_today(document: Any) -> Any:
    """Add the members of this schema to the document of an older schema."""
    document = {**{name: [] for name in RECORDS}, **document}
    return _with(document, {"claims": {"matched": False}, "jobs": {"hold_code": None, "hold_subcode": None}})


def with_engines(document: Any) -> Any:
    """Add to the document of a schema older than `ENGINES` what it does not know of runs."""
    return _with(document, {"launches": {"engine_id": None, "reason": None, "charged_from": None}})


def _with(document: Any, later: dict[str, dict[str, Any]]) -> Any:
    document = dict(document)
    for name, values in later.items():
        if isinstance(document.get(name), list):
            document[name] = [{**values, **one} if isinstance(one, dict) else one for one in document[name]]
    return document


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
