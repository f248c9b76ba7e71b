"""DIRAC's own process, played with the calls that fairq's commands make: jobs come and go, queues are recalculated.

fairq forms its queues from a snapshot and recalculates all of them; DIRAC keeps a table, and sets the priorities of
the owner of a new or dropped queue at once, the others' at the next full pass. The order of those events is all that
is played here; which queue a job joins and what priority comes of it are the engine's rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.golden.dirac_comparison import DIRAC

from fairq.engine.shares.corrections import Corrections
from fairq.engine.shares.corrector import Reports
from fairq.engine.shares.forming import queue_with_room
from fairq.engine.shares.model import Group, Requirements, TaskQueue
from fairq.engine.shares.pools import count_rows
from fairq.engine.shares.recalculation import Recalculation, Share, set_priorities, share_groups
from fairq.engine.shares.user_priority import in_sum, inserted_priority, read_priority
from fairq.engine.shares.written import as_written

NEW_PRIORITY = 1.0
"""What DIRAC's table gives a queue until its priority is set."""

ONE_OWNER = replace(DIRAC, user_all_bug=False)
"""The rules when one owner's queues are set: no full pass is asked for, by whatever name."""


@dataclass
class Row:
    """One task queue: what it asks for, its jobs' UserPriorities, its priority, and the text it was last set with."""

    requirements: Requirements
    jobs: dict[int, float] = field(default_factory=dict)
    priority: float = NEW_PRIORITY
    written: str | None = None


class QueueTable:
    """The task queues of one process that inserts jobs, removes them and recalculates.

    Attributes:
        rows: the queues by number.
        group_shares: the share of every configured group since the last full pass; before it there is none.
    """

    def __init__(self, groups: Mapping[str, Group], corrections: Corrections | None, capacity: int) -> None:
        """No queues; *corrections*: the correctors, if corrections are enabled."""
        self.rows: dict[int, Row] = {}
        self._groups, self._corrections, self._capacity = groups, corrections, capacity
        self._last = 0
        self._shares: Mapping[str, Share] = {}

    @property
    def group_shares(self) -> dict[str, float]:
        return {name: one.share for name, one in self._shares.items()}

    def insert(self, job: int, requirements: Requirements, user_priority: Any) -> None:
        """Put a job into a queue."""
        priority = inserted_priority(read_priority(user_priority, 1, DIRAC), DIRAC)
        alike = {number: len(row.jobs) for number, row in self.rows.items() if row.requirements == requirements}
        joined = queue_with_room(alike, self._capacity)
        if joined is not None:
            self.rows[joined].jobs[job] = priority
            return
        self._last += 1
        self.rows[self._last] = Row(requirements, {job: priority})
        self._set_owner(requirements)

    def remove(self, job: int) -> None:
        """Take a job out; its queue stays, even if it is empty now."""
        for row in self.rows.values():
            row.jobs.pop(job, None)

    def drop_emptied(self, number: int | None = None) -> None:
        """Drop the queue, or all queues, if no job is left, as DIRAC does some time after the last one went."""
        for queue in [number] if number is not None else list(self.rows):
            row = self.rows.get(queue)
            if row is not None and not row.jobs:
                del self.rows[queue]
                self._set_owner(row.requirements)

    def recalculate_all(self, block: Mapping[str, Any], reports: Reports) -> None:
        """Make a full pass: correctors (settings *block* ShareCorrections), group shares, all priorities."""
        if self._corrections is not None:
            self._corrections.update(block, reports)
        queues = self._queues()
        rows = count_rows(queues, DIRAC)
        self._shares = share_groups(rows, self._groups, self._corrections)
        self._keep(set_priorities(queues, self._groups, DIRAC, self._corrections, rows, self._shares))

    def _set_owner(self, of: Requirements) -> None:
        """Set one owner's queues, or those of the whole group if the number of its owners may have changed."""
        queues = [queue for queue in self._queues() if queue.requirements.group == of.group]
        rows = count_rows(queues, ONE_OWNER)
        result = set_priorities(queues, self._groups, ONE_OWNER, self._corrections, rows, self._shares)
        alone = rows.owners.get(of.group, {}).get(of.owner, 0) > 1 and not self._is_sharing(of.group)
        self._keep(result, of.owner if alone else None)

    def _is_sharing(self, group: str) -> bool:
        return group in self._groups and self._groups[group].job_sharing

    def _queues(self) -> list[TaskQueue]:
        found = []
        for number, row in self.rows.items():
            total = 0.0
            for priority in row.jobs.values():
                total += in_sum(priority, DIRAC)
            found.append(TaskQueue(number, row.requirements, len(row.jobs), total))
        return found

    def _keep(self, result: Recalculation, owner: str | None = None) -> None:
        for queue, priority in zip(result.queues, result.kept_priorities(), strict=True):
            if not math.isnan(priority) and owner in (None, queue.requirements.owner):
                row = self.rows[queue.id]
                row.priority, row.written = priority, as_written(priority)
