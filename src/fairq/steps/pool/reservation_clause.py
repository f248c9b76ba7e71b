"""The rule of a reservation in the ad of its slots, as a clause of their Requirements.

Before it begins, a job of others starts there only if its declared limit ends it by then. While it lasts, only those
for whom it is may start jobs. Jobs that run when it begins run on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairq.common.expression_form import as_expression, attribute, without_attributes
from fairq.common.quantities import shown_time
from fairq.common.records import Ad
from fairq.common.reservation import Reservation, with_clause
from fairq.engine.negotiation.pool import ReservedSlots
from fairq.state import dynamic_slots, reservations, slots
from fairq.state.connection import State

CLAUSE = "ReservationPermits"
"""The attribute of a reserved slot's ad that is true of the jobs that may start there."""


def reserved_slots(state: State, now: int) -> Mapping[int, list[Reservation]]:
    """Return the reservations that are not over at *now*, by the number of each slot, dynamic ones included."""
    by_name: dict[str, list[Reservation]] = {}
    for reservation in reservations.load(state, now):
        for name in reservation.slots:
            by_name.setdefault(name, []).append(reservation)
    of_slot = {slot.id: by_name[name] for name in by_name for slot in slots.load(state, name)}
    if of_slot:
        for child in dynamic_slots.load_all(state):
            if child.parent_id in of_slot:
                of_slot[child.slot_id] = of_slot[child.parent_id]
    return of_slot


def reserved_rows(
    state: State, places: Callable[[], Mapping[int, int]], now: int, *, with_promises: bool = True
) -> list[ReservedSlots]:
    """Return the reservations that are not over at *now*, with the rows of their slots.

    *places* returns the row of each slot by its number; most pools have no reservations, and need none.
    """
    current = [reservation for reservation in reservations.load(state, now) if with_promises or reservation.job is None]
    row_of = places() if current else {}
    return [
        ReservedSlots(
            [row_of[slot.id] for name in one.slots for slot in slots.load(state, name) if slot.id in row_of],
            one.admits,
            one.begin,
            one.end,
        )
        for one in current
    ]


def with_reservations(ad: Ad, of_slot: Iterable[Reservation]) -> Ad:
    """Return the *ad* of a slot with the clause of its reservations in its Requirements."""
    changed = without_attributes(ad, ("requirements", CLAUSE.lower()))
    all_of_slot = list(of_slot)
    return {
        **changed,
        CLAUSE: as_expression(" && ".join(f"({reservation.clause})" for reservation in all_of_slot)),
        "Requirements": with_clause(attribute(ad, "requirements"), CLAUSE),
        "Reservations": ",".join(str(reservation.number) for reservation in all_of_slot),
    }


def with_names(document: Any, state: State, now: int) -> Any:
    """Return plain data in which the clauses of reservations are named in words."""
    words = {reservation.clause: _words(reservation, now) for reservation in reservations.load(state, now)}
    return _renamed(document, words) if words else document


def _renamed(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for clause, name in words.items():
            value = value.replace(clause, name)
        return value
    if isinstance(value, dict):
        return {key: _renamed(item, words) for key, item in value.items()}
    return [_renamed(item, words) for item in value] if isinstance(value, list) else value


def _words(reservation: Reservation, now: int) -> str:
    if reservation.leaves:
        return f"the slot takes jobs until {shown_time(reservation.begin)}, when it leaves the pool"
    if reservation.job is not None:
        begin = shown_time(reservation.begin)
        condition = f"a job starts there if its --time limit ends it by {begin}"
        return f"the machine is promised to job {reservation.job} ({condition})"
    whom = ", ".join([*reservation.users, *reservation.groups]) or "nobody"
    until = "" if reservation.end is None else f" until {shown_time(reservation.end)}"
    before = (
        "; before it begins, a job starts there if its --time limit ends it by then" if now < reservation.begin else ""
    )
    return f"reservation {reservation.number} (for {whom}, from {shown_time(reservation.begin)}{until}{before})"
