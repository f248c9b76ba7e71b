"""How many jobs a user may have waiting at a queue (reference panda 5.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.analysis.numbers import running, start_rate
from fairq.engine.brokerage.columns import Booleans, Floats
from fairq.engine.brokerage.names import user_of
from fairq.engine.brokerage.question import Question

TOTAL = "_total"
"""The row of all users in a queue's table."""

_KEY = "user queues"


class UserQueues(NamedTuple):
    """A user's jobs at each row.

    Args:
        known: there are numbers of the user.
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


def user_queues(question: Question) -> UserQueues:
    """Return the jobs of the task's user, also for tasks of a working group."""
    if _KEY not in question.notes:
        key = (_KEY, question.task.gshare, question.task.user)
        question.notes[_KEY] = question.columns.kept(key, lambda: _user_queues(question))
    found = question.notes[_KEY]
    assert isinstance(found, UserQueues)
    return found


def _user_queues(question: Question) -> UserQueues:
    columns, share, user = question.columns, question.task.gshare or "", user_of(question.task.user or "")
    table = np.zeros((5, len(columns.unit_names)))
    table[3] = 1
    table[4] = np.nan
    for name, shares in question.world.user_stats.items():
        users = shares.get(share)
        unit = columns.unit_numbers.get(name)
        if users is None or unit is None:
            continue
        # PanDA counts the row of all users as one more.
        table[3, unit] = max(1, len(users))
        if TOTAL in users:
            table[4, unit] = users[TOTAL].running
        if user in users:
            table[:3, unit] = 1, users[user].queued, users[user].running
    known, own_queued, own_running, users_there, total = table[:, columns.unit_of]
    run = np.where(np.isnan(total), running(question), total)
    config = question.config

    def setting(name: str) -> float:
        return config.amount(f"anal_jobbroker.{name}")

    most = np.maximum(
        np.maximum(setting("BASE_QUEUE_LENGTH_PER_PQ"), setting("STATIC_MAX_QUEUE_RUNNING_RATIO") * run),
        setting("MAX_EXPECTED_WAIT_HOUR") * start_rate(question),
    )
    part = np.divide(own_running, run, out=np.zeros(len(run)), where=run > 0)
    limit = np.maximum(
        np.maximum(setting("BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER"), setting("BASE_QUEUE_RATIO_ON_PQ") * run),
        most * np.maximum(1 / users_there, part),
    )
    return UserQueues(known > 0, own_queued, own_running, limit)
