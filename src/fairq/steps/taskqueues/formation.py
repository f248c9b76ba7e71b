"""Task queues formed from the idle jobs of fairq's own queue (docs/dirac.md 1.3).

A queue contains exactly its waiting jobs, and no queue is empty. The numbers of queues are stored. If the queue of the
jobs with an ad is stored (`fairq.state.queue_needs`), the ad is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Ad, JobRange
from fairq.engine.shares.columns import Column
from fairq.engine.shares.formation import form, number
from fairq.engine.shares.queues import QueueTable, Requirements, RequirementTable
from fairq.state import jobs, meta, queue_needs, task_queues
from fairq.state.connection import State, keeping_few_pages
from fairq.steps.taskqueues.policy import SharePolicy
from fairq.steps.taskqueues.waiting_jobs import AdNeed, Numbers, WaitingJobs, policy_key, read_waiting

NEXT = "next_task_queue"
"""The key in the state for the number of the next new queue."""

WORTHWHILE = 1000
"""Minimum number of ads whose needs are stored: fewer are read again as fast."""

FIELDS = (
    "Owner", "OwnerGroup", "CPUTime", "GridCEs", "Platforms", "JobTypes", "Tags", "Sites", "BannedSites", "MinRAM",
    "MaxRAM",
)  # fmt: skip
"""DIRAC's names for the fields of `Requirements`, in order."""

MEMBERS = (
    "owner", "owner_group", "cpu_time", "grid_ces", "platforms", "job_types", "tags", "sites", "banned_sites",
    "min_ram", "max_ram",
)  # fmt: skip
"""The report members for the fields of `Requirements`, in order."""


def fields_of(requirements: Requirements) -> dict[str, Any]:
    """Return *requirements* by DIRAC's names, without empty ones."""
    pairs = zip(FIELDS, requirements, strict=True)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value}


def members_of(requirements: Requirements) -> Ad:
    """Return *requirements* as members of a report.

    Lists are texts with commas, so that expressions can read them; empty ones are left out.
    """
    pairs = zip(MEMBERS, requirements, strict=True)
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in pairs if value}


def requirements_of(identities: Sequence[Mapping[str, Any]]) -> RequirementTable:
    """Return the requirements that *identities* (see `fields_of`) name."""
    columns = []
    for name, field in zip(FIELDS, Requirements._fields, strict=True):
        default = _default(field)
        values = [fields.get(name, default) for fields in identities]
        columns.append(Column.of(list(map(tuple, values)) if default == () else values))
    return RequirementTable(*columns)


def _default(field: str) -> Any:
    """Return the value of a field of `Requirements` that stands for no requirement."""
    return Requirements._field_defaults.get(field, "" if field in ("owner", "group") else 0)


class Member(Struct, frozen=True):
    """Identical jobs of a queue: part of a range of jobs, and their UserPriority."""

    job: JobRange
    user_priority: float


class LeftOut(NamedTuple):
    """Jobs *first* to *last* of a cluster, which are in no queue for this *reason*."""

    cluster: int
    first: int
    last: int
    reason: str


class FormedQueues:
    """The task queues of the idle jobs.

    Attributes:
        queues: in order of number; *parts* has the part of each queue (see `form`).
        requirements: the requirements of jobs and of numbered queues.
        numbers: the numbers of all queues, existing or not.
        removed: the numbers of queues that no longer exist.
        first_new, next_number: the number of the first new queue, and of the next one to come.
        new_needs: the needs that were read from ads.
    """

    def __init__(
        self,
        waiting: WaitingJobs,
        requirements: RequirementTable,
        numbers: Numbers,
        capacity: int,
        first_new: int,
        new_needs: Sequence[AdNeed],
    ) -> None:
        """Form the queues."""
        formed = form(waiting.requirement, waiting.last - waiting.first + 1, waiting.real_priority, capacity)
        ids = number(formed, numbers.columns, first_new)
        order = np.argsort(ids)
        self.queues = QueueTable(
            ids[order], requirements.take(formed.requirement[order]), formed.jobs[order], formed.real_priorities[order]
        )
        self.parts = formed.part[order]
        is_new = self.queues.ids >= first_new
        new = Numbers(formed.requirement[order][is_new], self.parts[is_new], self.queues.ids[is_new])
        self.requirements, self.numbers = requirements, numbers.joined(new)
        self.removed = numbers.number[~np.isin(numbers.number, self.queues.ids)].tolist()
        self.first_new, self.next_number = first_new, first_new + len(new)
        self.new_needs = new_needs
        self._waiting = waiting
        self._queue_of_run = np.argsort(order)[formed.queue]
        self._row_of_run, self._first_of_run = formed.row, waiting.first[formed.row] + formed.start
        self._last_of_run = self._first_of_run + formed.size - 1

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The jobs in no queue."""
        in_no_queue = self._waiting.take(np.flatnonzero(self._waiting.requirement < 0)).tolist()
        return [LeftOut(job.cluster, job.first, job.last, job.reason) for job in in_no_queue]

    def members(self, state: State, row: int) -> list[Member]:
        """Return the jobs of the queue at *row*, oldest first."""
        runs = np.flatnonzero(self._queue_of_run == row)
        waiting = self._waiting.take(self._row_of_run[runs])
        ranges = {(job.cluster, job.schedd, job.first_proc): job for job in jobs.at(state, waiting.range_keys())}
        bounds = zip(self._first_of_run[runs].tolist(), self._last_of_run[runs].tolist(), strict=True)
        return [
            Member(replace(ranges[key], first_proc=first, last_proc=last), user_priority)
            for key, (first, last), user_priority in zip(
                waiting.range_keys(), bounds, waiting.user_priority.tolist(), strict=True
            )
        ]

    def store_needs(self, state: State, policy: SharePolicy) -> None:
        """Store to which of the stored queues the jobs of newly read ads belong, if many ads were read."""
        if len(self.new_needs) < WORTHWHILE:
            return
        stored = self.numbers.take(np.flatnonzero(np.isin(self.numbers.number, list(task_queues.priorities(state)))))
        unstored = stored.take(np.flatnonzero(~np.isin(stored.number, queue_needs.load(state).number)))
        columns = (column.compact() for column in self.requirements.take(unstored.requirement).columns)
        fields = [(column.codes, column.values) for column in columns]
        queue_needs.add(state, unstored.number.tolist(), unstored.part.tolist(), fields)
        # Of several queues with equal requirements, the first one exists longest.
        number_of = dict(zip(stored.requirement[::-1].tolist(), stored.number[::-1].tolist(), strict=True))
        needs = (
            (need.ad_id, need.owner, number_of[need.requirement], need.priorities)
            for need in self.new_needs
            if need.requirement in number_of
        )
        queue_needs.keep(state, policy_key(policy), needs)

    def row_of_job(self, cluster: int, proc: int) -> int | None:
        """Return the row of the queue with this job, None if no queue has it."""
        has_proc = (self._first_of_run <= proc) & (proc <= self._last_of_run)
        rows = self._queue_of_run[has_proc & (self._waiting.cluster[self._row_of_run] == cluster)]
        return int(rows.min()) if len(rows) else None


def form_queues(state: State, policy: SharePolicy) -> FormedQueues:
    """Form the task queues of all idle jobs of *state*."""
    with keeping_few_pages(state):
        requirements, numbers = _load_numbers(state)
        waiting, requirements, new_needs = read_waiting(state, policy, requirements, numbers)
    first_new = max(int(numbers.number.max(initial=0)) + 1, int(meta.get(state, NEXT) or 1))
    return FormedQueues(waiting, requirements, numbers, policy.capacity, first_new, new_needs)


def _load_numbers(state: State) -> tuple[RequirementTable, Numbers]:
    """Return the requirements of the stored queues, and the queues' numbers."""
    stored, unread = queue_needs.load(state), task_queues.load_all(state, unread=True)
    columns = []
    for field, (codes, values) in zip(Requirements._fields, stored.fields, strict=True):
        columns.append(Column(codes, [_default(field) if value is None else value for value in values]))
    requirements, requirement = RequirementTable.of(()).with_all(RequirementTable(*columns))
    requirements, unread_requirement = requirements.with_all(requirements_of([queue.identity for queue in unread]))
    part, number = np.array([(queue.part, queue.number) for queue in unread], np.int64).reshape(-1, 2).T
    numbers = Numbers(requirement, stored.part, stored.number).joined(Numbers(unread_requirement, part, number))
    return requirements, numbers.take(np.argsort(numbers.number))


def store_numbers(
    state: State, formed: FormedQueues, priorities: Sequence[float] | None = None, now: int | None = None
) -> None:
    """Store the numbers of new queues.

    With *priorities* (over the queues, at *now*), the priorities of all queues are stored, and queues that no longer
    exist are deleted.
    """
    new_rows = np.flatnonzero(formed.queues.ids >= formed.first_new)
    columns = (column.tolist() for column in formed.queues.requirements.take(new_rows).columns)
    fields = dict(zip(FIELDS, columns, strict=True))
    task_queues.add(state, formed.queues.ids[new_rows].tolist(), formed.parts[new_rows].tolist(), fields)
    if priorities is not None:
        task_queues.forget(state, formed.removed)
        task_queues.set_priorities(state, zip(formed.queues.ids.tolist(), priorities, strict=True), now)
    if len(new_rows) or formed.removed or (priorities is not None and len(formed.queues)):
        meta.set(state, NEXT, str(formed.next_number))


def full_ad(state: State, job: JobRange) -> Ad:
    """Return the complete ad of the first proc of *job*."""
    return job.ad_of(jobs.ads(state, [job.ad_id])[job.ad_id], job.first_proc)
