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
        UsageEdit(time, record.name, "earlier", "", record.accumulated_usage, record.weighted_accumulated_usage)
        for record in sorted(records, key=lambda record: record.name)
        if record.accumulated_usage or record.weighted_accumulated_usage
    ]


def check(members: dict[str, Any], slot_ids: set[int], ad_ids: set[int], require: Require, once: Once) -> None:
    """Check that no record is there twice, and that all records that others refer to exist."""
    _check_shares(members, slot_ids, require, once)
    _check_launches(members, require, once)
    _check_waits(members, require, once)
    for number, ended in enumerate(members["ended_jobs"]):
        place = f"ended_jobs[{number}]"
        require(ended.ad_id in ad_ids, f"{place}.ad_id", f"there is no job ad {ended.ad_id}")
        require(0 <= ended.first_proc <= ended.last_proc, f"{place}.last_proc", "is before first_proc")


def _check_shares(members: dict[str, Any], slot_ids: set[int], require: Require, once: Once) -> None:
    once("pilot_slots", (pilot.slot_id for pilot in members["pilot_slots"]))
    for number, pilot in enumerate(members["pilot_slots"]):
        require(pilot.slot_id in slot_ids, f"pilot_slots[{number}].slot_id", f"there is no slot {pilot.slot_id}")
    once("task_queues", (queue.number for queue in members["task_queues"]))
    once("task_queues", ((rows.dumps(queue.identity), queue.part) for queue in members["task_queues"]))
    for number, queue in enumerate(members["task_queues"]):
        problem = _identity_problem(queue.identity)
        require(problem is None, f"task_queues[{number}].identity", problem or "")
    once("share_groups", (group.name for group in members["share_groups"]))
    once(
        "usage_reports", ((record.owner_group, record.time_span, record.entity) for record in members["usage_reports"])
    )
    once("matching_delays", ((record.site, record.attribute, record.value) for record in members["matching_delays"]))


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


def _check_launches(members: dict[str, Any], require: Require, once: Once) -> None:
    once("launches", (launch.name for launch in members["launches"]))
    once("launches", (launch.id for launch in members["launches"]))
    once("job_events", (event.id for event in members["job_events"]))
    for number, launch in enumerate(members["launches"]):
        is_plain = launch.name not in ("", ".", "..") and "/" not in launch.name and "\0" not in launch.name
        require(is_plain, f"launches[{number}].name", "must be the name of a directory")


def _check_waits(members: dict[str, Any], require: Require, once: Once) -> None:
    once("job_waits", ((record.cluster, record.first_proc) for record in members["job_waits"]))
    once("job_caps", (record.cluster for record in members["job_caps"]))
    known = {(record.cluster, record.first_proc) for record in members["job_waits"]}
    for number, wait in enumerate(members["job_waits"]):
        require(0 <= wait.first_proc <= wait.last_proc, f"job_waits[{number}].last_proc", "is before first_proc")
    for number, after in enumerate(members["job_afters"]):
        place = f"job_afters[{number}]"
        require((after.cluster, after.first_proc) in known, place, "no job waits for it")
        require(
            after.how in ("after", "after_ok", "after_failed"),
            f"{place}.how",
            "must be after, after_ok or after_failed",
        )


def store(state: State, members: dict[str, Any]) -> None:
    """Store the records of every member in a state without such records."""
    pilot_slots.add(state, members["pilot_slots"])
    task_queues.put(state, members["task_queues"])
    share_groups.replace_all(state, members["share_groups"])
    share_groups.replace_reports(state, members["usage_reports"])
    pilot_slots.put_delays(state, members["matching_delays"])
    launches.add(state, members["launches"])
    job_events.add(state, members["job_events"])
    ended_jobs.add(state, members["ended_jobs"])
    usage.add(state, members["usage"])
    usage.add_edits(state, members["usage_edits"])
    waits.add(state, members["job_waits"], members["job_afters"], members["job_caps"])
