"""A slot's current ad: the advertised ad, overlaid with fairq's own claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import compress
from typing import Any

from fairq.columns.ads import AdTable, Part, Repeated, repeated
from fairq.columns.slots import AlikeSlots, SlotCollector, SlotTable
from fairq.common.expression_form import without_attributes
from fairq.common.records import Ad, Claim

_Values = Callable[[Sequence[Claim], int], Sequence[Any]]
"""Returns the values that claims give to an attribute, one for each."""


def _users(claims: Sequence[Claim], now: int) -> Sequence[Any]:
    return [claim.submitter for claim in claims]


def _starts(claims: Sequence[Claim], now: int) -> Sequence[Any]:
    return [claim.start_time for claim in claims]


ALWAYS: Mapping[str, _Values] = {
    "State": lambda claims, now: ("Claimed",) * len(claims),
    "Activity": lambda claims, now: ("Busy",) * len(claims),
    "RemoteUser": _users,
    "RemoteOwner": _users,
    "AccountingGroup": _users,
    "JobId": lambda claims, now: [f"{claim.cluster}.{claim.proc}" for claim in claims],
    "CurrentRank": lambda claims, now: [claim.current_rank for claim in claims],
    "JobStart": _starts,
    "TotalJobRunTime": lambda claims, now: [max(0, now - claim.start_time) for claim in claims],
    "EnteredCurrentState": _starts,
    "EnteredCurrentActivity": _starts,
}
IF_KNOWN: Mapping[str, _Values] = {
    "ConcurrencyLimits": lambda claims, now: [claim.concurrency_limits for claim in claims],
    "RemoteNegotiatingGroup": lambda claims, now: [claim.negotiating_group for claim in claims],
    "RemoteAutoregroup": lambda claims, now: [claim.autoregroup for claim in claims],
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
    over: Ad = {name: values_of([claim], now)[0] for name, values_of in ALWAYS.items()}
    over |= {name: value for name, values_of in IF_KNOWN.items() if (value := values_of([claim], now)[0]) is not None}
    over |= claim.advertised or {}
    names = {name.lower() for name in over}
    return without_attributes(ad, names) | over


def with_claims(ads: AdTable, claims: Mapping[int, Claim], now: int) -> AdTable:
    """Return *ads* overlaid with *claims* (by row), with the result of `with_claim` but column by column.

    All claims are of jobs of fairq's queue, and their *advertised* is empty.
    """
    result = AdTable()
    for part in ads.parts:
        laid = [claims.get(row) for row in part.rows]
        groups: dict[tuple[bool, ...] | None, list[int]] = {}
        free = [number for number, claim in enumerate(laid) if claim is None]
        if free:
            groups[None] = free
        held = [(number, claim) for number, claim in enumerate(laid) if claim is not None]
        known = [
            [value is not None for value in values_of([claim for _, claim in held], now)]
            for values_of in IF_KNOWN.values()
        ]
        for (number, _), of_claim in zip(held, zip(*known, strict=True), strict=True):
            groups.setdefault(of_claim, []).append(number)
        for of_group, places in groups.items():
            overlaid = () if of_group is None else (*ALWAYS, *compress(IF_KNOWN, of_group))
            rows = part.rows if len(places) == len(part.rows) else [part.rows[number] for number in places]
            of_rows = [claims[row] for row in rows] if overlaid else []
            # Several attributes tell the same, and share one column.
            columns = {values_of: tuple(values_of(of_rows, now)) for values_of in {_OF[name] for name in overlaid}}
            lower = {name.lower() for name in overlaid}
            left = [at for at, name in enumerate(part.names) if name.lower() not in lower]
            names = (*(part.names[at] for at in left), *overlaid)
            over = [columns[_OF[name]] for name in overlaid]
            result.put_columns(names, rows, [*(part.column_at(at, places) for at in left), *over])
    return result


_OF = {**ALWAYS, **IF_KNOWN}


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
    known = {name: ALWAYS[name]([claim], claim.start_time)[0] for name in state if name in ALWAYS}
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
    }
)


def without_claim(ad: Ad, now: int) -> Ad:
    """Return an imported slot's ad after the end of its claim at *now*."""
    state = {name: values_of([now])[0] for name, values_of in _FREE.items()}
    return without_attributes(ad, _GONE) | state


def without_claims(slots: SlotTable, ends: Mapping[int, int]) -> SlotTable:
    """Return *slots* with the result of `without_claim` for the rows in *ends*, but column by column."""
    collector = SlotCollector()
    first = 0
    for ads in slots.ads:
        parts: list[AlikeSlots] = []
        for part in ads.parts:
            times = [ends.get(first + row) for row in part.rows]
            held = [number for number, time in enumerate(times) if time is None]
            if held:
                parts.append(_alike(part, held, part.names, {}))
            if len(held) < len(times):
                free = [number for number, time in enumerate(times) if time is not None]
                left = [name for name in part.names if name.lower() not in _GONE]
                of_free = [time for time in times if time is not None]
                parts.append(_alike(part, free, left, {name: values_of(of_free) for name, values_of in _FREE.items()}))
        here = slice(first, first + len(ads))
        collector.add_by_shape(slots.names[here], slots.addresses[here], slots.draining[here], parts)
        first += len(ads)
    return collector.table()


def _alike(part: Part, places: Sequence[int], left: Collection[str], more: Mapping[str, Sequence[Any]]) -> AlikeSlots:
    """Return the ads of *part* at *places*, with the attributes *left* of theirs and those of *more*."""
    columns: dict[str, Sequence[Any]] = {
        name: part.column_at(at, places) for at, name in enumerate(part.names) if name in left
    }
    columns |= more
    varying = {name: column for name, column in columns.items() if not isinstance(column, Repeated)}
    return AlikeSlots({name: column[0] for name, column in columns.items()}, varying, [part.rows[at] for at in places])


_FREE: Mapping[str, Callable[[Sequence[int]], Sequence[Any]]] = {
    "State": lambda times: repeated("Unclaimed", len(times)),
    "Activity": lambda times: repeated("Idle", len(times)),
    "CurrentRank": lambda times: (0.0,) * len(times),
    "EnteredCurrentState": lambda times: times,
    "EnteredCurrentActivity": lambda times: times,
}
"""The attributes of slots whose claims ended at certain times."""

_GONE = _CLAIM_ATTRIBUTES | {name.lower() for name in _FREE}
"""What such a slot's ad has no more, or anew."""
