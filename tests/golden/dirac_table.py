"""DIRAC's own process, replayed with the engine's rules that fairq's commands use.

fairq forms its queues from a snapshot and recalculates all of them. DIRAC keeps a table: it sets the priorities of the
owner of a new or dropped queue at once, and those of the others at the next full pass. Only the order of those events
is replayed here. Which queue a job joins, and what its priority becomes, are the engine's rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace
from tests.engine.shares.plain_formation import FormedQueue, QueueFormer
from tests.engine.shares.plain_needs import JobNeeds
from tests.golden.dirac_comparison import DIRAC

from fairq.engine.shares.check import as_written
from fairq.engine.shares.corrector import Corrections, Reports
from fairq.engine.shares.division import Recalculation, Share, count_queues, set_priorities, share_groups
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.queues import QueueTable as Queues
from fairq.engine.shares.queues import Requirements, TaskQueue

NEW_PRIORITY = 1.0
"""What DIRAC's table gives a queue until its priority is set."""

ONE_OWNER = replace(DIRAC, user_all_bug=False)
"""The rules when one owner's queues are set: no full pass is asked for, by whatever name."""


@dataclass
class TableQueue:
    """One task queue: as it was formed, its jobs, its priority, and the text that this was last set with."""

    formed: FormedQueue
    jobs: dict[int, JobNeeds] = field(default_factory=dict)
    priority: float = NEW_PRIORITY
    written: str | None = None

    def record(self) -> TaskQueue:
        """Return the queue as the recalculation reads it."""
        return TaskQueue(self.formed.number, self.formed.requirements, self.formed.jobs, self.formed.real_priorities)


class QueueTable:
    """The task queues of one process that inserts jobs, removes them and recalculates.

    Attributes:
        queues: by number.
        group_shares: the share of every configured group since the last full pass; before it there is none.
    """

    def __init__(self, groups: Mapping[str, OwnerGroup], corrections: Corrections | None, capacity: int) -> None:
        """No queues; *corrections*: the correctors, if corrections are enabled."""
        self.queues: dict[int, TableQueue] = {}
        self._groups, self._corrections = groups, corrections
        self._former = QueueFormer(capacity, {}, 1)
        self._shares: Mapping[str, Share] = {}

    @property
    def group_shares(self) -> dict[str, float]:
        return {name: one.share for name, one in self._shares.items()}

    def insert(self, job: int, needs: JobNeeds) -> None:
        """Put a job into a queue."""
        for formed, _ in self._former.place(needs.requirements, 1, needs.real_priority):
            is_new = formed.number not in self.queues
            queue = self.queues.setdefault(formed.number, TableQueue(formed))
            queue.jobs[job] = needs
            if is_new:
                self._set_owner(needs.requirements)

    def remove(self, job: int) -> None:
        """Take a job out; its queue stays, even if it is empty now, and has room again."""
        for queue in self.queues.values():
            if queue.jobs.pop(job, None) is not None:
                formed = queue.formed
                formed.jobs = len(queue.jobs)
                formed.real_priorities = sum((needs.real_priority for needs in queue.jobs.values()), 0.0)
                self._former.open_queues.setdefault(formed.requirements, {})[formed.number] = formed

    def drop_emptied(self, number: int | None = None) -> None:
        """Drop the queue, or all queues, if no job is left, as DIRAC does some time after the last one went."""
        for one in [number] if number is not None else list(self.queues):
            queue = self.queues.get(one)
            if queue is not None and not queue.jobs:
                del self.queues[one]
                self._set_owner(queue.formed.requirements)

    def recalculate_all(self, block: Mapping[str, Any], reports: Reports) -> None:
        """Make a full pass: correctors (settings *block* ShareCorrections), group shares, all priorities."""
        if self._corrections is not None:
            self._corrections.update(block, reports)
        queues = Queues.of([queue.record() for queue in self.queues.values()])
        rows = count_queues(queues, DIRAC)
        self._shares = share_groups(rows, self._groups, self._corrections)
        self._keep(set_priorities(queues, self._groups, DIRAC, self._corrections, rows, self._shares))

    def _set_owner(self, of: Requirements) -> None:
        """Set one owner's queues, or those of the whole group if the number of its owners may have changed."""
        queues = [one.record() for one in self.queues.values()]
        queues = Queues.of([queue for queue in queues if queue.requirements.group == of.group])
        rows = count_queues(queues, ONE_OWNER)
        result = set_priorities(queues, self._groups, ONE_OWNER, self._corrections, rows, self._shares)
        alone = rows.get(of.group, {}).get(of.owner, 0) > 1 and not self._is_sharing(of.group)
        self._keep(result, of.owner if alone else None)

    def _is_sharing(self, group: str) -> bool:
        return group in self._groups and self._groups[group].job_sharing

    def _keep(self, result: Recalculation, owner: str | None = None) -> None:
        for queue, priority in zip(result.queues.tolist(), result.stored_priorities(), strict=True):
            if not math.isnan(priority) and owner in (None, queue.requirements.owner):
                kept = self.queues[queue.id]
                kept.priority, kept.written = priority, as_written(priority)
