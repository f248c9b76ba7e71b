"""What a decision says of its stages, its candidates, and of a task that has no queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict

from fairq.engine.brokerage.flow.course import TEMPORARY_STAGE, UNDECIDED, StageCount
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
from fairq.steps.broker.kept_verdict import Kept, StoredReason


def stage_record(count: StageCount) -> dict[str, Any]:
    """Return a line of a stage table."""
    # Pseudo queues show a cut that removes no complete unified queue.
    cut = 100 * (1 - count.rows_after / count.rows_before) if count.rows_before else 0.0
    return {
        "stage": count.stage,
        "before": count.units_before,
        "after": count.units_after,
        "cut": cut,
        "pseudo_before": count.rows_before,
        "pseudo_after": count.rows_after,
        "marked": count.marked,
    }


def described(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate in the form of the JSON results."""
    return {name: value for name, value in asdict(candidate).items() if name != "unit"}


def nothing_left(one: Outcome | Kept, reasons: Sequence[StoredReason]) -> str:
    """Return why a task has no queue: the stage at which the last one fell, and the most frequent *reasons*."""
    if one.stopped_by:
        return one.stopped_by
    counts: Counter[str] = Counter()
    temporary = ""
    for reason, number in zip(reasons, np.bincount(one.decided[one.decided != UNDECIDED]).tolist(), strict=False):
        if number:
            counts[reason.tag] += number
            temporary = temporary if reason.permanent else reason.stage
    if not counts:
        return "there are no queues"
    found = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    most = ", ".join(f"{tag} {number}" for tag, number in found[:3])
    # Queues with temporary problems leave after the last filter.
    last = temporary if temporary and one.last_stage == TEMPORARY_STAGE else one.last_stage
    return f"none left after the {last}: {most}" if last else most
