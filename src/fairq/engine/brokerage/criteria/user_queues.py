"""The number of waiting jobs that a user may have at a queue (docs/panda.md, Analysis)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.criteria.jobs import start_rate
from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.pool.columns import Booleans, Columns, Floats
from fairq.engine.brokerage.pool.names import user_of
from fairq.engine.brokerage.pool.world import UserJobs

TOTAL = "_total"
"""The row of all users in a queue's table."""


class UserQueues(NamedTuple):
    """A user's jobs at each row.

    Args:
        known: numbers of the user were imported.
        queued, running: the user's jobs.
        limit: those that may be queued.
    """

    known: Booleans
    queued: Floats
    running: Floats
    limit: Floats

    @property
    def remaining(self) -> Floats:
        """Jobs that may yet be queued."""
        return np.maximum(self.limit - self.queued, 0)


class _Table(NamedTuple):
    """The tables of a share: by unit, its rows and all running jobs (NaN: unknown); by user, their jobs."""

    rows: Floats
    running: Floats
    users: dict[str, list[tuple[int, UserJobs]]]


def _table(columns: Columns, share: str) -> _Table:
    rows, running = np.ones(len(columns.unit_names)), np.full(len(columns.unit_names), np.nan)
    users: dict[str, list[tuple[int, UserJobs]]] = {}
    for name, shares in columns.world.user_stats.items():
        there, unit = shares.get(share), columns.unit_numbers.get(name)
        if there is None or unit is None:
            continue
        # PanDA counts the row of all users as one more.
        rows[unit] = max(1, len(there))
        if TOTAL in there:
            running[unit] = there[TOTAL].running
        for user, jobs in there.items():
            users.setdefault(user, []).append((unit, jobs))
    return _Table(rows[columns.unit_of], running[columns.unit_of], users)


@once_per_task
def user_queues(ask: Ask) -> UserQueues:
    """Return the jobs of the task's user, also for tasks of a working group."""
    pool, share, config = ask.pool, ask.task.gshare or "", ask.config
    table = pool.kept(("users", share), lambda: _table(pool, share))
    own = np.zeros((3, len(pool.unit_names)))
    for unit, jobs in table.users.get(user_of(ask.task.user or ""), ()):
        own[:, unit] = 1, jobs.queued, jobs.running
    known, own_queued, own_running = own[:, pool.unit_of]
    run = np.where(np.isnan(table.running), pool.job_counts(ask.task.gshare, "running"), table.running)

    def setting(name: str) -> float:
        return config.amount(f"anal_jobbroker.{name}")

    most = np.maximum(
        np.maximum(setting("BASE_QUEUE_LENGTH_PER_PQ"), setting("STATIC_MAX_QUEUE_RUNNING_RATIO") * run),
        setting("MAX_EXPECTED_WAIT_HOUR") * start_rate(pool, ask.task.gshare),
    )
    part = np.divide(own_running, run, out=np.zeros(len(run)), where=run > 0)
    limit = np.maximum(
        np.maximum(setting("BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER"), setting("BASE_QUEUE_RATIO_ON_PQ") * run),
        most * np.maximum(1 / table.rows, part),
    )
    return UserQueues(known > 0, own_queued, own_running, limit)
