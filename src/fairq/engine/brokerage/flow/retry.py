"""The retry of a task without queues, and its end (docs/panda.md, Production weight)."""

from __future__ import annotations

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.activity import ANALYSIS, Activity
from fairq.engine.brokerage.pool.config import Config

MINUTE = 60.0


def retry_after(task: Task, activity: Activity, rules: Rules) -> float:
    """Return the seconds until the next try: 60 minutes; 20 minutes for analysis under the rules documented.

    Under the rules panda, it is 30 minutes from priority 900 and 10 from 950, if that is earlier.
    """
    minutes = 20 if activity == ANALYSIS and rules.retry_by_activity else 60
    if not rules.retry_by_priority:
        return minutes * MINUTE
    if task.current_priority >= 950:
        minutes = min(minutes, 10)
    elif task.current_priority >= 900:
        minutes = min(minutes, 30)
    return minutes * MINUTE


def is_exhausted(task: Task, now: float, config: Config) -> bool:
    """Return whether a task has had no queue for longer than ``PENDING_TIMEOUT``, so that it is exhausted."""
    limit = config.amount("watchdog.PENDING_TIMEOUT", task.label)
    return task.frozen_time is not None and now - task.frozen_time > limit * 3600
