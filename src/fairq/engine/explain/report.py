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
    """The job's clauses in order: slots allowed by each alone, slots left after it, and the nearest value.

    ``nearest`` is given if a clause leaves no slot: among the slots left before it, otherwise among all. ``undefined``
    and ``error`` count the slots with that value.
    """
    left = np.ones(len(checks.slots), np.bool_)
    rows = []
    for check in checks.of_job:
        after = left & check.passes
        row: Document = {
            "clause": check.clause.text,
            "attribute": check.clause.attribute,
            "slots": int(np.count_nonzero(check.passes)),
            "left": int(np.count_nonzero(after)),
        }
        row |= {kind: count for kind, count in (("undefined", check.undefined), ("error", check.error)) if count}
        if not after.any() and left.any():
            row |= _nearest(check, checks, left if check.passes.any() else np.ones_like(left))
        rows.append(row)
        left = after
    return rows


def _nearest(check: JobCheck, checks: PoolChecks, among: NDArray[np.bool_]) -> Document:
    if check.comparison is None or isinstance(check.wanted, bool):
        return {}
    name = check.comparison.attribute
    if isinstance(check.wanted, str):
        counts = checks.text_values(check, np.flatnonzero(among))
        if not counts:
            return {"compares": name, "wanted": check.wanted}
        value, having = max(counts.items(), key=lambda item: item[1])
        return {"compares": name, "wanted": check.wanted, "nearest": value, "nearest_slots": having}
    values = checks.values(check)[among]
    nearest = check.comparison.nearest(values, float(check.wanted))
    if nearest is None:
        return {"compares": name, "wanted": check.wanted}
    having = int(np.count_nonzero(values == nearest))
    return {"compares": name, "wanted": check.wanted, "nearest": plain(nearest), "nearest_slots": having}


def refusal_rows(checks: PoolChecks, accepted: NDArray[np.bool_]) -> list[Document]:
    """The slots' clauses that reject the job although it accepts the slots, those of most slots first."""
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
        easiest = checks.easiest_bound(check, refusing)
        if easiest is not None:
            row["compares"] = check.comparison.attribute
            row["wanted"] = checks.job.get(check.comparison.attribute.lower())
            row["nearest"] = easiest
    return row


def lost_rows(of: Diagnosis) -> list[Document]:
    """Number of slots that the job loses to each test; tests without a loss are left out."""
    return [{"test": str(test), "slots": count} for test, count in of.lost.items() if count]


class Since(StrEnum):
    """Since when somebody has suitable slots."""

    BEFORE = "before this cycle"
    NOW = "this cycle"


def user_rows(of: Diagnosis) -> list[Document]:
    """The users of the matching slots, from before the cycle or since, with their effective priorities."""
    accountant = of.outcome.given.accountant

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

    return rows(of.used_by, Since.BEFORE) + rows(of.taken_by, Since.NOW)


def submitter_rows(outcome: Outcome, wanted: Iterable[SubmitterDecision]) -> list[Document]:
    """The entitlement, use and matches of each of these submitters, and those of its group before it."""
    names: dict[str, list[str]] = defaultdict(list)
    priorities: dict[str, list[float]] = defaultdict(list)
    for each in sorted(outcome.decision.submitters, key=attrgetter("effective_priority")):
        if each.idle:
            names[each.group].append(each.submitter)
            priorities[each.group].append(each.effective_priority)

    def ahead(of: SubmitterDecision) -> list[str]:
        return names[of.group][: bisect_left(priorities[of.group], of.effective_priority)]

    rows = [_submitter_row(found, ahead(found)) for found in wanted]
    if outcome.decision.dominant is None:
        return rows
    dominant = outcome.decision.dominant.of_submitters
    return [{**row, "dominant": dominant.get(row["submitter"])} for row in rows]


def _submitter_row(found: SubmitterDecision, ahead: list[str]) -> Document:
    return {
        "submitter": found.submitter,
        "schedd": found.schedd,
        "group": found.group,
        "effective_priority": found.effective_priority,
        "idle": found.idle,
        "running": found.running,
        "used": found.used_before,
        "share": found.share,
        "limit": found.limit,
        "slices": found.slices,
        "floor": found.floor,
        "ceiling": found.ceiling,
        "matched": found.matched,
        "matched_weight": found.matched_weight,
        "stopped": str(found.stopped),
        "quota_group": found.quota_group,
        "ahead": ahead,
    }


def group_rows(outcome: Outcome, group: str) -> list[Document]:
    """The quotas from *group* up to the root; empty without groups."""
    rows = []
    found = outcome.quota_of(group)
    while found is not None:
        rows.append(group_row(found))
        found = outcome.quota_of(found.parent)
    return rows


def group_row(of: GroupFigures) -> Document:
    """The figures of one group."""
    return {
        "group": of.group,
        "quota": of.quota,
        "subtree_quota": of.subtree_quota,
        "requested": of.requested,
        "allocated": of.allocated,
        "surplus": of.surplus,
        "accept_surplus": of.accept_surplus,
        "used": of.used_before,
        "used_after": of.used_after,
        "subtree_used": of.subtree_used,
    }


def place_in_queue(of: Diagnosis) -> Document:
    """Number of the submitter's idle jobs before the job and in total, and whether the job is offered."""
    ahead, total = (sum(map(len, jobs)) for jobs in (of.ahead, of.idle))
    return {"ahead": ahead, "idle": total, "matched": of.submitter.matched, "offered": of.reason not in _NEVER_OFFERED}
