"""The part of the state's document about what jobs wait for; see `fairq.state.document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.common.waits import JobAfter, JobCap, JobWait
from fairq.state import waits
from fairq.state.connection import State

RECORDS: dict[str, type[Any]] = {"job_waits": JobWait, "job_afters": JobAfter, "job_caps": JobCap}
TABLES = waits.TABLES


def export(state: State) -> dict[str, Iterable[Any]]:
    """Return the records of every member."""
    return {
        "job_waits": waits.load(state),
        "job_afters": waits.load_afters(state),
        "job_caps": waits.load_caps(state),
    }


def check(
    found: dict[str, Any],
    require: Callable[[bool, str, str], None],
    once: Callable[[str, Iterable[Any]], None],
) -> None:
    """See that records are there once, and that what they refer to is there."""
    once("job_waits", ((one.cluster, one.first_proc) for one in found["job_waits"]))
    once("job_caps", (one.cluster for one in found["job_caps"]))
    known = {(one.cluster, one.first_proc) for one in found["job_waits"]}
    for number, wait in enumerate(found["job_waits"]):
        require(0 <= wait.first_proc <= wait.last_proc, f"job_waits[{number}].last_proc", "is before first_proc")
    for number, after in enumerate(found["job_afters"]):
        place = f"job_afters[{number}]"
        require((after.cluster, after.first_proc) in known, place, "no job waits for it")
        require(
            after.how in ("after", "after_ok", "after_failed"),
            f"{place}.how",
            "must be after, after_ok or after_failed",
        )


def store(state: State, found: dict[str, Any]) -> None:
    """Store the records that were read."""
    waits.add(state, found["job_waits"], found["job_afters"], found["job_caps"])
