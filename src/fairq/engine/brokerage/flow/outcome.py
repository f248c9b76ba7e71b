"""The result of a brokerage run for one task: the candidates, and the reason of each other queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.course import Course, Refusal, StageCount
from fairq.engine.brokerage.flow.plan import Plan, StageReason
from fairq.engine.brokerage.flow.plugin import Details, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.bits import rows_in
from fairq.engine.brokerage.pool.columns import Floats

UNDECIDED = -1
"""In place of the number of a reason: the queue is not refused; at the end it is a candidate."""

Status = Literal["assigned", "failed", "waiting", "fatal"]
"""Candidates found; no queue or no input; throttled, without ageing; only the given queue is refused."""


class Candidate(Struct, frozen=True):
    """A queue for the task's jobs.

    Args:
        queue: its name; of a pseudo queue with its resource type.
        unit: the name that CRIC knows.
        weight: its weight; 0 of a queue that is tried out (*bootstrap*).
        bootstrap: whether it is idle and gets one job as a trial.
        jumbo: whether it is for jumbo jobs, which are not among the ten.
        queued, cap: jobs queued there, and their maximum; None is no cap.
        running: jobs that count as running there (nRun).
        maxwdir: MiB of scratch for the job; None is no limit.
        max_walltime: walltime limit in seconds of the smallest job there; 0 is no limit.
        platform: the platform that a regular expression selects at this queue.
        local_files, tape_files: input files on its disks, and on disk or tape.
    """

    queue: str
    unit: str
    weight: float
    bootstrap: bool = False
    jumbo: bool = False
    queued: int = 0
    cap: int | None = None
    running: int = 0
    maxwdir: float | None = None
    max_walltime: float = 0
    platform: str | None = None
    local_files: int = 0
    tape_files: int = 0


class Verdict(NamedTuple):
    """The decision about one queue.

    Attributes:
        queue, unit: its name, and the name that CRIC knows.
        stage: the stage that decided; empty for a candidate.
        reason: PanDA's tag; empty for a candidate.
        permanent: the issue is persistent, not temporary.
        details: the numbers compared.
        weight, terms: the weight and its factors; None and empty if the queue was not weighed.
        numbers: the numbers behind the factors.
        of: the reason itself; None for a candidate.
    """

    queue: str
    unit: str
    stage: str
    reason: str
    permanent: bool
    details: Details
    weight: float | None
    terms: dict[str, float]
    numbers: Details
    of: Reason | None = None


_NO_ROWS: Rows = np.zeros(0, dtype=np.intp)
_NO_WEIGHTS: Floats = np.zeros(0)


class Outcome(Struct, dict=True):
    """The result for one task.

    Attributes:
        request: the request.
        plan: the flow; the numbers in *decided* refer to its `reasons`.
        status: see `Status`.
        refusals: each queue is refused for the first of these that has it; the others are candidates.
        stages: the stage table.
        shared: what the first of *refusals* and of *stages* come from, if that is the same for many tasks.
        chosen: the rows of the candidates in order: queues to be tried out, then by weight, then by name.
        weights: the weight of each of *chosen*.
        describe: returns `candidates`, which takes longer than to choose them.
        stopped_by: tag of the reason that stopped the task before any queue; empty if none.
        stop_details: the numbers compared then.
        retry_after: seconds until the task is brokered again; None if it is assigned.
    """

    request: BrokerageRequest
    plan: Plan
    status: Status
    refusals: Sequence[Refusal] = ()
    stages: Sequence[StageCount] = ()
    shared: Course | None = None
    chosen: Rows = _NO_ROWS
    weights: Floats = _NO_WEIGHTS
    describe: Callable[[], list[Candidate]] = list
    stopped_by: str = ""
    stop_details: Details = field(default_factory=dict)
    retry_after: float | None = None

    @property
    def best(self) -> list[tuple[str, float]]:
        """The candidates in order, each with its weight."""
        names = self.request.columns.names
        return [(names[row], weight) for row, weight in zip(self.chosen.tolist(), self.weights.tolist(), strict=True)]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The candidates with all that is known of them."""
        return self.describe()

    @cached_property
    def decided(self) -> NDArray[np.int16]:
        """For every row of the columns the number of its reason, or `UNDECIDED` for a candidate."""
        return decided_by(((one.number, one.rows) for one in self.refusals), len(self.request.columns))

    def reason_counts(self) -> Iterator[tuple[StageReason, int]]:
        """Yield how many queues are refused for each reason; a reason may come more than once."""
        left = (1 << len(self.request.columns)) - 1
        for one in self.refusals:
            hit = left & one.rows
            left ^= hit
            yield self.plan.reasons[one.number], hit.bit_count()

    def verdict(self, row: int) -> Verdict:
        """Return the decision about the queue of *row*, with the values compared."""
        request = self.request
        queue, weighing, weight = request.columns.queues[row], request.weighing, None
        terms: dict[str, float] = {}
        numbers: Details = {}
        if weighing is not None and weighing.has(row):
            weight, terms = weighing.weight_of(row), weighing.terms_of(request, row)
            for factor in self.plan.weights:
                numbers |= factor.details(request, row)
        number = int(self.decided[row])
        if number == UNDECIDED:
            return Verdict(queue.name, queue.unit, "", "", True, {}, weight, terms, numbers)
        reason, stage, one = self.plan.reasons[number]
        return Verdict(
            queue.name,
            queue.unit,
            stage,
            reason.tag,
            not reason.is_temporary,
            self.stop_details if one is None else one.details(request, row, reason),
            weight,
            terms,
            numbers,
            reason,
        )

    def verdicts(self) -> Iterator[Verdict]:
        """Yield the decision about each queue, in order of name."""
        return (self.verdict(row) for row in range(len(self.decided)))


def decided_by(refusals: Iterable[tuple[int, int]], size: int) -> NDArray[np.int16]:
    """Return for each of *size* queues the number of the first of the *refusals* that has it, or `UNDECIDED`.

    A refusal is the number of a reason and a set of queues.
    """
    decided = np.full(size, UNDECIDED, dtype=np.int16)
    left = (1 << size) - 1
    for number, rows in refusals:
        hit = left & rows
        decided[rows_in(hit, size)] = number
        left ^= hit
    return decided
