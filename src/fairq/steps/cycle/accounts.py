"""The accountant of a state, and the times up to which it has charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.common.records import AccountingRecord
from fairq.common.versions import Version, newest
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import Charges, charges_of
from fairq.engine.accounting.factors import AccountingPolicy
from fairq.engine.accounting.leases import expire_leases
from fairq.state import claims, meta, submitters
from fairq.state.connection import State
from fairq.state.usage import Booking
from fairq.steps.cycle.accounting_policy import accounting_policy

if TYPE_CHECKING:
    from fairq.settings import Settings

LAST_UPDATE = "last_update"
DECAYED_UNTIL = "decayed_until"
"""The state's key of the time up to which priorities are decayed: after the last update if the clock was set back."""

RECORDED_UNTIL = "usage_recorded_until"
"""The state's key of the time up to which imported records are to be charged; 0 once they are charged."""

CONDOR_VERSION = "condor_version"
"""The state's key of the CondorVersion of the imported slots."""


def last_update(state: State) -> int:
    """Return the time up to which everybody is charged, in seconds since 1970; 0 before the first update."""
    return meta.number(state, LAST_UPDATE)


def decayed_until(state: State) -> int:
    """Return the time up to which priorities are decayed, in seconds since 1970; 0 before the first update."""
    return max(last_update(state), meta.number(state, DECAYED_UNTIL))


def store_times(state: State, accountant: Accountant) -> None:
    """Store the times up to which *accountant* has charged everybody and decayed their priorities."""
    meta.set(state, LAST_UPDATE, str(accountant.last_update))
    if accountant.decayed_until > accountant.last_update:
        meta.set(state, DECAYED_UNTIL, str(accountant.decayed_until))


def store_accountant(state: State, accountant: Accountant, booking: Booking | None = None) -> None:
    """Store the records of *accountant*, what it has charged, and the times up to which it has."""
    submitters.store(state, accountant.records.values(), accountant.booked, booking)
    store_times(state, accountant)


def recorded_until(state: State) -> int:
    """Return the time up to which the use in imported records is charged; 0 if the claims are charged."""
    return meta.number(state, RECORDED_UNTIL)


def records_at(state: State, now: int) -> list[AccountingRecord]:
    """Return all accounting records as of *now* (seconds since 1970), with expired leases ended."""
    records = submitters.load_all(state)
    expire_leases(records, now)
    return records


def pool_version(settings: Settings, state: State) -> Version | None:
    """Return the HTCondor version of the pool: the newest of the configuration's and the slots'; None if unknown."""
    return newest(settings["negotiator.condor_version"], meta.get(state, CONDOR_VERSION))


def settings_of_pool(settings: Settings, state: State) -> Settings:
    """Return *settings* for the HTCondor version of the pool."""
    return settings.at_version(pool_version(settings, state))


def load_accountant(state: State, policy: AccountingPolicy, charges: Charges | None = None) -> Accountant:
    """Return the accountant of *state*; *charges* are those of its claims, if they are loaded already.

    Use recorded by an import is charged up to the import. From then on, the claims are charged.
    """
    if charges is None:
        charges = charges_of(claims.load_all(state))
    accountant = Accountant(submitters.load_all(state), policy, last_update(state), charges, decayed_until(state))
    until = recorded_until(state)
    if until:
        accountant.update_as_logged(until)
        accountant.recount()
    return accountant


def settle(state: State, settings: Settings) -> None:
    """Store the records of `load_accountant` after an import, so that single records can be changed."""
    if not recorded_until(state):
        return
    store_accountant(state, load_accountant(state, accounting_policy(settings)))
    meta.set(state, RECORDED_UNTIL, "0")


def charge_until(state: State, policy: AccountingPolicy, now: int) -> None:
    """Charge everybody up to *now*, unless that is done."""
    if now > last_update(state):
        accountant = load_accountant(state, policy)
        accountant.update(now)
        store_accountant(state, accountant)
        meta.set(state, RECORDED_UNTIL, "0")
