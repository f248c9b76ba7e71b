"""The result of a brokerage run for one task: the candidates, and the reason of each other queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.course import UNDECIDED, Course, Lines, Numbers, StageCount, refused_at
from fairq.engine.brokerage.flow.flow import Flow, Weighing
from fairq.engine.brokerage.flow.plan import Step
from fairq.engine.brokerage.flow.plugin import Details, Figures, Left, Reason, Refusal
from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.columns import Booleans, Floats
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import ANALYSIS

Status = Literal["assigned", "failed", "waiting", "fatal"]
"""In this order: candidates found; no queue or no input; throttled, without ageing; only given queues refused."""


class Candidate(Struct, frozen=True):
    """A queue for the task's jobs.

    Args:
        queue: its name; of a pseudo queue with its resource type.
        unit: the name that CRIC knows.
        weight: its weight; 0 of a queue that is tried out (*bootstrap*).
        bootstrap: whether it is an idle queue that gets one job as a trial.
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
        of: the reason; without a tag for a candidate.
        weight: None if the queue was not weighed.
        details: the numbers compared.
        terms: the factors of the weight.
        numbers: the numbers behind the factors.
    """

    queue: str
    unit: str
    stage: str
    of: Reason
    weight: float | None
    details: Details
    terms: dict[str, float]
    numbers: Details

    @property
    def reason(self) -> str:
        """PanDA's tag; empty for a candidate."""
        return self.of.tag

    @property
    def permanent(self) -> bool:
        """Whether the issue is persistent, not temporary."""
        return not self.of.is_temporary


class Obstacle(NamedTuple):
    """A check that refuses a queue: its stage, its reason, and the values compared."""

    stage: str
    reason: Reason
    details: Details


def _no_candidates(outcome: Outcome) -> list[Candidate]:
    return []


class Outcome:
    """The result for one task.

    Args:
        flow: the flow; *ask*: the task, in the last pass.

    Attributes:
        status: see `Status`.
        course: result of the filters before the weights; None if the task was stopped.
        weighing: the weights of the queues that passed; None if none did.
        decided: number of the reason of each row in the plan, or `UNDECIDED` for a candidate.
        lines: lines of the stage table.
        chosen: the rows of the candidates in order: queues to be tried out, then by weight, then by name.
        weights: the weight of each of *chosen*.
        describe: function that returns the `candidates`; called on demand, since it takes longer than choosing them.
        stopped_by: tag of the reason that stopped the task before any queue; empty if none.
        stop_details: the numbers compared then.
        retry_after: seconds until the task is brokered again; None if it is assigned.
    """

    def __init__(self, flow: Flow, ask: Ask) -> None:
        self.flow, self.plan, self.ask = flow, flow.plan, ask
        self.status: Status = "failed"
        self.course: Course | None = None
        self.weighing: Weighing | None = None
        self.decided: Numbers = np.full(len(flow.pool), UNDECIDED, np.int16)
        self.lines: Lines = np.zeros((0, len(StageCount._fields)), np.int64)
        self.chosen: NDArray[np.intp] = np.zeros(0, np.intp)
        self.weights: Floats = np.zeros(0)
        self.describe: Callable[[Outcome], list[Candidate]] = _no_candidates
        self.stopped_by = ""
        self.stop_details: Details = {}
        self.retry_after: float | None = None
        self._refusals: dict[int, list[Refusal]] = {}

    def stop(self, tag: str, details: Details, status: Status = "failed") -> None:
        """Refuse every queue for a reason that stops the task."""
        self.stopped_by, self.stop_details, self.status = tag, details, status
        self.decided = np.full(len(self.flow.pool), self.plan.stop_number(tag), np.int16)

    def take(self, course: Course, pass_name: str = "") -> bool:
        """Use *course* as the result of the filters before the weights; return whether a queue is left.

        *pass_name*: name of its first line in the stage table.
        """
        self.course, self.decided = course, course.decided
        before = len(self.lines)
        self.lines = np.concatenate((self.lines, course.lines))
        if pass_name:
            self.lines[before, 0] = self.plan.stages.index(pass_name)
        return course.is_open

    def weigh(self) -> None:
        """Weigh the queues that are left."""
        assert self.course is not None
        self.weighing = self.flow.weighing(self.ask, self.course.rows)

    def choose(self) -> Booleans:
        """Apply the filters of weighed queues; return the remaining rows."""
        assert self.course is not None and self.weighing is not None
        rows, self.decided, lines = self.flow.final(self.ask, self.course, self.weighing)
        self.lines = np.concatenate((self.lines, lines))
        return rows

    @property
    def stages(self) -> tuple[StageCount, ...]:
        """The stage table."""
        return tuple(StageCount(self.plan.stages[stage], *counts) for stage, *counts in self.lines.tolist())

    @property
    def last_stage(self) -> str:
        """The stage of the last line; empty if there is none."""
        return self.plan.stages[self.lines.item(-1, 0)] if len(self.lines) else ""

    @property
    def best(self) -> list[tuple[str, float]]:
        """The candidates in order, each with its weight."""
        names = self.flow.pool.names
        return [(names[row], weight) for row, weight in zip(self.chosen.tolist(), self.weights.tolist(), strict=True)]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The candidates with all details."""
        return self.describe(self)

    def verdict(self, row: int) -> Verdict:
        """Return the decision about the queue of *row*, with the values compared."""
        queue, number, weighing = self.flow.pool.queues[row], int(self.decided[row]), self.weighing
        weight: float | None = None
        terms: dict[str, float] = {}
        numbers: Details = {}
        if weighing is not None and weighing.rows[row]:
            weight = float(weighing.weights[row])
            terms = {name: float(factor[row]) for name, factor in weighing.factors.items()}
            for figures in self._weight_figures:
                numbers |= figures(row)
        if number == UNDECIDED:
            return Verdict(queue.name, queue.unit, "", Reason(""), weight, {}, terms, numbers)
        reason, stage, check = self.plan.reasons[number]
        details = self.stop_details if check is None else self._details(row, number)
        return Verdict(queue.name, queue.unit, stage, reason, weight, details, terms, numbers)

    def verdicts(self) -> Iterator[Verdict]:
        """Yield the decision about each queue, in order of name."""
        return (self.verdict(row) for row in range(len(self.decided)))

    @cached_property
    def _weight_figures(self) -> list[Figures]:
        assert self.weighing is not None
        return self.flow.weight_figures(self.ask, self.weighing.rows)

    def _details(self, row: int, number: int) -> Details:
        step = next(
            candidate
            for steps in reversed(self.plan.steps.values())
            for candidate in reversed(steps)
            if candidate.first <= number
        )
        if step.number not in self._refusals:
            self._refusals[step.number] = self.flow.refusals(self.ask, step, self._left_at(step)) or []
        reason = self.plan.reasons[number].reason
        return next(
            refusal for refusal in self._refusals[step.number] if refusal.reason == reason and refusal.rows[row]
        ).figures(row)

    def _left_at(self, step: Step) -> Left:
        """Return the queues that a filter saw: those that no earlier filter refused."""
        assert self.course is not None
        if step.filter.phase == "before" or self.weighing is None:
            return Left(refused_at(self.course.answers, len(self.decided)) >= step.first)
        return Left(self.weighing.rows & (self.decided >= step.first), self.weighing.weights)

    def obstacles(self, row: int) -> Iterator[Obstacle]:
        """Yield every filter that refuses the queue of *row*, in order, each on its own.

        Filters of the final check compare the queue with the task's candidates.
        """
        rows = np.zeros(len(self.decided), np.bool_)
        rows[[*self.chosen.tolist(), row]] = True
        turns = {
            "before": Left(np.ones(len(rows), np.bool_)),
            "after": Left(rows, self.flow.weighing(self.ask, rows).weights),
        }
        for steps in self.plan.steps.values():
            for step in steps:
                refusals = self.flow.refusals(self.ask, step, turns[step.filter.phase]) or []
                obstacle = next((refusal for refusal in refusals if refusal.rows[row]), None)
                if obstacle is not None:
                    yield Obstacle(step.filter.stage, obstacle.reason, obstacle.figures(row))


MINUTE = 60.0


def retry_after(ask: Ask) -> float:
    """Return the seconds until the next try: 60 minutes; 20 minutes for analysis under the rules documented.

    Under the rules panda, it is 30 minutes from priority 900 and 10 from 950, if that is earlier.
    """
    rules, priority = ask.rules, ask.task.current_priority
    minutes = 20 if ask.activity == ANALYSIS and rules.retry_by_activity else 60
    if not rules.retry_by_priority:
        return minutes * MINUTE
    if priority >= 950:
        minutes = min(minutes, 10)
    elif priority >= 900:
        minutes = min(minutes, 30)
    return minutes * MINUTE


def is_exhausted(task: Task, now: float, config: Config) -> bool:
    """Return whether a task is exhausted: without a queue for longer than ``PENDING_TIMEOUT``."""
    limit = config.amount("watchdog.PENDING_TIMEOUT", task.label)
    return task.frozen_time is not None and now - task.frozen_time > limit * 3600
