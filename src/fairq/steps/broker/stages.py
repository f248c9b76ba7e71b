"""What a decision says of its stages, its candidates, and of a task that has no queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import asdict

from fairq.engine.brokerage.flow.course import TEMPORARY_STAGE, UNDECIDED, Course, StageCount
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
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


def described(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate in the form of the JSON results."""
    return {name: value for name, value in asdict(candidate).items() if name != "unit"}


def reason_of(outcome: Outcome) -> str:
    """Return why a task has no queue: the stage at which the last queue fell, and the most frequent reasons."""
    if outcome.stopped_by:
        return outcome.stopped_by
    counts: Counter[str] = Counter()
    temporary = []
    for entry, count in outcome.reason_counts():
        counts[entry.reason.tag] += count
        if not entry.reason.permanent:
            temporary.append(entry.stage)
    return nothing_left(counts, outcome.stages, temporary)


def reason_then(kept: Kept, reasons: Sequence[Sequence[Any]]) -> str:
    """Return `reason_of` a stored outcome; *reasons* are those of its run: stage, tag, meaning, permanent."""
    decided = [reasons[number] for number in sorted(kept.decided.tolist()) if number != UNDECIDED]
    temporary = [stage for stage, _, _, permanent in decided if not permanent]
    return kept.stopped_by or nothing_left(Counter(tag for _, tag, *_ in decided), kept.stages, temporary)


class Reasons:
    """`reason_of` for many tasks: production tasks whose queues went the same way have the same reason."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Course, str] = WeakKeyDictionary()

    def of(self, outcome: Outcome) -> str:
        """Return why a task has no queue."""
        course = outcome.course
        if course is None or course.stages != outcome.stages:
            return reason_of(outcome)
        found = self._known.get(course)
        if found is None:
            found = self._known[course] = reason_of(outcome)
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
