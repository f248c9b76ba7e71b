"""The part of the state's document about what is over; see `fairq.state.document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.common.past import EndedJob, UsageEdit, UsageRow
from fairq.common.records import AccountingRecord
from fairq.state import ended_jobs, usage
from fairq.state.connection import State

RECORDS: dict[str, type[Any]] = {"ended_jobs": EndedJob, "usage": UsageRow, "usage_edits": UsageEdit}
TABLES = ("ended_job", "usage", "usage_edit")


def export(state: State) -> dict[str, Iterable[Any]]:
    """Return the records of every member."""
    return {
        "ended_jobs": ended_jobs.load_all(state),
        "usage": usage.load_all(state),
        "usage_edits": usage.load_edits(state),
    }


def earlier(records: Iterable[AccountingRecord], meta: dict[str, str]) -> list[UsageEdit]:
    """Return what the *records* of a state without a ledger have accumulated, as entries of one."""
    time = int(meta.get("last_update") or 0)
    return [
        UsageEdit(time, one.name, "earlier", "", one.accumulated_usage, one.weighted_accumulated_usage)
        for one in sorted(records, key=lambda one: one.name)
        if one.accumulated_usage or one.weighted_accumulated_usage
    ]


def check(found: dict[str, Any], ad_ids: set[int], require: Callable[[bool, str, str], None]) -> None:
    """See that what the records refer to is there."""
    for number, ended in enumerate(found["ended_jobs"]):
        place = f"ended_jobs[{number}]"
        require(ended.ad_id in ad_ids, f"{place}.ad_id", f"there is no job ad {ended.ad_id}")
        require(0 <= ended.first_proc <= ended.last_proc, f"{place}.last_proc", "is before first_proc")


def store(state: State, found: dict[str, Any]) -> None:
    """Store the records that were read."""
    ended_jobs.add(state, found["ended_jobs"])
    usage.add(state, found["usage"])
    usage.add_edits(state, found["usage_edits"])
