"""What a decision says of its stages, and of a task that has no queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fairq.engine.brokerage.flow.course import TEMPORARY_STAGE, Course, StageCount
from fairq.engine.brokerage.flow.outcome import UNDECIDED, Outcome
from fairq.steps.broker.kept_verdict import Kept


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


def reason_of(outcome: Outcome) -> str:
    """Return why a task has no queue: the stage at which the last queue fell, and the most frequent reasons."""
    if outcome.stopped_by:
        return outcome.stopped_by
    counts: dict[str, int] = {}
    for entry, count in outcome.reason_counts():
        tag = entry.reason.tag
        counts[tag] = counts.get(tag, 0) + count
    temporary = (one.number for one in outcome.refusals if not one.permanent)
    return nothing_left(counts, outcome.stages, [outcome.plan.reasons[number].stage for number in sorted(temporary)])


def reason_then(kept: Kept, reasons: Sequence[Sequence[Any]]) -> str:
    """Return `reason_of` a stored outcome; *reasons* are those of its run: stage, tag, meaning, permanent."""
    decided = [reasons[number] for number in sorted(kept.decided.tolist()) if number != UNDECIDED]
    temporary = [stage for stage, _, _, permanent in decided if not permanent]
    return kept.stopped_by or nothing_left(Counter(tag for _, tag, *_ in decided), kept.stages, temporary)


class Reasons:
    """`reason_of` for many tasks: those whose queues went the same way have the same reason."""

    def __init__(self) -> None:
        self._known: dict[Course, str] = {}

    def of(self, outcome: Outcome) -> str:
        """Return why a task has no queue."""
        shared = outcome.shared
        if outcome.stopped_by or shared is None or outcome.stages is not shared.stages:
            return reason_of(outcome)
        found = self._known.get(shared)
        if found is None:
            found = self._known[shared] = reason_of(outcome)
        return found


def nothing_left(counts: Mapping[str, int], stages: Sequence[StageCount], temporary: Sequence[str]) -> str:
    """Return why no queue is left, from the number of refusals by reason and the stage table.

    *temporary* are the stages that refused queues temporarily, in order: such queues leave after the last filter.
    """
    if not counts:
        return "there are no queues"
    found = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    most = ", ".join(f"{tag} {number}" for tag, number in found[:3])
    if not stages:
        return most
    last = stages[-1].stage
    return f"none left after the {temporary[-1] if temporary and last == TEMPORARY_STAGE else last}: {most}"
