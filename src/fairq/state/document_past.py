"""The part of the state's document about what is over; see `fairq.state.document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.past import EndedJob
from fairq.state import ended_jobs
from fairq.state.connection import State

SCHEMA = 13
"""The schema that these members are there since."""

RECORDS: dict[str, type[Any]] = {"ended_jobs": EndedJob}
TABLES = ("ended_job",)


def export(state: State) -> dict[str, Iterable[Any]]:
    """Return the records of every member."""
    return {"ended_jobs": ended_jobs.load_all(state)}


def as_of_today(document: Any) -> Any:
    """Add to the document of an older schema what came with this one."""
    return {**{name: [] for name in RECORDS}, **document}


def check(found: dict[str, Any], ad_ids: set[int], require: Callable[[bool, str, str], None]) -> None:
    """See that what the records refer to is there."""
    for number, ended in enumerate(found["ended_jobs"]):
        place = f"ended_jobs[{number}]"
        require(ended.ad_id in ad_ids, f"{place}.ad_id", f"there is no job ad {ended.ad_id}")
        require(0 <= ended.first_proc <= ended.last_proc, f"{place}.last_proc", "is before first_proc")


def store(state: State, found: dict[str, Any]) -> None:
    """Store the records that were read."""
    ended_jobs.add(state, found["ended_jobs"])
