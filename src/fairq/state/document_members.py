"""The members of the state's document that are lists of records, see `fairq.state.document`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct

from fairq.common.past import CycleRecord, EndedJob, UsageEdit, UsageRow
from fairq.common.records import (
    AccountingRecord,
    Ad,
    Claim,
    DelayState,
    DynamicSlot,
    JobEvent,
    JobRange,
    Launch,
    PilotSlot,
    QueueNumber,
    Run,
    ShareGroup,
    SlotRecord,
    UsageReport,
)
from fairq.common.waits import JobAfter, JobCap, JobWait
from fairq.state import (
    claims,
    cycles,
    dynamic_slots,
    ended_jobs,
    history,
    job_ads,
    job_events,
    jobs,
    launches,
    pilot_slots,
    rows,
    runs,
    share_groups,
    slots,
    submitters,
    task_queues,
    usage,
    waits,
)
from fairq.state.connection import State
from fairq.state.document_types import once, require


class JobAdRecord(Struct):
    """An ad that jobs share."""

    id: int
    ad: Ad


class HistoryRecord(Struct):
    """One change, as `Actor` and `Change` describe it."""

    time: int
    user: str
    command: str
    subject: str
    before: Any
    after: Any
    reason: str | None = None


class Member(NamedTuple):
    """A member: the *kind* of its records, what reads all of a state, and what puts them into an empty one.

    *once* are fields in whose values no two records are alike: each text has the names of fields, taken together.
    """

    kind: type[Any]
    load: Callable[[State], Iterable[Any]]
    store: Callable[[State, list[Any]], object]
    once: tuple[str, ...] = ()


def _store_slots(state: State, records: list[SlotRecord]) -> None:
    slots.put(state, records)
    slots.gather(state)


def _load_ads(state: State) -> list[JobAdRecord]:
    return [JobAdRecord(*pair) for pair in job_ads.load_all(state).items()]


def _store_ads(state: State, records: list[JobAdRecord]) -> None:
    job_ads.put(state, {record.id: record.ad for record in records})


def _store_cycles(state: State, records: list[CycleRecord]) -> None:
    for cycle in records:
        cycles.add(state, cycle)


def _load_history(state: State) -> list[HistoryRecord]:
    names = HistoryRecord.__struct_fields__
    return [HistoryRecord(*(getattr(entry, name) for name in names)) for entry in history.load(state)]


def _store_history(state: State, records: list[HistoryRecord]) -> None:
    rows.insert(
        state,
        "INSERT INTO history (time, user, command, subject, before, after, reason)",
        (
            (one.time, one.user, one.command, one.subject, rows.dumps(one.before), rows.dumps(one.after), one.reason)
            for one in records
        ),
    )


MEMBERS: dict[str, Member] = {
    "submitters": Member(AccountingRecord, submitters.load_all, submitters.put, ("name",)),
    "slots": Member(SlotRecord, slots.load_all, _store_slots, ("id", "name address")),
    "dynamic_slots": Member(DynamicSlot, dynamic_slots.load_all, dynamic_slots.add, ("slot_id",)),
    "claims": Member(Claim, claims.load_all, claims.store, ("slot_id",)),
    "job_ads": Member(JobAdRecord, _load_ads, _store_ads, ("id",)),
    "jobs": Member(JobRange, jobs.select, jobs.add),
    "runs": Member(Run, runs.load, runs.add),
    "cycles": Member(CycleRecord, cycles.load_all, _store_cycles, ("number",)),
    "history": Member(HistoryRecord, _load_history, _store_history),
    "pilot_slots": Member(PilotSlot, pilot_slots.load_all, pilot_slots.add, ("slot_id",)),
    "task_queues": Member(QueueNumber, task_queues.load_all, task_queues.put, ("number",)),
    "share_groups": Member(ShareGroup, share_groups.load_all, share_groups.replace_all, ("name",)),
    "usage_reports": Member(
        UsageReport, share_groups.load_reports, share_groups.replace_reports, ("owner_group time_span entity",)
    ),
    "matching_delays": Member(DelayState, pilot_slots.load_delays, pilot_slots.put_delays, ("site attribute value",)),
    "launches": Member(Launch, launches.load_all, launches.add, ("name", "id")),
    "job_events": Member(JobEvent, job_events.load_all, job_events.add, ("id",)),
    "ended_jobs": Member(EndedJob, ended_jobs.load_all, ended_jobs.add),
    "usage": Member(UsageRow, usage.load_all, usage.add),
    "usage_edits": Member(UsageEdit, usage.load_edits, usage.add_edits),
    "job_waits": Member(JobWait, waits.load, lambda state, new: waits.add(state, new, ()), ("cluster first_proc",)),
    "job_afters": Member(JobAfter, waits.load_afters, lambda state, new: waits.add(state, (), new)),
    "job_caps": Member(JobCap, waits.load_caps, lambda state, new: waits.add(state, (), (), new), ("cluster",)),
}
"""The members in the order of the document; none refers to a later one."""


def earlier_usage(records: Iterable[AccountingRecord], meta: dict[str, str]) -> list[UsageEdit]:
    """Return what the *records* of a state without a ledger have accumulated, as entries of one."""
    time = int(meta.get("last_update") or 0)
    return [
        UsageEdit(time, record.name, "earlier", "", record.accumulated_usage, record.weighted_accumulated_usage)
        for record in sorted(records, key=lambda record: record.name)
        if record.accumulated_usage or record.weighted_accumulated_usage
    ]


def check(members: dict[str, list[Any]]) -> None:
    """Check that no record is there twice, and that all records that others refer to exist."""
    for name, member in MEMBERS.items():
        for fields in member.once:
            once(name, map(attrgetter(*fields.split()), members[name]))
    once("job_ads", (rows.dumps(record.ad) for record in members["job_ads"]))
    for number, cycle in enumerate(members["cycles"]):
        once(f"cycles[{number}].matches", (match.sequence for match in cycle.matches))
    slot_ids = {slot.id for slot in members["slots"]}
    for name, field in (
        ("dynamic_slots", "slot_id"), ("dynamic_slots", "parent_id"), ("claims", "slot_id"), ("pilot_slots", "slot_id")
    ):  # fmt: skip
        _refer(members, name, field, slot_ids, "slot")
    for number, dynamic in enumerate(members["dynamic_slots"]):
        for name, amount in dynamic.carved.items():
            is_amount = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < inf
            require(is_amount, f"dynamic_slots[{number}].carved.{name}", "must be a number, at least 0")
    ad_ids = {record.id for record in members["job_ads"]}
    for name in ("ended_jobs", "jobs"):
        _refer(members, name, "ad_id", ad_ids, "job ad")
    for name in ("ended_jobs", "jobs", "job_waits"):
        for number, job in enumerate(members[name]):
            require(0 <= job.first_proc <= job.last_proc, f"{name}[{number}].last_proc", "is before first_proc")
    _check_task_queues(members["task_queues"])
    _check_launches(members["launches"])
    _check_afters(members["job_afters"], {(wait.cluster, wait.first_proc) for wait in members["job_waits"]})
    for number, claim in enumerate(members["claims"]):
        is_whole = (claim.cluster is None) == (claim.proc is None)
        require(is_whole, f"claims[{number}]", "cluster and proc must be null together")
    once("claims", map(_claimed_for, members["claims"]))
    _check_overlaps(members["jobs"])


def _refer(members: dict[str, list[Any]], name: str, field: str, known: set[int], noun: str) -> None:
    """Check that the *field* of each record of a member is a *known* number."""
    for place, number in enumerate(map(attrgetter(field), members[name])):
        require(number in known, f"{name}[{place}].{field}", f"there is no {noun} {number}")


def _check_overlaps(queue: list[JobRange]) -> None:
    order = sorted(range(len(queue)), key=lambda at: (queue[at].cluster, queue[at].schedd, queue[at].first_proc))
    for number, next_number in pairwise(order):
        before, after = queue[number], queue[next_number]
        is_apart = (before.cluster, before.schedd) != (after.cluster, after.schedd)
        is_apart = is_apart or before.last_proc < after.first_proc
        require(is_apart, f"jobs[{next_number}]", f"job {after.cluster}.{after.first_proc} is also in jobs[{number}]")


def _claimed_for(claim: Claim) -> object:
    """Return the job of a claim, or what equals no other claim's if it has none."""
    return claim.slot_id if claim.cluster is None else (claim.schedd or "", claim.cluster, claim.proc)


def _check_task_queues(queues: list[QueueNumber]) -> None:
    once("task_queues", ((rows.dumps(queue.identity), queue.part) for queue in queues))
    for number, queue in enumerate(queues):
        problem = _identity_problem(queue.identity)
        require(problem is None, f"task_queues[{number}].identity", problem or "")


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


def _check_launches(of_jobs: list[Launch]) -> None:
    for number, launch in enumerate(of_jobs):
        is_plain = launch.name not in ("", ".", "..") and "/" not in launch.name and "\0" not in launch.name
        require(is_plain, f"launches[{number}].name", "must be the name of a directory")


def _check_afters(afters: list[JobAfter], waiting: set[tuple[int, int]]) -> None:
    for number, after in enumerate(afters):
        place = f"job_afters[{number}]"
        require((after.cluster, after.first_proc) in waiting, place, "no job waits for it")
        is_known = after.how in ("after", "after_ok", "after_failed")
        require(is_known, f"{place}.how", "must be after, after_ok or after_failed")
