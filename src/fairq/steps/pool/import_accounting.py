"""The effect of an import on the accounting: the records of the dump, and the charges for slots."""

from __future__ import annotations

from fairq.common.records import AccountingRecord, Change
from fairq.engine.accounting import Accountant, AccountingPolicy, charges_of, resolve_factor
from fairq.engine.accounting.priority import charge, decay
from fairq.formats.accounting import AccountingDump, accounting_ad, real_of
from fairq.state import meta, submitters
from fairq.state.connection import State
from fairq.state.usage import Booking
from fairq.steps.cycle.accounts import (
    LAST_UPDATE,
    RECORDED_UNTIL,
    decayed_until,
    last_update,
    recorded_until,
    store_accountant,
    store_times,
)
from fairq.steps.pool.import_claims import ClaimPlan
from fairq.steps.userprio.imported_figures import Reported, keep_reported


def charge_imported(
    state: State, dump: AccountingDump | None, plan: ClaimPlan, policy: AccountingPolicy, now: int
) -> list[Change]:
    """Store the accounting records of *dump* and charge the claims of *plan*; return the changes of records.

    If the dump contains the use at its last update, that use is charged up to *now* and the claims count from then on
    (see `fairq.steps.cycle.accounts`). Otherwise, claims are charged from the start of their jobs, unless the records
    already contain that time.
    """
    if dump is not None:
        _complete(dump, policy)
        keep_reported(state, Reported(dump.quotas, [record.name for record in dump.records], sorted(dump.tells_usage)))
    former = last_update(state)
    known = None if dump is None else dump.last_update
    # Decay begins here: the imported values are as of now, not as of 1970.
    counted_to = former or min(known or now, now)
    accountant = Accountant(submitters.load_all(state), policy, counted_to, charges_of(plan.kept), decayed_until(state))
    if (dump is not None and dump.tells_use and dump.last_update is not None) or recorded_until(state):
        return _as_recorded(state, accountant, dump, plan, counted_to, now)
    if not former:
        meta.set(state, LAST_UPDATE, str(counted_to))
    if dump is None and not plan.kept and not plan.linked:
        return []
    changes = _put(accountant, dump)
    for claim in plan.linked:
        since = min(now, max(claim.start_time, counted_to))
        accountant.add_match(claim.submitter, claim.slot_id, claim.slot_weight, since)
    if accountant.last_update != counted_to:
        store_times(state, accountant)
    # The dump's own counts may include slots that were not imported.
    accountant.recount()
    submitters.store(state, accountant.records.values(), accountant.booked, Booking("import", now))
    return changes


def _complete(dump: AccountingDump, policy: AccountingPolicy) -> None:
    """Convert priorities of ads without a factor to real ones, and bring all records to the dump's last update."""
    for record in dump.records:
        if record.name in dump.without_factor:
            record.priority = real_of(record.priority, resolve_factor(record.name, policy))
        updated = dump.updated.get(record.name)
        if updated is not None and dump.last_update is not None and updated < dump.last_update:
            # The collector keeps the ads of departed submitters, which have used nothing since their update.
            _release(record)
            seconds = dump.last_update - updated
            charge(record, seconds, decay(seconds, policy.priority_halflife), dump.last_update)


def _release(record: AccountingRecord) -> None:
    record.resources_used = 0
    record.weighted_resources_used = record.hier_weighted_resources_used = 0.0


def _put(accountant: Accountant, dump: AccountingDump | None) -> list[Change]:
    """Replace records by the records of *dump* with the same name."""
    changes = []
    for record in () if dump is None else dump.records:
        old = accountant.records.get(record.name)
        old_ad = None if old is None else accounting_ad(old, accountant.last_update)
        changes.append(Change(record.name, old_ad, accounting_ad(record, accountant.last_update)))
        accountant.forget(record.name)
        accountant.records[record.name] = record
    return changes


def _as_recorded(
    state: State, accountant: Accountant, dump: AccountingDump | None, plan: ClaimPlan, counted_to: int, now: int
) -> list[Change]:
    """Keep the use in the records of *dump*, to be charged up to *now*.

    The records of the state and of the dump are brought to the time of the later update.
    """
    if dump is not None and dump.last_update is not None:
        updated = min(dump.last_update, now)
        if updated > counted_to:
            accountant.update(updated)
        elif updated < counted_to:
            left = decay(counted_to - updated, accountant.policy.priority_halflife)
            for record in dump.records:
                charge(record, counted_to - updated, left, counted_to)
    changes = _put(accountant, dump)
    for claim in (*plan.kept, *plan.linked):
        accountant.record(claim.submitter)
    store_accountant(state, accountant, Booking("import", now))
    meta.set(state, RECORDED_UNTIL, str(max(now, accountant.last_update)))
    return changes
