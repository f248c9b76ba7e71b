"""Task queues formed from the idle jobs of fairq's own queue (docs/dirac.md 1.3).

A queue contains exactly its waiting jobs, and no queue is empty. The numbers of queues are stored. Where the state
knows to which queue the jobs with an ad belong (`fairq.state.queue_needs`), the ad is not read.
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
"""Fewer ads are read as fast as it is stored what they need."""

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
    """Return the value of a field of `Requirements` with which nothing is needed."""
    return Requirements._field_defaults.get(field, "" if field in ("owner", "group") else 0)


class Member(Struct, frozen=True):
    """Identical jobs of a queue: a part of a range, and their UserPriority."""

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
        queues: in order of number; *parts* are over them, as `formed` has them.
        requirements: those of jobs and of numbered queues; *numbers* are those of all queues, existing or not.
        gone: the numbers of queues that no longer exist.
        first_new, next_number: the number of the first new queue, and of the next one.
        learned: what was read of ads.
    """

    def __init__(
        self,
        waiting: WaitingJobs,
        requirements: RequirementTable,
        numbers: Numbers,
        capacity: int,
        first_new: int,
        learned: Sequence[AdNeed],
    ) -> None:
        """Form the queues."""
        formed = form(waiting.asked, waiting.last - waiting.first + 1, waiting.real_priority, capacity)
        ids = number(formed, numbers.columns, first_new)
        order = np.argsort(ids)
        self.queues = QueueTable(
            ids[order], requirements.take(formed.asked[order]), formed.jobs[order], formed.real_priorities[order]
        )
        self.parts = formed.part[order]
        is_new = self.queues.ids >= first_new
        new = Numbers(formed.asked[order][is_new], self.parts[is_new], self.queues.ids[is_new])
        self.requirements, self.numbers = requirements, numbers.joined(new)
        self.gone = numbers.number[~np.isin(numbers.number, self.queues.ids)].tolist()
        self.first_new, self.next_number = first_new, first_new + len(new)
        self.learned = learned
        self._waiting = waiting
        self._queue = np.argsort(order)[formed.queue]
        self._row, self._first = formed.row, waiting.first[formed.row] + formed.start
        self._last = self._first + formed.size - 1

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The jobs in no queue."""
        found = self._waiting.take(np.flatnonzero(self._waiting.asked < 0)).tolist()
        return [LeftOut(one.cluster, one.first, one.last, one.reason) for one in found]

    def members(self, state: State, row: int) -> list[Member]:
        """Return the jobs of the queue at *row*, oldest first."""
        places = np.flatnonzero(self._queue == row)
        waiting = self._waiting.take(self._row[places])
        ranges = {(one.cluster, one.schedd, one.first_proc): one for one in jobs.at(state, waiting.range_keys())}
        bounds = zip(self._first[places].tolist(), self._last[places].tolist(), strict=True)
        return [
            Member(replace(ranges[key], first_proc=first, last_proc=last), user_priority)
            for key, (first, last), user_priority in zip(
                waiting.range_keys(), bounds, waiting.user_priority.tolist(), strict=True
            )
        ]

    def keep(self, state: State, policy: SharePolicy) -> None:
        """Store what was read of ads if it is much: to which of the stored queues their jobs belong."""
        if len(self.learned) < WORTHWHILE:
            return
        stored = self.numbers.take(np.flatnonzero(np.isin(self.numbers.number, list(task_queues.priorities(state)))))
        fresh = stored.take(np.flatnonzero(~np.isin(stored.number, queue_needs.load(state).number)))
        columns = (column.compact() for column in self.requirements.take(fresh.asked).columns)
        fields = [(column.codes, column.values) for column in columns]
        queue_needs.add(state, fresh.number.tolist(), fresh.part.tolist(), fields)
        # Of several queues with equal requirements, the first one lasts longest.
        number_of = dict(zip(stored.asked[::-1].tolist(), stored.number[::-1].tolist(), strict=True))
        found = (
            (one.ad_id, one.owner, number_of[one.asked], one.priorities)
            for one in self.learned
            if one.asked in number_of
        )
        queue_needs.keep(state, policy_key(policy), found)

    def row_of_job(self, cluster: int, proc: int) -> int | None:
        """Return the row of the queue with this job, None if it is in none."""
        has_proc = (self._first <= proc) & (proc <= self._last)
        rows = self._queue[has_proc & (self._waiting.cluster[self._row] == cluster)]
        return int(rows.min()) if len(rows) else None


def form_queues(state: State, policy: SharePolicy) -> FormedQueues:
    """Form the task queues of all idle jobs of *state*."""
    with keeping_few_pages(state):
        requirements, numbers = _numbered(state)
        waiting, requirements, learned = read_waiting(state, policy, requirements, numbers)
    first_new = max(int(numbers.number.max(initial=0)) + 1, int(meta.get(state, NEXT) or 1))
    return FormedQueues(waiting, requirements, numbers, policy.capacity, first_new, learned)


def _numbered(state: State) -> tuple[RequirementTable, Numbers]:
    """Return the numbers of the stored queues, and the requirements that these have."""
    stored, unread = queue_needs.load(state), task_queues.load_all(state, unread=True)
    columns = []
    for field, (codes, values) in zip(Requirements._fields, stored.fields, strict=True):
        columns.append(Column(codes, [_default(field) if one is None else one for one in values]))
    requirements, asked = RequirementTable.of(()).with_all(RequirementTable(*columns))
    requirements, more = requirements.with_all(requirements_of([one.identity for one in unread]))
    part, number = np.array([(one.part, one.number) for one in unread], np.int64).reshape(-1, 2).T
    numbers = Numbers(asked, stored.part, stored.number).joined(Numbers(more, part, number))
    return requirements, numbers.take(np.argsort(numbers.number))


def remember(
    state: State, formed: FormedQueues, priorities: Sequence[float] | None = None, now: int | None = None
) -> None:
    """Store the numbers of queues that are new.

    With *priorities* (over the queues, at *now*), those of all queues are stored, and queues that no longer exist are
    deleted.
    """
    fresh = np.flatnonzero(formed.queues.ids >= formed.first_new)
    columns = (column.tolist() for column in formed.queues.requirements.take(fresh).columns)
    fields = dict(zip(FIELDS, columns, strict=True))
    task_queues.add(state, formed.queues.ids[fresh].tolist(), formed.parts[fresh].tolist(), fields)
    if priorities is not None:
        task_queues.forget(state, formed.gone)
        task_queues.set_priorities(state, zip(formed.queues.ids.tolist(), priorities, strict=True), now)
    if len(fresh) or formed.gone or (priorities is not None and len(formed.queues)):
        meta.set(state, NEXT, str(formed.next_number))


def full_ad(state: State, job: JobRange) -> Ad:
    """Return the whole ad of the first proc of *job*."""
    return job.ad_of(jobs.ads(state, [job.ad_id])[job.ad_id], job.first_proc)
