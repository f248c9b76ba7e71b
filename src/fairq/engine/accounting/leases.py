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
    """A lease that ended: its record, the kind of value (*what*), the leased value and the restored value."""

    record: AccountingRecord
    what: Leasable
    leased: float
    restored: float


def lease_of(record: AccountingRecord, kind: Leasable) -> Lease | None:
    """Return the lease of *kind* in *record*, None if there is none."""
    if kind is Leasable.CEILING:
        return record.ceiling_lease
    return record.floor_lease if kind is Leasable.FLOOR else record.factor_lease


def leases_of(record: AccountingRecord) -> list[Lease]:
    """Return the leases of *record*."""
    return [lease for lease in (record.ceiling_lease, record.floor_lease, record.factor_lease) if lease is not None]


def value_of(record: AccountingRecord, kind: Leasable) -> float:
    """Return the current value of *kind*; the factor must be resolved already."""
    if kind is Leasable.CEILING:
        return record.ceiling
    if kind is Leasable.FLOOR:
        return record.floor
    return MINIMUM_FACTOR if record.priority_factor is None else record.priority_factor


def set_permanently(record: AccountingRecord, kind: Leasable, value: float) -> None:
    """Set *kind* of *record* to *value* permanently; this ends a lease without restoring a value."""
    _set(record, kind, value, None)


def grant_lease(record: AccountingRecord, kind: Leasable, value: float, seconds: int, now: int) -> None:
    """Set *kind* of *record* to *value* for *seconds*; then the current value returns.

    Raises LeaseInEffectError if such a lease has not ended yet: leases do not stack.
    """
    lease = lease_of(record, kind)
    if lease is not None:
        raise LeaseInEffectError(what=kind.value, name=record.name, until=lease.expiration)
    _set(record, kind, value, Lease(now + seconds, value_of(record, kind)))


def cancel_lease(record: AccountingRecord, kind: Leasable) -> float:
    """End the lease of *kind* at once and return the restored value.

    Raises NoLeaseError if there is none.
    """
    lease = lease_of(record, kind)
    if lease is None:
        raise NoLeaseError(what=kind.value, name=record.name)
    _set(record, kind, lease.prelease_value, None)
    return lease.prelease_value


def expire_leases(records: Iterable[AccountingRecord], now: int) -> list[ExpiredLease]:
    """End every expired lease, at the start of a cycle before any value is read."""
    expired = []
    for record in records:
        if not leases_of(record):
            continue
        for kind in Leasable:
            lease = lease_of(record, kind)
            if lease is not None and lease.expiration <= now:
                leased = value_of(record, kind)
                expired.append(ExpiredLease(record, kind, leased, cancel_lease(record, kind)))
    return expired


def _set(record: AccountingRecord, kind: Leasable, value: float, lease: Lease | None) -> None:
    if kind is Leasable.CEILING:
        record.ceiling, record.ceiling_lease = int(value), lease
    elif kind is Leasable.FLOOR:
        record.floor, record.floor_lease = int(value), lease
    else:
        record.priority_factor, record.factor_lease = value, lease
