"""Undo changes of the pool: its machines, reservations and pauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.common.records import SlotRecord
from fairq.common.reservation import Reservation
from fairq.state import pause as pauses
from fairq.state import reservations, slots
from fairq.state.connection import State
from fairq.state.pause import Pause
from fairq.steps.undo.jobs import Problem


def undo_add(state: State, data: Mapping[str, Any]) -> Problem:
    """Remove added slots from the pool, unless jobs run on them."""
    added = [slot for name in data["names"] for slot in slots.load(state, name)]
    used_slots = slots.in_use(state)
    for slot in added:
        if slot.id in used_slots:
            return f"slot {slot.name} is in use"
    if len(added) != len(data["names"]):
        return "slots were removed since"
    slots.remove(state, [slot.id for slot in added])
    reservations.keep_in_pool(state, data["names"])
    return None


def undo_remove(state: State, data: Mapping[str, Any]) -> Problem:
    """Put removed slots back into the pool, in their old place if it is free."""
    former = [SlotRecord(**slot) for slot in data["slots"]]
    for slot in former:
        if any(other.address == slot.address for other in slots.load(state, slot.name)):
            return f"there is a slot {slot.name} again"
    used_ids = set(slots.load_ids(state))
    slots.put(state, [slot for slot in former if slot.id not in used_ids])
    slots.add(state, [slot for slot in former if slot.id in used_ids])
    return None


def undo_drain(state: State, data: Mapping[str, Any]) -> Problem:
    """Cancel draining that was begun, or resume draining that was cancelled."""
    for name in data["names"]:
        if not slots.load(state, name):
            return f"slot {name} was removed since"
    slots.set_draining(state, data["names"], not data["draining"])
    return None


def undo_pause(state: State, data: Mapping[str, Any]) -> Problem:
    """End a pause, or restore the one that was ended or replaced."""
    before = data["before"]
    pauses.store(state, None if before is None else Pause(**before))
    return None


def undo_reserve(state: State, data: Mapping[str, Any]) -> Problem:
    """End new reservations, and restore those that were ended."""
    former = [Reservation(**reservation) for reservation in data["gone"]]
    stored = reservations.stored(state)
    for reservation in former:
        conflicts = (
            other
            for other in stored
            if other.overlaps(reservation.begin, reservation.end) and {*other.slots} & {*reservation.slots}
        )
        if (other := next(conflicts, None)) is not None:
            return f"slots of reservation {reservation.number} are in reservation {other.number} since"
    reservations.store(
        state, [*(reservation for reservation in stored if reservation.number not in data["new"]), *former]
    )
    return None
