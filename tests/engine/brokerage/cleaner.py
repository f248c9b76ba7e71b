"""Jobs and queues for the tests of timeouts: ages in hours instead of times."""

from __future__ import annotations

from typing import Any

from tests.broker_rules import DOCUMENTED

from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.timeouts.job import JobQueue, PandaJob
from fairq.engine.brokerage.timeouts.overdue import Timeout, timeouts
from fairq.engine.brokerage.timeouts.table import TimeoutPolicy

NOW = 2_000_000_000.0

QUEUES = {
    name: JobQueue(name, **fields)
    for name, fields in {
        "Q": {"status": "online", "workflow": "pull_ups", "last_start": NOW - 60},
        "PAUSED": {"status": "paused"},
        "STAY": {"status": "online", "disable_reassign": True, "last_start": NOW - 9 * 3600},
        "IDLE": {"status": "online", "last_start": NOW - 2.1 * 3600},
        "UNSEEN": {"status": "online"},
        "OFF": {"status": "offline"},
        "PUSH": {"status": "online", "workflow": "push"},
        "SLOW": {"status": "online", "transfer_days_high": 3.0, "transfer_days_low": 9.0},
        "SLOTS": {"status": "online", "has_slots": True},
    }.items()
}


def job(status: str, *, number: int = 1, queue: str = "Q", **fields: Any) -> PandaJob:
    """Return a job; ``created=5`` and the like are ages in hours, all of them *age* if that is given."""
    times = ("created", "modified", "changed", "activated", "started", "ended")
    age = fields.pop("age", None)
    hours = {name: fields.pop(name, age) for name in times}
    seconds = {name: None if hour is None else NOW - hour * 3600 for name, hour in hours.items()}
    return PandaJob(number, status, queue, **fields, **seconds)


def decided(*jobs: PandaJob, rules: Rules = DOCUMENTED, config: dict[str, Any] | None = None) -> list[Timeout]:
    """Return what becomes of *jobs*, those exempt included."""
    return timeouts(jobs, QUEUES, TimeoutPolicy.of(config or {}, rules), NOW)


def row_of(panda_job: PandaJob, **options: Any) -> str | None:
    """Return the row that decides about a job; None: nothing happens to it."""
    rows = [timeout.row for timeout in decided(panda_job, **options) if not timeout.exempt]
    return rows[0] if rows else None
