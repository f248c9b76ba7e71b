"""The decision of the other set of DIRAC's rules about a task queue and a pilot, by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.errors.shares import UnknownTaskQueueError
from fairq.settings.key import DIRAC
from fairq.steps.rule_comparison import Steps, compare_rules
from fairq.steps.taskqueues.pilots import Pilot
from fairq.steps.taskqueues.why import WhyNot, why_not

if TYPE_CHECKING:
    from fairq.settings import Settings

MOST_QUEUES = 1_000
"""Maximum number of task queues for which single rule points are tried."""


def compared(path: Path, settings: Settings, pilot: Pilot, target: int | tuple[int, int], now: int) -> dict[str, Any]:
    """Return both rule sets' decisions about the queue or job *target* and *pilot* (see `compare_rules`).

    The decision is whether the queue is offered, and its chance to be drawn first.

    Raises the errors of `why_not`.
    """

    def decide(under: Settings) -> Steps:
        try:
            return _steps(why_not(path, under, pilot, target, now))
        except UnknownTaskQueueError:  # the other rules form other queues
            return dict.fromkeys(_STEPS) | {"decision": "no such task queue"}

    few = why_not(path, settings, pilot, target, now).queues <= MOST_QUEUES
    return compare_rules(settings, DIRAC, decide, try_points=few)


_STEPS = ("task queue", "task queues", "conditions that fail", "task queues that match", "priority", "decision")


def _steps(found: WhyNot) -> Steps:
    failing = ", ".join(failure.condition for failure in found.failures)
    priority = None if found.priority is None else round(found.priority, 4)
    if found.queue is None:
        decision = found.reason
    elif failing:
        decision = "not offered"
    else:
        decision = "offered" if found.chance is None else f"offered, chance {found.chance:.1%}"
    return dict(zip(_STEPS, (found.queue, found.queues, failing, found.matching, priority, decision), strict=True))
