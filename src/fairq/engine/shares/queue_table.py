"""Many task queues, by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from fairq.engine.shares.columns import Integers
from fairq.engine.shares.division import Floats
from fairq.engine.shares.model import TaskQueue
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.rows import Rows


class QueueTable(Rows[TaskQueue]):
    """A sequence of task queues; the columns have the fields of `TaskQueue`."""

    def __init__(self, ids: Integers, requirements: RequirementTable, jobs: Integers, real_priorities: Floats) -> None:
        """All columns are over the queues."""
        self.ids, self.requirements, self.jobs, self.real_priorities = ids, requirements, jobs, real_priorities

    @classmethod
    def of(cls, queues: Sequence[TaskQueue]) -> QueueTable:
        """Return the table of *queues*; a table is returned as it is."""
        if isinstance(queues, QueueTable):
            return queues
        return cls(
            np.array([queue.id for queue in queues], np.int64),
            RequirementTable.of(queue.requirements for queue in queues),
            np.array([queue.jobs for queue in queues], np.int64),
            np.array([queue.real_priorities for queue in queues], float),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, row: int) -> TaskQueue:
        """Return the task queue of a row."""
        return TaskQueue(
            int(self.ids[row]), self.requirements[row], int(self.jobs[row]), float(self.real_priorities[row])
        )

    def __iter__(self) -> Iterator[TaskQueue]:
        rows = (self.ids.tolist(), self.requirements.tolist(), self.jobs.tolist(), self.real_priorities.tolist())
        return map(TaskQueue, *rows)

    def of_group(self, name: str) -> tuple[Integers, QueueTable]:
        """Return the places of the queues of a group, and these queues."""
        rows = np.flatnonzero(self.requirements.group.among((name,)))
        table = QueueTable(self.ids[rows], self.requirements.take(rows), self.jobs[rows], self.real_priorities[rows])
        return rows, table

    @cached_property
    def owners(self) -> tuple[list[tuple[str, str]], Integers]:
        """The distinct pairs of group and owner, and over the queues the place of each one's pair."""
        group, owner = self.requirements.group, self.requirements.owner
        pairs, places = np.unique(group.codes * len(owner.names) + owner.codes, return_inverse=True)
        named = [(group.names[pair // len(owner.names)], owner.names[pair % len(owner.names)]) for pair in pairs]
        return named, places
