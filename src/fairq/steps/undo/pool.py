"""Undo changes of the pool as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.common.reservation import Reservation
from fairq.state import pause as pauses
from fairq.state import reservations
from fairq.state.connection import State
from fairq.state.pause import Pause
from fairq.steps.undo.jobs import Problem


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
