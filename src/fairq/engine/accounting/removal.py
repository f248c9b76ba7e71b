"""Removal of accounting records."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import AccountingRecord
from fairq.engine.accounting.factors import AccountingPolicy, resolve_factor
from fairq.engine.accounting.priority import MINIMUM_PRIORITY


def is_like_new(record: AccountingRecord, policy: AccountingPolicy) -> bool:
    """Return whether *record* has only the values of a new submitter, so that its removal changes nothing.

    It is a submitter without current, uncharged or accumulated use, with the best priority and its default factor,
    and without ceiling, floor or lease. The manuals say that entities that are no longer relevant are removed
    automatically. HTCondor's accountant did so up to 8.6, without the last two conditions.
    """
    return (
        not record.is_group
        and record.resources_used == 0
        and record.priority <= MINIMUM_PRIORITY
        and record.accumulated_usage == 0
        and record.weighted_accumulated_usage == 0
        and record.uncharged_time == 0
        and record.weighted_uncharged_time == 0
        and not _is_bounded(record)
        and (record.priority_factor is None or record.priority_factor == resolve_factor(record.name, policy))
    )


def removable(records: Iterable[AccountingRecord], policy: AccountingPolicy) -> list[str]:
    """Return the names of the records to remove automatically; none if the policy keeps idle records."""
    if not policy.remove_idle_records:
        return []
    return [record.name for record in records if is_like_new(record, policy)]


def idle_since(records: Iterable[AccountingRecord], cutoff: int, policy: AccountingPolicy) -> list[str]:
    """Return the submitters without use since *cutoff* (seconds since 1970).

    Groups are left out, and so are records that an administrator has set up: those with a ceiling, a floor or a
    lease, and those never used, unless they have only the values of a new submitter.
    """
    return [record.name for record in records if _is_idle(record, cutoff, policy)]


def _is_idle(record: AccountingRecord, cutoff: int, policy: AccountingPolicy) -> bool:
    if record.is_group or record.resources_used or _is_bounded(record):
        return False
    if record.last_usage_time == 0:
        return is_like_new(record, policy)
    return record.last_usage_time < cutoff


def _is_bounded(record: AccountingRecord) -> bool:
    leases = (record.ceiling_lease, record.floor_lease, record.factor_lease)
    return record.ceiling >= 0 or record.floor > 0 or any(lease is not None for lease in leases)
