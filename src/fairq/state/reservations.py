"""Reservations of slots for some users and groups, or for nobody."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from fairq.state import meta
from fairq.state.connection import State

KEY, LAST = "reservations", "last_reservation"
"""Where the state keeps the reservations, and the number of the latest one."""


class Reservation(Struct, frozen=True):
    """Slots that are reserved from *begin* to *end* (seconds since 1970; None: without end).

    Args:
        number: of the reservation; numbers are not used again.
        slots: names of the slots.
        users, groups: who may use them; if both are empty, nobody may.
        by: who made the reservation, at *time*, for this *reason*.
        leaves: the slots take jobs until *begin*; from then on, each leaves the pool as soon as it is free.
    """

    number: int
    slots: list[str]
    begin: int
    end: int | None
    by: str
    time: int
    users: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    reason: str | None = None
    leaves: bool = False

    def is_over(self, now: int) -> bool:
        """Return whether the reservation has ended."""
        return self.end is not None and self.end <= now

    def meets(self, begin: int, end: int | None) -> bool:
        """Return whether a time from *begin* to *end* overlaps it."""
        return (end is None or self.begin < end) and (self.end is None or begin < self.end)

    def admits(self, submitter: str) -> bool:
        """Return whether a *submitter* (``group.user@domain``) may use the slots."""
        local = submitter.rpartition("@")[0] or submitter
        is_member = any(local.lower().startswith(f"{group.lower()}.") for group in self.groups)
        return is_member or local.rpartition(".")[2] in self.users or local in self.users


def load(state: State, now: int) -> list[Reservation]:
    """Return the reservations that are not over at *now*, by number."""
    return [one for one in stored(state) if not one.is_over(now)]


def stored(state: State) -> list[Reservation]:
    """Return all stored reservations; some may be over."""
    found = meta.get(state, KEY)
    return [] if found is None else msgspec.json.decode(found, type=list[Reservation])


def store(state: State, reservations: Sequence[Reservation]) -> None:
    """Store *reservations* in the place of all others."""
    meta.set(state, KEY, msgspec.json.encode(reservations).decode())


def keep_in_pool(state: State, names: Collection[str]) -> None:
    """Strike the slots of these *names* from the reservations with which slots leave the pool."""
    found = stored(state)
    left = [
        replace(one, slots=[name for name in one.slots if name not in names]) if one.leaves else one for one in found
    ]
    if left != found:
        store(state, [one for one in left if one.slots])


def _without(one: Reservation, names: Collection[str]) -> Reservation:
    return replace(one, slots=[name for name in one.slots if name not in names])


def next_number(state: State) -> int:
    """Return a number that no reservation has had, and note that it is used."""
    number = int(meta.get(state, LAST) or 0) + 1
    meta.set(state, LAST, str(number))
    return number
