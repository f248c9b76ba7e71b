"""Leases: a ceiling, floor or priority factor for a limited time, after which the former value returns.

Source: HTCondor 25.11 (ceiling) and 25.12 (floor, factor): ``SetCeilingLease`` and its relatives.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from fairq.common.records import AccountingRecord, Lease
from fairq.engine.accounting.factors import MINIMUM_FACTOR
from fairq.errors.pool import LeaseInEffectError, NoLeaseError


class Leasable(Enum):
    """The values that can be leased; the text is their name in messages."""

    CEILING = "ceiling"
    FLOOR = "floor"
    FACTOR = "priority factor"


class ExpiredLease(Struct, frozen=True):
    """A lease that ended: its record, the kind of value, the leased value and the restored value."""

    record: AccountingRecord
    what: Leasable
    leased: float
    restored: float


def lease_of(record: AccountingRecord, what: Leasable) -> Lease | None:
    """Return the lease of *what* in *record*, None if there is none."""
    if what is Leasable.CEILING:
        return record.ceiling_lease
    return record.floor_lease if what is Leasable.FLOOR else record.factor_lease


def leases_of(record: AccountingRecord) -> list[Lease]:
    """Return the leases of *record*."""
    return [lease for lease in (record.ceiling_lease, record.floor_lease, record.factor_lease) if lease is not None]


def value_of(record: AccountingRecord, what: Leasable) -> float:
    """Return the current value of *what*; the factor must be resolved already."""
    if what is Leasable.CEILING:
        return record.ceiling
    if what is Leasable.FLOOR:
        return record.floor
    return MINIMUM_FACTOR if record.priority_factor is None else record.priority_factor


def set_for_good(record: AccountingRecord, what: Leasable, value: float) -> None:
    """Set *what* of *record* to *value* permanently; this ends a lease without restoring a value."""
    _set(record, what, value, None)


def grant_lease(record: AccountingRecord, what: Leasable, value: float, seconds: int, now: int) -> None:
    """Set *what* of *record* to *value* for *seconds*; then the current value returns.

    Raises LeaseInEffectError if such a lease has not ended yet: leases do not stack.
    """
    lease = lease_of(record, what)
    if lease is not None:
        raise LeaseInEffectError(what=what.value, name=record.name, until=lease.expiration)
    _set(record, what, value, Lease(now + seconds, value_of(record, what)))


def cancel_lease(record: AccountingRecord, what: Leasable) -> float:
    """End the lease of *what* at once and return the restored value.

    Raises NoLeaseError if there is none.
    """
    lease = lease_of(record, what)
    if lease is None:
        raise NoLeaseError(what=what.value, name=record.name)
    _set(record, what, lease.prelease_value, None)
    return lease.prelease_value


def expire_leases(records: Iterable[AccountingRecord], now: int) -> list[ExpiredLease]:
    """End every expired lease, at the start of a cycle before any value is read."""
    expired = []
    for record in records:
        if not leases_of(record):
            continue
        for what in Leasable:
            lease = lease_of(record, what)
            if lease is not None and lease.expiration <= now:
                leased = value_of(record, what)
                expired.append(ExpiredLease(record, what, leased, cancel_lease(record, what)))
    return expired


def _set(record: AccountingRecord, what: Leasable, value: float, lease: Lease | None) -> None:
    if what is Leasable.CEILING:
        record.ceiling, record.ceiling_lease = int(value), lease
    elif what is Leasable.FLOOR:
        record.floor, record.floor_lease = int(value), lease
    else:
        record.priority_factor, record.factor_lease = value, lease
