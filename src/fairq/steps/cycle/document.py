"""A decided cycle, and its form as plain data, as it is stored and as `negotiate --json` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from fairq.common.past import MatchRecord
from fairq.common.records import Claim
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.negotiation.decision import CycleDecision, Match
from fairq.engine.negotiation.rejections import Rejection, RejectReason

if TYPE_CHECKING:
    from fairq.columns.ads import AdTable
    from fairq.engine.accounting.leases import ExpiredLease
    from fairq.engine.classad.budget import Overrun
    from fairq.engine.explain.losses import ExplainedRejection
    from fairq.engine.negotiation.policy import NegotiationPolicy
    from fairq.engine.quotas.record import GroupTurn
    from fairq.steps.pool.dynamic_slots import CarvedSlot


class Cycle(Struct, frozen=True):
    """A decided cycle, with the names of its slots, jobs and dynamic slots.

    Args:
        number: of the cycle, counted from 1; a dry run shows the number that the cycle would have.
        decision: its matches and rejections.
        document: the same as plain data, without the matches (`cycle_document`).
        policy: the rules in force.
        slot_names: names of the slots by the index that matches use.
        victims: which of fairq's own jobs had the slots of preempting matches, by slot index.
        expired: leases that ended before the cycle.
        carved: the dynamic slots made for matches, by the matches' keys.
        explained: the rejections with the slots lost to each test, if requested.
        notes: sentences about the pool for the reader.
    """

    number: int
    decision: CycleDecision
    document: dict[str, Any]
    policy: NegotiationPolicy
    slot_names: Sequence[str]
    victims: dict[int, Claim]
    expired: Sequence[ExpiredLease]
    carved: dict[SlotKey, CarvedSlot]
    explained: Sequence[ExplainedRejection] | None = None
    notes: Sequence[str] = ()


def shared_slots(cycle: Cycle, ads: AdTable) -> list[str]:
    """Return notes on matches that get a whole partitionable slot, as the current negotiator makes them."""
    if cycle.policy.partitionable_slots != "whole":
        return []
    partitionable = _partitionable(ads)
    if not partitionable:
        return []
    matches = (match for match in cycle.decision.matches if match.key not in cycle.carved)
    rows = list(dict.fromkeys(match.slot for match in matches if match.slot in partitionable))
    if not rows:
        return []
    first = cycle.slot_names[rows[0]]
    if len(rows) == 1:
        return [f"{first} is partitionable: the schedd of the match may start several jobs on it"]
    others = len(rows) - 1
    return [f"{first} and {others} more are partitionable: the schedds of the matches may start several jobs on each"]


def _partitionable(ads: AdTable) -> set[int]:
    """Return the rows of the partitionable slots, read by column: a dict per slot would cost as much as its match."""
    spellings = [name for name in ads.names() if name.lower() == "partitionableslot"]
    if not spellings:
        return set()
    return {row for row, value in zip(ads.order(), ads.values(spellings, None), strict=True) if value is True}


def cycle_document(
    number: int, decision: CycleDecision, explained: Iterable[ExplainedRejection] | None = None
) -> dict[str, Any]:
    """Return the cycle without its matches, as it is stored and printed as JSON.

    *explained* are the rejections with the slots lost to each test; None if they were not requested.
    """
    document: dict[str, Any] = {
        "cycle": number,
        "time": decision.time,
        "rules": decision.rules,
        "pie": decision.pie,
        "slots": decision.slots,
        "candidates": decision.candidates,
        "min_slot_weight": decision.min_slot_weight,
        "spins": decision.spins,
        "submitters": [asdict(submitter) for submitter in decision.submitters],
        "rounds": decision.rounds,
        "groups": [turn_document(turn) for turn in decision.groups],
        "quotas": [asdict(figures) for figures in decision.quotas],
        "time_budgets_used_up": list(decision.time_budgets_used_up),
        "limits": [asdict(limit) for limit in decision.limits],
        "overruns": [overrun_document(exceeded) for exceeded in decision.overruns],
        "rejections": [_rejection(rejection) for rejection in decision.rejections],
        "dropped": [_job(match.cluster, match.proc) for match in decision.dropped],
    }
    if decision.dominant is not None:
        document["dominant"] = names = decision.dominant.of_submitters
        document["submitters"] = [
            {**submitter, "dominant": names.get(submitter["submitter"])} for submitter in document["submitters"]
        ]
    if explained is not None:
        document["explanation"] = [
            {**_rejection(explained_rejection.rejection), "lost": dict(explained_rejection.lost)}
            for explained_rejection in explained
        ]
    return document


def turn_document(turn: GroupTurn) -> dict[str, Any]:
    """Return one group's turn in a round of allocation."""
    from fairq.steps.quotas.sentences import skip_words

    return {**asdict(turn), "skipped": skip_words(turn)}


def rejection_words(rejection: Rejection) -> str:
    """Return the reason in the negotiator's wording, with the names of the concurrency limits."""
    if rejection.reason is RejectReason.CONCURRENCY_LIMIT and rejection.limits:
        return f"concurrency limit {', '.join(rejection.limits)} reached"
    return rejection.reason.value


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {
        "job": _job(*rejection.request),
        "submitter": rejection.submitter,
        "reason": rejection_words(rejection),
        "group": rejection.group,
        "quota_group": rejection.quota_group,
    }


def overrun_document(exceeded: Overrun) -> dict[str, Any]:
    """Return an expression that exceeded its budget, and so counted as ERROR for a number of slots (*errors*)."""
    return {
        "job": None if exceeded.payer.job is None else _job(*exceeded.payer.job),
        "submitter": exceeded.payer.submitter,
        "name": exceeded.culprit.name,
        "expression": exceeded.culprit.text,
        "of_slots": exceeded.culprit.of_slot,
        "limit": exceeded.limit,
        "seconds": exceeded.seconds,
        "errors": exceeded.errors,
    }


def match_documents(cycle: Cycle) -> list[dict[str, Any]]:
    """Return all matches in the order made, as `match_document`."""
    return [match_document(cycle, match) for match in cycle.decision.matches]


def match_document(cycle: Cycle, match: Match) -> dict[str, Any]:
    """Return one match as `negotiate --json` prints it.

    ``job`` is the job that runs, or under the rules of today's negotiator the first job of its request;
    ``assigned`` is always the job that runs.
    """
    assigned = _job(match.cluster, match.proc)
    preempted: dict[str, Any] | None = None
    if match.preempted is not None:
        evicted = [cycle.victims.get(row) for row in match.victims]
        preempted = _evicted(evicted[0], match.preempted)
        if len(evicted) > 1:
            preempted["others"] = [_evicted(claim, None) for claim in evicted[1:]]
        if match.makes_room:
            preempted["slots"] = [cycle.slot_names[row] for row in match.victims]
    document: dict[str, Any] = {
        "job": _job(*match.request) if cycle.policy.report_job == "request" else assigned,
        "assigned": assigned,
        "submitter": match.submitter,
        "slot": cycle.slot_names[match.slot],
        "group": match.group,
        "reason": match.reason,
        "preempted": preempted,
        "dynamic_slot": None if match.carving is None else cycle.carved[match.key].name,
    }
    if cycle.decision.dominant is not None:
        amounts = None if match.carving is None else match.carving.amounts
        document["dominant"] = cycle.decision.dominant.of_match(match.slot, amounts)
        document["weight"] = match.cost
    return document


def stored_match_document(match: MatchRecord) -> dict[str, Any]:
    """Return a stored match in the same form."""
    return {
        "assigned": _job(match.cluster, match.proc),
        "submitter": match.submitter,
        "slot": match.slot,
        "reason": match.reason,
        "preempted": None if match.preempted is None else {"submitter": match.preempted, "job": None},
    }


def _evicted(claim: Claim | None, submitter: str | None) -> dict[str, Any]:
    """Return a job that is preempted; a job of an imported pool has no number."""
    if claim is None:
        return {"submitter": submitter, "job": None}
    return {"submitter": claim.submitter, "job": _job(claim.cluster or 0, claim.proc or 0)}


def _job(cluster: int, proc: int) -> str:
    return f"{cluster}.{proc}"
