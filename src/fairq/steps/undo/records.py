"""Undo edits of accounting records as if they had never been made, with usage and decay up to now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fairq.common.records import AccountingRecord, Lease
from fairq.engine.accounting.factors import AccountingPolicy
from fairq.engine.accounting.leases import expire_leases
from fairq.engine.accounting.priority import decay
from fairq.state import submitters
from fairq.state.connection import State
from fairq.state.usage import Booking
from fairq.steps.cycle.accounts import charge_until, decayed_until
from fairq.steps.undo.jobs import Problem

_SETTINGS = ("priority_factor", "ceiling", "floor", "factor_lease", "ceiling_lease", "floor_lease")
_SUMS = ("accumulated_usage", "weighted_accumulated_usage")
_TIMES = ("begin_usage_time", "last_usage_time")
_IN_USE = ("resources_used", "weighted_resources_used", "hier_weighted_resources_used", "uncharged_time",
           "weighted_uncharged_time")  # fmt: skip


def undo_edits(state: State, data: Mapping[str, Any], policy: AccountingPolicy, now: int, user: str) -> Problem:
    """Undo the edits stored in *data*. Of a priority change, only the part that has not decayed is undone.

    Use since the edits stays charged. A record that an edit created is deleted, unless it was used.
    """
    for name, former in data["before"].items():
        if data["after"][name] is None and former is not None and former["resources_used"]:
            return f"jobs of {name} held slots when its record was deleted"
    charge_until(state, policy, now)
    undecayed = decay(max(0, decayed_until(state) - data["updated"]), policy.priority_halflife)
    for name, former in data["before"].items():
        before, after = _record(former), _record(data["after"][name])
        record = submitters.load(state, name)
        if before is None and after is not None:
            if record is not None and not _is_used(record, after):
                submitters.delete(state, name, Booking("delete", now, user))
                continue
            before = AccountingRecord(name, is_group=after.is_group)
        if before is None:
            continue
        if record is None:
            # A deleted record was not used since: its priority is the undecayed part of the former one.
            after = AccountingRecord(name, is_group=before.is_group, priority=0.0)
            record = replace(after)
        elif after is None:
            after = AccountingRecord(name, is_group=before.is_group)
        _take_back(record, before, after, undecayed)
        expire_leases([record], now)
        submitters.store(state, [record], (), Booking("edit", now, user))
    return None


def _take_back(record: AccountingRecord, before: AccountingRecord, after: AccountingRecord, undecayed: float) -> None:
    """Replace the values of *after* in *record* by those of *before*; *undecayed* is the share not decayed."""
    record.priority = max(0.0, record.priority + (before.priority - after.priority) * undecayed)
    for name in _SUMS:
        setattr(record, name, max(0.0, getattr(record, name) + getattr(before, name) - getattr(after, name)))
    for name in _TIMES:
        if getattr(record, name) == getattr(after, name):
            setattr(record, name, getattr(before, name))
    for name in _SETTINGS:
        if getattr(before, name) != getattr(after, name):
            setattr(record, name, getattr(before, name))


def _is_used(record: AccountingRecord, after: AccountingRecord) -> bool:
    used = any(getattr(record, name) for name in _IN_USE)
    return used or any(getattr(record, name) > getattr(after, name) for name in _SUMS)


def _record(document: Mapping[str, Any] | None) -> AccountingRecord | None:
    if document is None:
        return None
    leases = {
        name: None if document[name] is None else Lease(**document[name])
        for name in document
        if name.endswith("_lease")
    }
    return AccountingRecord(**{**document, **leases})
