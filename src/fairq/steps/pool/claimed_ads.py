"""A slot's current ad: the advertised ad, overlaid with fairq's own claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairq.common.expression_form import without_attributes
from fairq.common.records import Ad, Claim

_Value = Callable[[Claim, int], Any]
"""Returns the value that a claim gives to an attribute at a time."""

ALWAYS: Mapping[str, _Value] = {
    "State": lambda claim, now: "Claimed",
    "Activity": lambda claim, now: "Busy",
    "RemoteUser": lambda claim, now: claim.submitter,
    "RemoteOwner": lambda claim, now: claim.submitter,
    "AccountingGroup": lambda claim, now: claim.submitter,
    "JobId": lambda claim, now: f"{claim.cluster}.{claim.proc}",
    "CurrentRank": lambda claim, now: claim.current_rank,
    "JobStart": lambda claim, now: claim.start_time,
    "TotalJobRunTime": lambda claim, now: max(0, now - claim.start_time),
    "EnteredCurrentState": lambda claim, now: claim.start_time,
    "EnteredCurrentActivity": lambda claim, now: claim.start_time,
}
IF_KNOWN: Mapping[str, _Value] = {
    "ConcurrencyLimits": lambda claim, now: claim.concurrency_limits,
    "RemoteNegotiatingGroup": lambda claim, now: claim.negotiating_group,
    "RemoteAutoregroup": lambda claim, now: claim.autoregroup,
}
"""The attributes that a claim adds to its slot's ad: always, or unless the value is None."""


def with_claim(ad: Ad, claim: Claim, now: int) -> Ad:
    """Return *ad* with the attributes that a startd advertises while *claim* is on the slot.

    Times are in seconds since 1970. The ad already contains a claim without a job of fairq's queue. Machines suspend,
    retire or vacate jobs by their own policies, which fairq knows only from an import. They act through the slot's
    State and Activity (docs/htcondor.md 2.4 and 3.1), without a job status of their own.
    """
    if claim.cluster is None:
        return ad
    over: Ad = {name: value_of(claim, now) for name, value_of in ALWAYS.items()}
    over |= {name: value for name, value_of in IF_KNOWN.items() if (value := value_of(claim, now)) is not None}
    over |= claim.advertised or {}
    names = {name.lower() for name in over}
    return without_attributes(ad, names) | over


def with_draining(ad: Ad) -> Ad:
    """Set the state of *ad*, with its claim, as a draining startd does: running jobs retire, then it is drained."""
    busy = _is_busy(ad)
    state = {"Draining": True, "Activity": "Retiring"} if busy else {"Draining": True, "State": "Drained"}
    return without_attributes(ad, _DRAIN_NAMES[busy]) | state


def without_draining(ad: Ad) -> Ad:
    """Return *ad*, which `with_draining` has changed, for a slot that takes jobs again."""
    busy = _is_busy(ad)
    state = {"Activity": "Busy"} if busy else {"State": "Unclaimed"}
    return without_attributes(ad, _DRAIN_NAMES[busy]) | state


def _is_busy(ad: Ad) -> bool:
    return any(name.lower() == "state" and str(value).lower() in _BUSY for name, value in ad.items())


_BUSY = ("claimed", "preempting")
_DRAIN_NAMES = {True: ("draining", "activity"), False: ("draining", "state")}


_CLAIM_STATE = {
    name.lower(): name
    for name in (
        "State",
        "Activity",
        "EnteredCurrentState",
        "EnteredCurrentActivity",
        "PreemptingUser",
        "PreemptingOwner",
        "PreemptingAccountingGroup",
        "PreemptingRank",
        "PreemptingConcurrencyLimits",
        "RetirementTimeRemaining",
    )
}
"""Attributes of an imported slot's ad that are kept while its claim lasts."""

CLAIM_STATE = frozenset(_CLAIM_STATE)
"""The attributes, in lower case, that `claim_state_of` reads."""


def claim_state_of(ad: Ad, claim: Claim) -> Ad | None:
    """Return the attributes of an imported slot's *ad* that describe *claim* beyond its own data; None if none.

    The claim is of a job of the queue.
    """
    state = {_CLAIM_STATE[name.lower()]: value for name, value in ad.items() if name.lower() in _CLAIM_STATE}
    known = {name: ALWAYS[name](claim, claim.start_time) for name in state if name in ALWAYS}
    known |= claim.advertised or {}
    return {name: value for name, value in state.items() if name not in known or known[name] != value} or None


_CLAIM_ATTRIBUTES = frozenset(
    {
        "remoteuser",
        "remoteowner",
        "remotegroup",
        "remotenegotiatinggroup",
        "remoteautoregroup",
        "accountinggroup",
        "preemptinguser",
        "preemptingowner",
        "preemptingaccountinggroup",
        "preemptingrank",
        "concurrencylimits",
        "matchedconcurrencylimits",
        "preemptingconcurrencylimits",
        "retirementtimeremaining",
        "jobid",
        "globaljobid",
        "jobstart",
        "totaljobruntime",
        "clientmachine",
        "state",
        "activity",
        "currentrank",
        "enteredcurrentstate",
        "enteredcurrentactivity",
    }
)
"""What the ad of a slot loses, or gets anew, when its claim ends."""


def without_claim(ad: Ad, now: int) -> Ad:
    """Return an imported slot's ad after the end of its claim at *now*."""
    return without_attributes(ad, _CLAIM_ATTRIBUTES) | {
        "State": "Unclaimed",
        "Activity": "Idle",
        "CurrentRank": 0.0,
        "EnteredCurrentState": now,
        "EnteredCurrentActivity": now,
    }
