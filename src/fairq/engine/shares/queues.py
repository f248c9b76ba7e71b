"""Task queues, and the requirements that define them (docs/dirac.md 1.1; DIRAC TaskQueueDB)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairq.engine.shares.columns import Column, Floats, Integers, Table, distinct_rows


class Requirements(NamedTuple):
    """The common requirements of a task queue's jobs.

    Two jobs share a task queue if and only if these are equal. Names are stripped, sorted and unique
    (`needs.normal_names`), and case-sensitive (in DIRAC, this depends on the database). The fields that define
    *families* come first.

    Attributes:
        owner: the user's name.
        group: the group of the submission.
        cpu_time: CPU time in HS06 seconds, after bucketing (`needs.bucket`).
        grid_ces, platforms, job_types, tags, sites, banned_sites: sets of names, empty: no requirement.
        min_ram, max_ram: MB; 0: no requirement.
    """

    owner: str
    group: str
    cpu_time: int
    grid_ces: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    banned_sites: tuple[str, ...] = ()
    min_ram: int = 0
    max_ram: int = 0


class RequirementTable(Table[Requirements], frozen=True):
    """The requirements of many queues or jobs."""

    record = Requirements

    owner: Column
    group: Column
    cpu_time: Column
    grid_ces: Column
    platforms: Column
    job_types: Column
    tags: Column
    sites: Column
    banned_sites: Column
    min_ram: Column
    max_ram: Column

    @classmethod
    def of(cls, requirements: Iterable[Requirements]) -> RequirementTable:
        """Return the table of *requirements*."""
        columns = list(zip(*requirements, strict=True)) or [()] * len(Requirements._fields)
        return cls(*map(Column.of, columns))

    def with_all(self, others: RequirementTable) -> tuple[RequirementTable, Integers]:
        """Return this table of distinct requirements with new ones of *others* added, and the row of each of *others*.

        Its own rows keep their indices.
        """
        if not len(others):
            return self, np.empty(0, np.int64)
        joined = self.joined(others)
        first_rows, group_of_row = distinct_rows(joined.columns, len(joined))
        order = np.argsort(first_rows)
        new_row = np.empty(len(first_rows), np.int64)
        new_row[order] = np.arange(len(first_rows))
        return joined.take(first_rows[order]), new_row[group_of_row][len(self) :]


class TaskQueue(NamedTuple):
    """A task queue in its current state.

    Attributes:
        id: its number.
        requirements: the common requirements of its jobs.
        jobs: number of waiting jobs; 0: an emptied queue, which takes no part in the division.
        real_priorities: the sum of its jobs' real priorities (`user_priority.in_sum`).
    """

    id: int
    requirements: Requirements
    jobs: int
    real_priorities: float


class QueueTable(Table[TaskQueue], frozen=True, dict=True):
    """Many task queues."""

    record = TaskQueue

    ids: Integers
    requirements: RequirementTable
    jobs: Integers
    real_priorities: Floats

    @classmethod
    def of(cls, queues: Iterable[TaskQueue]) -> QueueTable:
        """Return the table of *queues*."""
        ids, requirements, jobs, real_priorities = zip(*queues, strict=True) if queues else ((),) * 4
        return cls(
            np.array(ids, np.int64),
            RequirementTable.of(requirements),
            np.array(jobs, np.int64),
            np.array(real_priorities, float),
        )

    def of_group(self, name: str) -> tuple[Integers, QueueTable]:
        """Return the indices of the queues of a group, and these queues."""
        rows = np.flatnonzero(self.requirements.group.where(name.__eq__))
        return rows, self.take(rows)

    @property
    def groups(self) -> set[str]:
        """The groups of the queues."""
        return set(self.requirements.group.compact().values)

    @cached_property
    def owners(self) -> tuple[list[tuple[str, str]], Integers]:
        """The distinct pairs of group and owner, and for each queue the index of its pair."""
        group, owner = self.requirements.group, self.requirements.owner
        first_rows, pair_of_queue = distinct_rows((group, owner), len(self))
        return list(zip(group.take(first_rows).tolist(), owner.take(first_rows).tolist(), strict=True)), pair_of_queue
