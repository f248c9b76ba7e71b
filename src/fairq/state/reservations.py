"""Reservations of slots for some users and groups, or for nobody."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from fairq.common.records import JobStatus
from fairq.common.reservation import JOB_ATTRIBUTE, Reservation
from fairq.state import jobs, meta
from fairq.state.connection import State

KEY, LAST = "reservations", "last_reservation"
"""Where the state keeps the reservations, and the number of the latest one."""


def load(state: State, now: int) -> list[Reservation]:
    """Return the reservations that are not over at *now*, by number; a promise is over once its job waits no more."""
    return [
        reservation
        for reservation in stored(state)
        if not reservation.is_over(now) and (reservation.job is None or _waits(state, reservation))
    ]


def _waits(state: State, promise: Reservation) -> bool:
    """Return whether the job of a promise is idle."""
    assert promise.job is not None
    cluster, proc = map(int, promise.job.split("."))
    idle = jobs.select(state, cluster=cluster, proc=proc, statuses=[JobStatus.IDLE])
    return any((job.own or {}).get(JOB_ATTRIBUTE) == promise.number for job in idle)


def of_job(state: State, number: int | None, now: int) -> Reservation | None:
    """Return the reservation *number* if it promises slots to a job, and is not over at *now*."""
    current = [] if number is None else load(state, now)
    return next((promise for promise in current if promise.number == number and promise.job is not None), None)


def stored(state: State) -> list[Reservation]:
    """Return all stored reservations; some may be over, and some promises' jobs may not wait any more."""
    return meta.load(state, KEY, list[Reservation]) or []


def store(state: State, reservations: Sequence[Reservation]) -> None:
    """Store *reservations* in the place of all others."""
    meta.store(state, KEY, reservations)


def keep_in_pool(state: State, names: Collection[str]) -> None:
    """Strike the slots of these *names* from the reservations with which slots leave the pool."""
    before = stored(state)
    after = [_without(reservation, names) if reservation.leaves else reservation for reservation in before]
    if after != before:
        store(state, [reservation for reservation in after if reservation.slots])


def _without(reservation: Reservation, names: Collection[str]) -> Reservation:
    return replace(reservation, slots=[name for name in reservation.slots if name not in names])


def next_number(state: State) -> int:
    """Return a number that no reservation has had, and note that it is used."""
    number = meta.number(state, LAST) + 1
    meta.set(state, LAST, str(number))
    return number
