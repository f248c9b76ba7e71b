"""The findings about one idle job as plain data."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from enum import StrEnum
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.engine.explain.checks import JobCheck, PoolChecks, SlotCheck
from fairq.engine.explain.comparisons import plain
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, Reason
from fairq.engine.negotiation.decision import SubmitterDecision
from fairq.engine.quotas.record import GroupFigures

Document = dict[str, Any]

_NEVER_OFFERED = (Reason.EMPTY_POOL, Reason.SUBMITTER_CONSTRAINT, Reason.JOB_CONSTRAINT, Reason.SKIPPED)


def requirement_rows(checks: PoolChecks) -> list[Document]:
    """Return the job's clauses in order: slots allowed by each alone, slots left after it, and the nearest value.

    ``nearest`` is given if a clause leaves no slot: among the slots left before it, otherwise among all. ``undefined``
    and ``error`` count the slots with that value.
    """
    remaining = np.ones(len(checks.slots), np.bool_)
    rows = []
    for check in checks.of_job:
        passing = remaining & check.passes
        row: Document = {
            "clause": check.clause.text,
            "attribute": check.clause.attribute,
            "slots": int(np.count_nonzero(check.passes)),
            "left": int(np.count_nonzero(passing)),
        }
        row |= {kind: count for kind, count in (("undefined", check.undefined), ("error", check.error)) if count}
        if not passing.any() and remaining.any():
            row |= _nearest(check, checks, remaining if check.passes.any() else np.ones_like(remaining))
        rows.append(row)
        remaining = passing
    return rows


def _nearest(check: JobCheck, checks: PoolChecks, among: NDArray[np.bool_]) -> Document:
    if check.comparison is None or isinstance(check.compared_with, bool):
        return {}
    row: Document = {"compares": check.comparison.attribute, "wanted": check.compared_with}
    if isinstance(check.compared_with, str):
        texts = Counter(text for text in checks.values(check, np.flatnonzero(among)).texts() if text is not None)
        for text, count in texts.most_common(1):
            row |= {"nearest": text, "nearest_slots": count}
        return row
    values = checks.values(check).numbers[among]
    nearest = check.comparison.nearest(values, float(check.compared_with))
    if nearest is None:
        return row
    return row | {"nearest": plain(nearest), "nearest_slots": int(np.count_nonzero(values == nearest))}


def refusal_rows(checks: PoolChecks, accepted: NDArray[np.bool_]) -> list[Document]:
    """Return the slots' clauses that reject the job although it accepts the slots, those of most slots first."""
    rows = []
    for check in checks.of_slots:
        refusing = check.refusing[accepted[check.refusing]]
        if len(refusing):
            rows.append(_refusal(check, checks, refusing))
    return sorted(rows, key=lambda row: -row["slots"])


def _refusal(check: SlotCheck, checks: PoolChecks, refusing: NDArray[np.intp]) -> Document:
    row: Document = {
        "clause": check.clause.text,
        "attribute": check.clause.attribute,
        "slots": len(refusing),
    }
    if check.comparison is not None:
        bounds = checks.bounds(check, refusing)
        numbers = bounds.numbers
        if not np.isnan(numbers).all():
            easiest = np.nanargmin(numbers) if check.comparison.prefers_more else np.nanargmax(numbers)
            row["compares"] = check.comparison.attribute
            row["wanted"] = checks.job.get(check.comparison.attribute.lower())
            row["nearest"] = plain(bounds.python(int(easiest)))
    return row


def lost_rows(diagnosis: Diagnosis) -> list[Document]:
    """Return the number of slots that the job loses to each test, without tests that exclude none."""
    return [{"test": str(test), "slots": count} for test, count in diagnosis.lost.items() if count]


class Since(StrEnum):
    """Since when a user has suitable slots."""

    BEFORE = "before this cycle"
    NOW = "this cycle"


def user_rows(diagnosis: Diagnosis) -> list[Document]:
    """Return the users of the matching slots, from before the cycle or since, with their effective priorities."""
    accountant = diagnosis.outcome.input.accountant

    def rows(users: Counter[str], since: Since) -> list[Document]:
        return [
            {
                "user": name,
                "slots": count,
                "since": since,
                "effective_priority": accountant.effective_priority(name),
            }
            for name, count in users.most_common()
        ]

    return rows(diagnosis.used_by, Since.BEFORE) + rows(diagnosis.taken_by, Since.NOW)


def submitter_rows(outcome: Outcome, decisions: Iterable[SubmitterDecision]) -> list[Document]:
    """Return the entitlement, use and matches of each submitter, and the submitters of its group ahead of it."""
    names: dict[str, list[str]] = defaultdict(list)
    priorities: dict[str, list[float]] = defaultdict(list)
    for decision in sorted(outcome.decision.submitters, key=attrgetter("effective_priority")):
        if decision.idle:
            names[decision.group].append(decision.submitter)
            priorities[decision.group].append(decision.effective_priority)

    def ahead(decision: SubmitterDecision) -> list[str]:
        return names[decision.group][: bisect_left(priorities[decision.group], decision.effective_priority)]

    rows = [_submitter_row(decision, ahead(decision)) for decision in decisions]
    if outcome.decision.dominant is None:
        return rows
    dominant = outcome.decision.dominant.of_submitters
    return [{**row, "dominant": dominant.get(row["submitter"])} for row in rows]


def _submitter_row(decision: SubmitterDecision, ahead: list[str]) -> Document:
    return {
        "submitter": decision.submitter,
        "schedd": decision.schedd,
        "group": decision.group,
        "effective_priority": decision.effective_priority,
        "idle": decision.idle,
        "running": decision.running,
        "used": decision.used_before,
        "share": decision.share,
        "limit": decision.limit,
        "slices": decision.slices,
        "floor": decision.floor,
        "ceiling": decision.ceiling,
        "matched": decision.matched,
        "matched_weight": decision.matched_weight,
        "stopped": str(decision.stopped),
        "quota_group": decision.quota_group,
        "ahead": ahead,
    }


def group_rows(outcome: Outcome, group: str) -> list[Document]:
    """Return the quotas from *group* up to the root; empty without groups."""
    rows = []
    figures = outcome.quota_of(group)
    while figures is not None:
        rows.append(group_row(figures))
        figures = outcome.quota_of(figures.parent)
    return rows


def group_row(figures: GroupFigures) -> Document:
    """Return the figures of one group."""
    return {
        "group": figures.group,
        "quota": figures.quota,
        "subtree_quota": figures.subtree_quota,
        "requested": figures.requested,
        "allocated": figures.allocated,
        "surplus": figures.surplus,
        "accept_surplus": figures.accept_surplus,
        "used": figures.used_before,
        "used_after": figures.used_after,
        "subtree_used": figures.subtree_used,
    }


def queue_position(diagnosis: Diagnosis) -> Document:
    """Return the number of the submitter's idle jobs ahead and in total, and whether the job is offered."""
    ahead, total = (sum(map(len, jobs)) for jobs in (diagnosis.ahead, diagnosis.idle))
    return {
        "ahead": ahead,
        "idle": total,
        "matched": diagnosis.submitter.matched,
        "offered": diagnosis.reason not in _NEVER_OFFERED,
    }
