"""The members of the whole state's document that belong to DIRAC's scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairq.common.records import DelayState, PilotSlot, QueueNumber, ShareGroup, UsageReport
from fairq.state import pilot_slots, rows, share_groups, task_queues
from fairq.state.connection import State

RECORDS: dict[str, type[Any]] = {
    "pilot_slots": PilotSlot,
    "task_queues": QueueNumber,
    "share_groups": ShareGroup,
    "usage_reports": UsageReport,
    "matching_delays": DelayState,
}

TABLES = (
    "pilot_slot", "job_need", "queue_need", "need_value", "task_queue", "share_group", "usage_report", "matching_delay",
)  # fmt: skip

Require = Callable[[bool, str, str], None]
Once = Callable[[str, Iterable[Any]], None]


def export(state: State) -> dict[str, list[Any]]:
    """Return the records of every member."""
    return {
        "pilot_slots": pilot_slots.load_all(state),
        "task_queues": task_queues.load_all(state),
        "share_groups": share_groups.load_all(state),
        "usage_reports": share_groups.load_reports(state),
        "matching_delays": pilot_slots.load_delays(state),
    }


def check(found: dict[str, Any], slot_ids: set[int], require: Require, once: Once) -> None:
    """Check that records are unique, and that pilots' slots exist."""
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


def store(state: State, found: dict[str, Any]) -> None:
    """Store the records of every member in a state without such records."""
    pilot_slots.add(state, found["pilot_slots"])
    task_queues.put(state, found["task_queues"])
    share_groups.replace_all(state, found["share_groups"])
    share_groups.replace_reports(state, found["usage_reports"])
    pilot_slots.put_delays(state, found["matching_delays"])
