"""Texts and records of a decision: its stages, its candidates, and why a task has no queue."""

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


def nothing_left(outcome: Outcome | Kept, reasons: Sequence[StoredReason]) -> str:
    """Return why a task has no queue: the stage at which the last one fell, and the most frequent *reasons*."""
    if outcome.stopped_by:
        return outcome.stopped_by
    counts: Counter[str] = Counter()
    temporary = ""
    numbers = np.bincount(outcome.decided[outcome.decided != UNDECIDED])
    for number in np.flatnonzero(numbers).tolist():
        reason = reasons[number]
        counts[reason.tag] += int(numbers[number])
        temporary = temporary if reason.permanent else reason.stage
    if not counts:
        return "there are no queues"
    most_frequent = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    reason_text = ", ".join(f"{tag} {number}" for tag, number in most_frequent[:3])
    # Queues with temporary problems leave after the last filter.
    last = temporary if temporary and outcome.last_stage == TEMPORARY_STAGE else outcome.last_stage
    return f"none left after the {last}: {reason_text}" if last else reason_text
