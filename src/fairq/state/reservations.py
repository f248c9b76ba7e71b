"""Reservations of slots for some users and groups, or for nobody."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from fairq.common.records import JobStatus
from fairq.common.reservation import JOB_ATTRIBUTE, Reservation
from fairq.state import jobs, meta
from fairq.state.connection import State

KEY, LAST = "reservations", "last_reservation"
"""Where the state keeps the reservations, and the number of the latest one."""


def load(state: State, now: int) -> list[Reservation]:
    """Return the reservations that are not over at *now*, by number; a promise is over once its job waits no more."""
    return [one for one in stored(state) if not one.is_over(now) and (one.job is None or _waits(state, one))]


def _waits(state: State, promise: Reservation) -> bool:
    """Return whether the job of a promise is idle."""
    assert promise.job is not None
    cluster, proc = map(int, promise.job.split("."))
    found = jobs.select(state, cluster=cluster, proc=proc, statuses=[JobStatus.IDLE])
    return any((job.own or {}).get(JOB_ATTRIBUTE) == promise.number for job in found)


def of_job(state: State, number: int | None, now: int) -> Reservation | None:
    """Return the reservation *number* if it promises slots to a job, and is not over at *now*."""
    found = [] if number is None else load(state, now)
    return next((one for one in found if one.number == number and one.job is not None), None)


def stored(state: State) -> list[Reservation]:
    """Return all stored reservations; some may be over, and some promises' jobs may not wait any more."""
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
