"""Which accounting records may go."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.engine.accounting.factors import AccountingPolicy, resolve_factor
from fairq.engine.accounting.priority import MINIMUM_PRIORITY
from fairq.records import AccountingRecord


def no_longer_matters(record: AccountingRecord, policy: AccountingPolicy) -> bool:
    """Say whether dropping *record* would change nothing: it holds just what a newcomer starts with.

    That is: a submitter, nothing in use or still to charge, the best priority, no accumulated usage, the
    factor it would be given again, neither ceiling nor floor nor lease. The manuals promise that entities
    are removed by themselves once they are no longer relevant; HTCondor's accountant did so up to 8.6, by
    this test less its last two parts.
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
    """Return the names of the records that go by themselves; none if the policy keeps idle records."""
    if not policy.remove_idle_records:
        return []
    return [record.name for record in records if no_longer_matters(record, policy)]


def idle_since(records: Iterable[AccountingRecord], cutoff: int, policy: AccountingPolicy) -> list[str]:
    """Return the submitters that have nothing in use and used nothing since *cutoff* (seconds since 1970).

    What an administrator prepared stays: records with a ceiling, a floor or a lease, and those of submitters
    that never used anything unless they hold just what a newcomer starts with. Groups stay.
    """
    return [record.name for record in records if _is_idle(record, cutoff, policy)]


def _is_idle(record: AccountingRecord, cutoff: int, policy: AccountingPolicy) -> bool:
    if record.is_group or record.resources_used or _is_bounded(record):
        return False
    if record.last_usage_time == 0:
        return no_longer_matters(record, policy)
    return record.last_usage_time < cutoff


def _is_bounded(record: AccountingRecord) -> bool:
    leases = (record.ceiling_lease, record.floor_lease, record.factor_lease)
    return record.ceiling >= 0 or record.floor > 0 or any(lease is not None for lease in leases)
