"""Task queues as they live: jobs come and go, and priorities are set when DIRAC sets them (reference dirac 2.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairq.engine.shares.corrections import Corrections
from fairq.engine.shares.corrector import Reports
from fairq.engine.shares.forming import CAPACITY, Former
from fairq.engine.shares.model import Group, Requirements, TaskQueue
from fairq.engine.shares.pools import count_rows
from fairq.engine.shares.recalculation import Recalculation, Share, set_priorities, share_groups
from fairq.engine.shares.rules import Rules
from fairq.engine.shares.user_priority import in_sum, inserted_priority
from fairq.engine.shares.written import as_written

NEW_PRIORITY = 1.0
"""What a queue has until its priority is set."""


@dataclass
class Row:
    """One task queue: what it asks for, its jobs' UserPriorities, its priority, and the text it was last set with."""

    requirements: Requirements
    jobs: dict[int, int] = field(default_factory=dict)
    priority: float = NEW_PRIORITY
    written: str | None = None


class QueueTable:
    """The task queues of one process that inserts jobs, removes them and recalculates.

    A new queue, or the removal of an emptied one, sets the priorities of its owner (or of the whole group, if
    the number of owners may have changed); a job that joins or leaves a queue sets nothing before the next full
    pass.

    Attributes:
        rows: the queues by number.
    """

    def __init__(
        self,
        groups: Mapping[str, Group],
        rules: Rules,
        corrections: Corrections | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        """No queues; *corrections*: the correctors, if corrections are enabled."""
        self.rows: dict[int, Row] = {}
        self._groups, self._rules, self._corrections = groups, rules, corrections
        self._former = Former({}, capacity)
        self._queue_of: dict[int, int] = {}
        first = {name: Share(group.share, (), group.share) for name, group in groups.items()}
        self._shares: Mapping[str, Share] = first if rules.insertion_shares == "configured" else {}

    @property
    def group_shares(self) -> dict[str, float]:
        """The share of every configured group since the last full pass."""
        return {name: one.share for name, one in self._shares.items()}

    def insert(self, job: int, requirements: Requirements, user_priority: float | str) -> int:
        """Put a job into a queue and return the queue's number."""
        priority = inserted_priority(user_priority, self._rules)
        ((number, _, new),) = self._former.join(requirements)
        if new:
            self.rows[number] = Row(requirements)
        self.rows[number].jobs[job] = priority
        self._queue_of[job] = number
        if new:
            self._recalculate_for(requirements)
        return number

    def remove(self, job: int) -> int:
        """Take a job out and return its queue's number; the queue stays, even if it is empty now."""
        number = self._queue_of.pop(job)
        row = self.rows[number]
        del row.jobs[job]
        self._former.leave(row.requirements, number)
        return number

    def drop_emptied(self, number: int | None = None) -> None:
        """Drop the queue, or all queues, if no job is left, as DIRAC does 300 seconds after the last one went."""
        for queue in [number] if number is not None else list(self.rows):
            row = self.rows.get(queue)
            if row is not None and not row.jobs:
                del self.rows[queue]
                self._recalculate_for(row.requirements)

    def recalculate_all(self, block: Mapping[str, Any], reports: Reports, now: float = 0.0) -> Recalculation:
        """Make a full pass: correctors (settings *block* ShareCorrections), group shares, all priorities."""
        if self._corrections is not None:
            self._corrections.update(block, reports, now)
        queues = self.queues()
        rows = count_rows(queues, self._rules)
        self._shares = share_groups(rows, self._groups, self._corrections)
        result = set_priorities(queues, self._groups, self._rules, self._corrections, rows, self._shares)
        self._keep(result)
        return result

    def queues(self) -> list[TaskQueue]:
        """Return the queues as the engine reads them."""
        found = []
        for number, row in self.rows.items():
            total = 0.0
            for priority in row.jobs.values():
                total += in_sum(priority, self._rules)
            found.append(TaskQueue(number, row.requirements, len(row.jobs), total))
        return found

    def _recalculate_for(self, requirements: Requirements) -> None:
        queues = self.queues()
        rows = count_rows(queues, self._rules)
        only = requirements.owner, requirements.group
        self._keep(set_priorities(queues, self._groups, self._rules, self._corrections, rows, self._shares, only))

    def _keep(self, result: Recalculation) -> None:
        for queue, priority in zip(result.queues, result.kept_priorities(), strict=True):
            if not math.isnan(priority):
                row = self.rows[queue.id]
                row.priority, row.written = priority, as_written(priority)
