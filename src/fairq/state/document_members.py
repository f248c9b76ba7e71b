"""The members of the state's document about DIRAC's scheme, launched runs, what is over, and what jobs wait for.

See `fairq.state.document`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.common.past import EndedJob, UsageEdit, UsageRow
from fairq.common.records import (
    AccountingRecord,
    DelayState,
    JobEvent,
    Launch,
    PilotSlot,
    QueueNumber,
    ShareGroup,
    UsageReport,
)
from fairq.common.waits import JobAfter, JobCap, JobWait
from fairq.state import ended_jobs, job_events, launches, pilot_slots, rows, share_groups, task_queues, usage, waits
from fairq.state.connection import State

RECORDS: dict[str, type[Any]] = {
    "pilot_slots": PilotSlot,
    "task_queues": QueueNumber,
    "share_groups": ShareGroup,
    "usage_reports": UsageReport,
    "matching_delays": DelayState,
    "launches": Launch,
    "job_events": JobEvent,
    "ended_jobs": EndedJob,
    "usage": UsageRow,
    "usage_edits": UsageEdit,
    "job_waits": JobWait,
    "job_afters": JobAfter,
    "job_caps": JobCap,
}

TABLES = (
    "pilot_slot", "job_need", "queue_need", "need_value", "task_queue", "share_group", "usage_report", "matching_delay",
    "launch", "job_event", "ended_job", "usage", "usage_edit", *waits.TABLES,
)  # fmt: skip

Require = Callable[[bool, str, str], None]
Once = Callable[[str, Iterable[Any]], None]


def export(state: State) -> dict[str, Iterable[Any]]:
    """Return the records of every member."""
    return {
        "pilot_slots": pilot_slots.load_all(state),
        "task_queues": task_queues.load_all(state),
        "share_groups": share_groups.load_all(state),
        "usage_reports": share_groups.load_reports(state),
        "matching_delays": pilot_slots.load_delays(state),
        "launches": launches.load_all(state),
        "job_events": job_events.load_all(state),
        "ended_jobs": ended_jobs.load_all(state),
        "usage": usage.load_all(state),
        "usage_edits": usage.load_edits(state),
        "job_waits": waits.load(state),
        "job_afters": waits.load_afters(state),
        "job_caps": waits.load_caps(state),
    }


def earlier_usage(records: Iterable[AccountingRecord], meta: dict[str, str]) -> list[UsageEdit]:
    """Return what the *records* of a state without a ledger have accumulated, as entries of one."""
    time = int(meta.get("last_update") or 0)
    return [
        UsageEdit(time, one.name, "earlier", "", one.accumulated_usage, one.weighted_accumulated_usage)
        for one in sorted(records, key=lambda one: one.name)
        if one.accumulated_usage or one.weighted_accumulated_usage
    ]


def check(found: dict[str, Any], slot_ids: set[int], ad_ids: set[int], require: Require, once: Once) -> None:
    """See that records are there once, and that what they refer to is there."""
    _check_shares(found, slot_ids, require, once)
    _check_launches(found, require, once)
    _check_waits(found, require, once)
    for number, ended in enumerate(found["ended_jobs"]):
        place = f"ended_jobs[{number}]"
        require(ended.ad_id in ad_ids, f"{place}.ad_id", f"there is no job ad {ended.ad_id}")
        require(0 <= ended.first_proc <= ended.last_proc, f"{place}.last_proc", "is before first_proc")


def _check_shares(found: dict[str, Any], slot_ids: set[int], require: Require, once: Once) -> None:
    once("pilot_slots", (pilot.slot_id for pilot in found["pilot_slots"]))
    for number, pilot in enumerate(found["pilot_slots"]):
        require(pilot.slot_id in slot_ids, f"pilot_slots[{number}].slot_id", f"there is no slot {pilot.slot_id}")
    once("task_queues", (queue.number for queue in found["task_queues"]))
    once("task_queues", ((rows.dumps(queue.identity), queue.part) for queue in found["task_queues"]))
    for number, queue in enumerate(found["task_queues"]):
        problem = _identity_problem(queue.identity)
        require(problem is None, f"task_queues[{number}].identity", problem or "")
    once("share_groups", (group.name for group in found["share_groups"]))
    once("usage_reports", ((one.owner_group, one.time_span, one.entity) for one in found["usage_reports"]))
    once("matching_delays", ((one.site, one.attribute, one.value) for one in found["matching_delays"]))


def _identity_problem(identity: dict[str, Any]) -> str | None:
    """Return the problem in the requirements of a task queue: texts, numbers and lists of texts by name."""
    for name in ("Owner", "OwnerGroup"):
        if not isinstance(identity.get(name), str):
            return f"{name} must be a string"
    for name, value in identity.items():
        if isinstance(value, list):
            if not all(isinstance(item, str) for item in value):
                return f"{name} must be a list of strings"
        elif (
            isinstance(value, bool)
            or not isinstance(value, (str, int))
            or (isinstance(value, str) and name not in ("Owner", "OwnerGroup"))
        ):
            return f"{name} must be a number or a list of strings"
    return None


def _check_launches(found: dict[str, Any], require: Require, once: Once) -> None:
    once("launches", (launch.name for launch in found["launches"]))
    once("launches", (launch.id for launch in found["launches"]))
    once("job_events", (event.id for event in found["job_events"]))
    for number, launch in enumerate(found["launches"]):
        is_plain = launch.name not in ("", ".", "..") and "/" not in launch.name and "\0" not in launch.name
        require(is_plain, f"launches[{number}].name", "must be the name of a directory")


def _check_waits(found: dict[str, Any], require: Require, once: Once) -> None:
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
    """Store the records of every member in a state without such records."""
    pilot_slots.add(state, found["pilot_slots"])
    task_queues.put(state, found["task_queues"])
    share_groups.replace_all(state, found["share_groups"])
    share_groups.replace_reports(state, found["usage_reports"])
    pilot_slots.put_delays(state, found["matching_delays"])
    launches.add(state, found["launches"])
    job_events.add(state, found["job_events"])
    ended_jobs.add(state, found["ended_jobs"])
    usage.add(state, found["usage"])
    usage.add_edits(state, found["usage_edits"])
    waits.add(state, found["job_waits"], found["job_afters"], found["job_caps"])
