"""One job and one slot: both sides clause by clause, the ranks of the slot, and the reason for no match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.common.records import Ad, JobRange
from fairq.engine.classad import ERROR, UNDEFINED, AdColumns, evaluate_scalar, expression_of
from fairq.engine.explain.clauses import Clause, clauses_of
from fairq.engine.explain.diagnosis import Outcome
from fairq.engine.explain.losses import TESTS

Document = dict[str, Any]


def explain_pair(outcome: Outcome, job: JobRange, row: int, slot_ad: Ad) -> Document:
    """Return the clauses of both sides with their values, the rank keys, and the first test that the slot fails.

    ``positions`` counts from 1, among the matching slots.
    """
    cycle_input = outcome.input
    context = outcome.cycle.examine(job)
    standing = outcome.standing
    job_ad, lower_slot_ad = context.ad(), {name.lower(): value for name, value in slot_ad.items()}
    if cycle_input.policy.rules == "htcondor" and "negotiatorrequirements" in lower_slot_ad:
        lower_slot_ad["requirements"] = lower_slot_ad["negotiatorrequirements"]
    losses = outcome.observer.losses(context, standing)
    positions = standing.positions(context)
    suitable = standing.tests(context).suitable
    match = outcome.match_of(job)
    is_matched_here = match is not None and match.slot == row
    return {
        "slot": outcome.labels[row],
        "holder": outcome.observer.holders[row],
        "clauses": [
            *(_row("job", clause, job_ad, lower_slot_ad, cycle_input.pool.ads) for clause in clauses_of(job_ad)),
            *(
                _row("slot", clause, lower_slot_ad, job_ad, cycle_input.pool.ads)
                for clause in clauses_of(lower_slot_ad)
            ),
        ],
        "ranks": _ranks(outcome, job_ad, lower_slot_ad),
        "suitable": bool(suitable[row]),
        "place": int((positions[suitable] < positions[row]).sum()) + 1 if suitable[row] else None,
        "lost_to": None if is_matched_here else str(TESTS[losses.codes[row]]),
    }


def _row(side: str, clause: Clause, my: Mapping[str, Any], target: Mapping[str, Any], slots: AdColumns) -> Document:
    value = evaluate_scalar(clause.expression, my, target, slots.now, slots.budget)
    passes = isinstance(value, bool | int | float) and bool(value)
    return {
        "side": side,
        "clause": clause.text,
        "attribute": clause.attribute,
        "value": _plain(value),
        "passes": passes,
    }


def _ranks(outcome: Outcome, job_ad: Ad, slot: Ad) -> list[Document]:
    """Return the sort keys of candidates in order; higher is better."""
    policy, slots = outcome.input.policy, outcome.input.pool.ads
    rank = expression_of(job_ad.get("rank", 0))
    keys = [
        ("negotiator_pre_job_rank", policy.pre_job_rank, slot, job_ad),
        *([] if policy.ignore_job_ranks else [("job rank", rank, job_ad, slot)]),
        ("negotiator_post_job_rank", policy.post_job_rank, slot, job_ad),
        ("preemption_rank", policy.preemption_rank, slot, job_ad),
        ("machine rank", expression_of(slot.get("rank", 0)), slot, job_ad),
        ("machine's current rank", expression_of(slot.get("currentrank", 0)), slot, job_ad),
    ]
    return [
        {"rank": name, "value": _plain(evaluate_scalar(expression, my, target, slots.now, slots.budget))}
        for name, expression, my, target in keys
    ]


def _plain(value: Any) -> Any:
    if value is UNDEFINED:
        return "undefined"
    return "error" if value is ERROR else value if isinstance(value, bool | int | float | str) else str(value)
