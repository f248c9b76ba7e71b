"""A slot's current ad: the advertised ad, overlaid with fairq's own claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from fairq.ad_table import AdTable, Part, picked
from fairq.records import Ad, Claim

_Told = Callable[[Claim, int], Any]

_ALWAYS: Mapping[str, _Told] = {
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
_IF_KNOWN: Mapping[str, _Told] = {
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
    over: Ad = {name: of(claim, now) for name, of in _ALWAYS.items()}
    over |= {name: value for name, of in _IF_KNOWN.items() if (value := of(claim, now)) is not None}
    over |= claim.advertised or {}
    names = {name.lower() for name in over}
    return {name: value for name, value in ad.items() if name.lower() not in names} | over


def with_claims(ads: AdTable, claims: Mapping[int, Claim], now: int) -> AdTable:
    """Return *ads* overlaid with *claims* (by row), with the result of `with_claim` but column by column.

    All claims are of jobs of fairq's queue, and their *advertised* is empty.
    """
    result = AdTable()
    optional = tuple(_IF_KNOWN.values())
    for part in ads.parts:
        groups: dict[tuple[bool, ...] | None, list[int]] = {}
        for place, row in enumerate(part.rows):
            claim = claims.get(row)
            known = None if claim is None else tuple([of(claim, now) is not None for of in optional])
            groups.setdefault(known, []).append(place)
        for known, places in groups.items():
            told = () if known is None else (*_ALWAYS, *compress(_IF_KNOWN, known))
            rows = part.rows if len(places) == len(part.rows) else [part.rows[place] for place in places]
            laid = [claims[row] for row in rows] if told else []
            over = [tuple([_OF[name](claim, now) for claim in laid]) for name in told]
            lower = {name.lower() for name in told}
            left = [at for at, name in enumerate(part.names) if name.lower() not in lower]
            names = (*(part.names[at] for at in left), *told)
            result.put_columns(names, rows, [*(_of_places(part, at, places) for at in left), *over])
    return result


_OF = {**_ALWAYS, **_IF_KNOWN}


def _of_places(part: Part, at: int, places: Sequence[int]) -> tuple[Any, ...]:
    """The values of a column of *part* at *places*."""
    column = part.columns[at]
    return column if len(places) == len(column) else picked(column, places)


_TOLD = {
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


def told_of(ad: Ad, claim: Claim) -> Ad | None:
    """Return the attributes of an imported slot's *ad* that describe *claim* beyond its own data; None if none."""
    told = {_TOLD[name.lower()]: value for name, value in ad.items() if name.lower() in _TOLD}
    known = with_claim({}, claim, claim.start_time)
    return {name: value for name, value in told.items() if name not in known or known[name] != value} or None


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
    }
)


def without_claim(ad: Ad, now: int) -> Ad:
    """Return an imported slot's ad after the end of its claim at *now*."""
    state = {
        "State": "Unclaimed",
        "Activity": "Idle",
        "CurrentRank": 0.0,
        "EnteredCurrentState": now,
        "EnteredCurrentActivity": now,
    }
    gone = _CLAIM_ATTRIBUTES | {name.lower() for name in state}
    return {name: value for name, value in ad.items() if name.lower() not in gone} | state
