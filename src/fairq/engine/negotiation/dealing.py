"""Divides one pie: first for submitters below their floors, then for all."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.pie import Pie
from fairq.engine.negotiation.pie_rules import PieQuota, PieRules
from fairq.engine.negotiation.submitter_turn import SubmitterTurn


def deal_pie(ledger: Ledger, submitters: Sequence[SubmitterTurn], quota: PieQuota | None = None) -> list[SubmitterTurn]:
    """Serve submitters below their floors, then divide a pie; return those who still want more."""
    rules = pie_rules(ledger, quota or PieQuota())
    below = [of for of in submitters if 0 < of.decision.floor > ledger.weighted_used(of.name)]
    if below:
        _deal(ledger, replace(rules, floor_round=True), below)
    return _deal(ledger, rules, submitters)


def _deal(ledger: Ledger, rules: PieRules, submitters: Sequence[SubmitterTurn]) -> list[SubmitterTurn]:
    pie = Pie(ledger, rules, submitters)
    pie.deal()
    ledger.decision.spins += pie.spins
    return pie.submitters


def pie_rules(ledger: Ledger, quota: PieQuota) -> PieRules:
    """Return the rules of a pie within a *quota*."""
    policy = ledger.policy
    return PieRules(
        total=ledger.decision.pie,
        min_slot_weight=ledger.decision.min_slot_weight,
        consider_preemption=policy.consider_preemption,
        ignore_user_priorities=policy.ignore_user_priorities,
        floor_counts_usage=policy.floor_counts_usage,
        preempt_only_to_share=policy.preempt_only_to_share,
        pie_slices=policy.pie_slices,
        last_dealing=policy.last_dealing,
        quota=quota,
    )
