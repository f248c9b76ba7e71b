"""Formed task queues with their jobs."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.shares.columns import Integers
from fairq.engine.shares.division import Floats
from fairq.engine.shares.queue_table import QueueTable
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.records import JobRange, JobStatus
from fairq.state import jobs
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues.job_pieces import JobPieces
from fairq.steps.taskqueues.needs import needs_of
from fairq.steps.taskqueues.policy import SharePolicy


class Member(Struct, frozen=True):
    """Identical jobs of a queue: a range, their UserPriority, and their real priority if given."""

    job: JobRange
    user_priority: float
    real_priority: float | None = None


class LeftOut(NamedTuple):
    """Jobs *first* to *last* of a cluster, which are in no queue for this *reason*."""

    cluster: int
    first: int
    last: int
    reason: str


class Numbers(Struct, frozen=True):
    """All numbers of queues, stored ones first; a number without jobs is that of a queue that no longer exists.

    Attributes:
        sets: the requirements of queues; several queues may share them.
        number, of_set, part: over the numbers: the number, the place of its requirements, and the part (`FormedQueue`).
        jobs, real_priorities: over the numbers: the number of jobs, and the sum of their real priorities.
    """

    sets: RequirementTable
    number: Integers
    of_set: Integers
    part: Integers
    jobs: Integers
    real_priorities: Floats


class FormedQueues:
    """The task queues of the idle jobs.

    Attributes:
        numbers: all queues, existing or not; the first *stored* of them are stored in the state.
        pieces: the jobs; their queues are places in *numbers*.
        reasons: why jobs are in no queue.
        unlasting: ranges of jobs whose needs may change though the jobs do not.
        changes: number of ranges of jobs that were not known, or that changed since.
        next_number: the number of the next new queue.
    """

    def __init__(
        self,
        numbers: Numbers,
        stored: int,
        pieces: JobPieces,
        reasons: list[str],
        unlasting: set[JobKey],
        changes: int,
        next_number: int,
    ) -> None:
        self.numbers, self.stored, self.pieces, self.reasons = numbers, stored, pieces, reasons
        self.unlasting, self.changes, self.next_number = unlasting, changes, next_number

    @cached_property
    def places(self) -> Integers:
        """The places of the queues in *numbers*, in order of number."""
        found = np.flatnonzero(self.numbers.jobs)
        places: Integers = found[np.argsort(self.numbers.number[found], kind="stable")]
        return places

    @cached_property
    def queues(self) -> QueueTable:
        """The queues, in order of number."""
        of, places = self.numbers, self.places
        return QueueTable(
            of.number[places], of.sets.take(of.of_set[places]), of.jobs[places], of.real_priorities[places]
        )

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The jobs in no queue."""
        found = self.pieces.take(self.pieces.queue < 0).tolist()
        return [LeftOut(one.cluster, one.first, one.last, self.reasons[-1 - one.queue]) for one in found]

    def members(self, state: State, policy: SharePolicy, row: int) -> list[Member]:
        """Return the jobs of the queue at *row* of the queues, oldest first."""
        pieces = self.pieces.take(self.pieces.queue == self.places[row]).tolist()
        keys = [(one.cluster, one.schedd, one.whole) for one in pieces]
        members = []
        found = needs_of(state, jobs.at(state, keys, JobStatus.IDLE), policy)
        needy = next(found)
        for one in pieces:
            while (needy.job.cluster, needy.job.schedd) != (one.cluster, one.schedd) or needy.job.last_proc < one.first:
                needy = next(found)
            job, needs = needy.job, needy.needs
            assert not isinstance(needs, str), "jobs without needs are in no queue"
            own = needs.real_priority if needs.is_own_real_priority else None
            members.append(Member(replace(job, first_proc=one.first, last_proc=one.last), needs.user_priority, own))
        return members

    def row_of_job(self, cluster: int, proc: int) -> int | None:
        """Return the row of the queue with this job, None if it is in none."""
        places = self.pieces.queue[self.pieces.of_proc(cluster, proc)]
        rows = np.flatnonzero(np.isin(self.places, places[places >= 0]))
        return int(rows[0]) if len(rows) else None
