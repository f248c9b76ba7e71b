"""Reserve slots for users and groups, for a time or without end (Slurm: scontrol create reservation)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.common.records import Actor, Change
from fairq.common.reservation import Reservation
from fairq.errors.pool import ReservationError
from fairq.state import claims, dynamic_slots, history, reservations, slots, undo
from fairq.state.connection import State, opened_for, reading
from fairq.steps.pool.slots import named

if TYPE_CHECKING:
    from fairq.settings import Settings


def people_of(settings: Settings, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which of *names* are users, and which are configured groups, in their spelling there."""
    groups = {name.lower(): name for name in settings.groups}
    return [name for name in names if name.lower() not in groups], [
        groups[name.lower()] for name in names if name.lower() in groups
    ]


def reserve(
    path: Path,
    actor: Actor,
    names: Sequence[str],
    begin: int,
    end: int | None,
    users: Sequence[str],
    groups: Sequence[str],
    *,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Reserve the slots of these *names*; return the reservation as `reservation_document` does.

    Raises UnknownSlotError, and ReservationError if one of them is reserved in that time.
    """
    with opened_for(path, dry_run=dry_run, create=False) as state:
        chosen = list(dict.fromkeys(slot.name for name in names for slot in _whole(state, name)))
        former = reservations.load(state, actor.time)
        promises = [
            reservation
            for reservation in former
            if reservation.job is not None and not set(reservation.slots).isdisjoint(chosen)
        ]
        for reservation in former:
            if (
                reservation.job is None
                and reservation.overlaps(begin, end)
                and (shared := next((name for name in reservation.slots if name in chosen), None))
            ):
                problem = f"slot {shared} is in reservation {reservation.number} at that time"
                cure = f"name other slots or another time, or run 'fairq slots reserve --cancel {reservation.number}'"
                raise ReservationError(problem=problem, cure=cure)
        number = 0 if dry_run else reservations.next_number(state)
        new = Reservation(number, chosen, begin, end, actor.user, actor.time, list(users), list(groups), actor.reason)
        if not dry_run:
            _store(state, actor, promises, [new])
        return reservation_document(state, new, actor.time)


def cancel(path: Path, actor: Actor, numbers: Sequence[int], *, dry_run: bool = False) -> list[int]:
    """End reservations; return their numbers. Raises ReservationError if there is none of a number."""
    with opened_for(path, dry_run=dry_run, create=False) as state:
        known = {reservation.number: reservation for reservation in reservations.load(state, actor.time)}
        missing = next((number for number in numbers if number not in known), None)
        if missing is not None:
            cure = "'fairq slots reservations' lists them"
            raise ReservationError(problem=f"there is no reservation {missing}", cure=cure)
        if not dry_run:
            _store(state, actor, [known[number] for number in dict.fromkeys(numbers)], [])
    return list(dict.fromkeys(numbers))


def free_names(path: Path, count: int, begin: int, end: int | None, allowed: Sequence[str], now: int) -> list[str]:
    """Return the names of *count* slots to reserve, of those *allowed*: unused ones first, in pool order.

    Left out are drained slots and those that are reserved in that time. Raises ReservationError if they are too few.
    """
    with reading(path) as state:
        taken = {
            name
            for reservation in reservations.load(state, now)
            if reservation.overlaps(begin, end)
            for name in reservation.slots
        }
        used = slots.in_use(state)
        wanted = set(allowed)
        free = [
            slot
            for slot in slots.load_all(state)
            if slot.name in wanted and slot.name not in taken and not slot.draining
        ]
    if len(free) < count:
        problem = f"only {len(free)} slots are neither drained nor reserved at that time, not {count}"
        raise ReservationError(problem=problem, cure="reserve fewer, or another time")
    return [slot.name for slot in sorted(free, key=lambda slot: slot.id in used)[:count]]


def listed(path: Path, now: int) -> list[dict[str, Any]]:
    """Return the reservations that are not over, as `reservation_document` does."""
    with reading(path) as state:
        return [reservation_document(state, reservation, now) for reservation in reservations.load(state, now)]


def reservation_document(state: State, reservation: Reservation, now: int) -> dict[str, Any]:
    """Return a reservation as plain data, with the jobs of others that are running on its slots."""
    numbers = {slot.id for name in reservation.slots for slot in slots.load(state, name)}
    numbers |= {child.slot_id for child in dynamic_slots.load_all(state) if child.parent_id in numbers}
    others = [claim for claim in claims.of_slots(state, sorted(numbers)) if not reservation.admits(claim.submitter)]
    return {
        "number": reservation.number,
        "begin_time": reservation.begin,
        "end_time": reservation.end,
        "users": reservation.users,
        "groups": reservation.groups,
        "slots": reservation.slots,
        "status": "active" if reservation.begin <= now else "planned",
        "leaves": reservation.leaves,
        "job": reservation.job,
        "jobs_of_others": [f"{claim.cluster}.{claim.proc}" for claim in others if claim.cluster is not None],
        "by": reservation.by,
        "reason": reservation.reason,
    }


def _whole(state: State, name: str) -> list[Any]:
    dynamic = dynamic_slots.ids(state)
    return [slot for slot in named(state, name) if slot.id not in dynamic]


def _store(state: State, actor: Actor, gone: Sequence[Reservation], new: Sequence[Reservation]) -> None:
    """Replace the reservations *gone* by *new* ones; forget those that are over."""
    changes = [Change(f"reservation {one.number}", _shown(one), None) for one in gone]
    changes += [Change(f"reservation {one.number}", None, _shown(one)) for one in new]
    entries = history.record(state, actor, changes)
    numbers = {one.number for one in gone}
    left = [one for one in reservations.stored(state) if not one.is_over(actor.time) and one.number not in numbers]
    reservations.store(state, [*left, *new])
    data = {"gone": [asdict(one) for one in gone], "new": [one.number for one in new]}
    undo.record(state, actor, entries, "slots reserve", data, None)


def _shown(reservation: Reservation) -> dict[str, Any]:
    return {
        "Slots": reservation.slots,
        "Begin": reservation.begin,
        "End": reservation.end,
        "For": [*reservation.users, *reservation.groups],
    }
