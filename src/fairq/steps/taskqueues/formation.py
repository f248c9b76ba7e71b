"""Task queues formed from the idle jobs of fairq's own queue (docs/dirac.md 1.3).

A queue contains exactly its waiting jobs, and no queue is empty. The numbers of queues are stored. A copy of what the
jobs need may be kept (`needs_copy`); then only jobs are read that have changed since.
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
from fairq.state import idle_ranges, jobs, meta, task_queues
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues import needs_copy
from fairq.steps.taskqueues.needs_copy import Known, Numbers
from fairq.steps.taskqueues.policy import SharePolicy
from fairq.steps.taskqueues.waiting_jobs import read_waiting

NEXT = "next_task_queue"
"""The key in the state for the number of the next new queue."""

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
        default = Requirements._field_defaults.get(field, 0)
        values = [fields.get(name, default) for fields in identities]
        columns.append(Column.of(list(map(tuple, values)) if default == () else values))
    return RequirementTable(*columns)


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
        known: the jobs and their requirements, and the numbers of all queues, existing or not.
        gone: the numbers of queues that no longer exist.
        first_new, next_number: the number of the first new queue, and of the next one.
        changes: number of ranges of jobs that changed since the copy was made; None: there was no copy.
        unlasting: ranges of jobs whose needs may change though the jobs do not.
    """

    def __init__(
        self, known: Known, capacity: int, first_new: int, changes: int | None, unlasting: set[JobKey]
    ) -> None:
        """Form the queues."""
        waiting = known.jobs
        formed = form(waiting.asked, waiting.last - waiting.first + 1, waiting.real_priority, capacity)
        numbers = number(formed, known.numbers.columns, first_new)
        order = np.argsort(numbers)
        self.queues = QueueTable(
            numbers[order],
            known.requirements.take(formed.asked[order]),
            formed.jobs[order],
            formed.real_priorities[order],
        )
        self.parts = formed.part[order]
        is_new = self.queues.ids >= first_new
        new = Numbers(formed.asked[order][is_new], self.parts[is_new], self.queues.ids[is_new])
        self.known = known._replace(numbers=known.numbers.joined(new))
        self.gone = known.numbers.number[~np.isin(known.numbers.number, self.queues.ids)].tolist()
        self.first_new, self.next_number = first_new, first_new + len(new)
        self.changes, self.unlasting = changes, unlasting
        self._queue = np.argsort(order)[formed.queue]
        self._row, self._first = formed.row, waiting.first[formed.row] + formed.start
        self._last = self._first + formed.size - 1

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The jobs in no queue."""
        found = self.known.jobs.take(np.flatnonzero(self.known.jobs.asked < 0)).tolist()
        return [LeftOut(one.cluster, one.first, one.last, one.reason) for one in found]

    def members(self, state: State, row: int) -> list[Member]:
        """Return the jobs of the queue at *row*, oldest first."""
        places = np.flatnonzero(self._queue == row)
        waiting = self.known.jobs.take(self._row[places])
        ranges = {(one.cluster, one.schedd, one.first_proc): one for one in jobs.at(state, waiting.range_keys())}
        bounds = zip(self._first[places].tolist(), self._last[places].tolist(), strict=True)
        return [
            Member(replace(ranges[key], first_proc=first, last_proc=last), user_priority)
            for key, (first, last), user_priority in zip(
                waiting.range_keys(), bounds, waiting.user_priority.tolist(), strict=True
            )
        ]

    def keep(self, state: State, policy: SharePolicy) -> None:
        """Leave a copy of what the jobs need in the state, if it is worth while."""
        needs_copy.keep(state, policy, self.known, self.changes, self.unlasting)

    def row_of_job(self, cluster: int, proc: int) -> int | None:
        """Return the row of the queue with this job, None if it is in none."""
        has_proc = (self._first <= proc) & (proc <= self._last)
        rows = self._queue[has_proc & (self.known.jobs.cluster[self._row] == cluster)]
        return int(rows.min()) if len(rows) else None


def form_queues(state: State, policy: SharePolicy) -> FormedQueues:
    """Form the task queues of all idle jobs of *state*."""
    copy = needs_copy.load(state, policy)
    known, highest, changed = copy or (Known.nothing(), None, [])
    requirements, numbers = _with_stored_numbers(state, known, highest)
    fresh = idle_ranges.load(state) if copy is None else idle_ranges.at(state, changed)
    waiting, requirements, unlasting = read_waiting(state, fresh, policy, requirements)
    waiting = waiting if copy is None else known.jobs.replaced(changed, waiting)
    first_new = max(int(numbers.number.max(initial=0)) + 1, int(meta.get(state, NEXT) or 1))
    known = Known(requirements, numbers, waiting)
    return FormedQueues(known, policy.capacity, first_new, None if copy is None else len(set(changed)), unlasting)


def _with_stored_numbers(state: State, known: Known, highest: int | None) -> tuple[RequirementTable, Numbers]:
    """Return requirements and numbers with those of the stored queues above the *highest* known number."""
    stored = task_queues.load_all(state, above=highest)
    requirements, asked = known.requirements.with_all(requirements_of([one.identity for one in stored]))
    part, number = np.array([(one.part, one.number) for one in stored], np.int64).reshape(-1, 2).T
    return requirements, known.numbers.joined(Numbers(asked, part, number))


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
