"""Run one task through a flow: filters, weights, filters of weighed queues.

Answers of filters and weights are cached by filter and by the values read from the task.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.course import (
    UNDECIDED,
    Answer,
    Course,
    Lines,
    Numbers,
    count_units,
    course_of,
    refused_at,
)
from fairq.engine.brokerage.flow.plan import Plan, Step
from fairq.engine.brokerage.flow.plugin import Figures, Filter, Left, Refusal, Values, Weight
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.world import PRODUCTION

KEPT_BYTES = 16_000_000
"""Maximum size of the cache; when it is exceeded, the cache is emptied."""

_LEFT = "left"

_ENTRY = 500
"""Approximate bytes of a cache entry without its arrays."""

T = TypeVar("T")


class Weighing(NamedTuple):
    """The weights of the queues that passed the filters.

    Args:
        rows: the queues weighed.
        weights: the weight of each row; undefined for rows that were not weighed.
        factors: by the name of each weight that counts, the factor of each row.
        alike: tasks with the same value have equal weights at most rows; None: unknown.
    """

    rows: Booleans
    weights: Floats
    factors: dict[str, Floats]
    alike: Hashable


class Final(NamedTuple):
    """The end of a flow: the queues left, the number of the reason of each row, and the lines of the stage table."""

    rows: Booleans
    decided: Numbers
    lines: Lines


class Flow:
    """A plan in one pool.

    Args:
        plan: the filters and weights.
        pool: the queues and rules.
    """

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan, self.pool = plan, pool
        stage_of = [0] * len(plan.reasons)
        for _, step, first, stage in plan.steps["before"]:
            stage_of[first : first + len(step.reasons)] = [stage] * len(step.reasons)
        self._stage_of_reason = np.array([*stage_of, plan.removal], np.intp)
        self._after = [(stage, list(steps)) for stage, steps in groupby(plan.steps["after"], lambda step: step.stage)]
        self._kept: dict[Hashable, Any] = {}
        self._size = 0

    def courses(self, asks: Sequence[Ask]) -> list[Course]:
        """Return the result of the filters before the weights for each task.

        Each filter is applied to all tasks before the next one: its code and data stay in the processor's caches.
        Task by task takes twice as long.
        """
        answers_by_task: list[list[Answer]] = [[] for _ in asks]
        for step in self.plan.steps["before"]:
            reads = step.filter.reads
            for ask, answers in zip(asks, answers_by_task, strict=True):
                values = reads(ask)
                answer = None if values is None else self._answer_of(step, values, answers)
                if answer is not None:
                    answers.append(answer)
        return [self._course(tuple(answers)) for answers in answers_by_task]

    def _answer_of(self, step: Step, values: Values, answers: list[Answer]) -> Answer | None:
        """Return the answer of a filter for *values*; None if it does not apply.

        *answers*: those of the filters before it.
        """
        number, check, first, stage = step
        if check.looks_back:
            rows = self._kept_as((_LEFT, *answers), lambda: self._left(answers), len(self.pool))
            return self._answer(stage, check, first, values, Left(rows)) if rows.any() else None
        if not check.kept:
            return self._answer(stage, check, first, values)
        key = number, values if check.alike is None else check.alike(self.pool, *values)
        answer: Answer | None = self._kept.get(key)
        if answer is None:
            answer = self._answer(stage, check, first, values)
            self._keep(key, answer, 0)
        return answer

    def _left(self, answers: list[Answer]) -> Booleans:
        rows: Booleans = refused_at(answers, len(self.pool)) == UNDECIDED
        return rows

    def _course(self, answers: tuple[Answer, ...]) -> Course:
        def make() -> Course:
            stage_of, starts, size = self._stage_of_reason, self.pool.starts, len(self.pool)
            settles = self.plan.activity == PRODUCTION
            return course_of(answers, stage_of, starts, size, settles=settles)

        return self._kept_as(answers, make, 4 * len(self.pool) + 5000)

    def _answer(self, stage: int, check: Filter, first: int, values: Values, *remaining: Left) -> Answer | None:
        """Judge all rows; the first refusal of a row counts. Equal answers are the same object."""
        refusals = check.judge(self.pool, *remaining, *values)
        if refusals is None:
            return None
        codes = np.zeros(len(self.pool), np.uint8)
        for reason, rows, _ in refusals:
            np.copyto(codes, check.reasons.index(reason) + 1, where=rows & (codes == 0))
        if not codes.any():
            return self._kept_as((stage, first), lambda: Answer(stage, None, None), 0)
        return self._kept_as(
            (stage, first, codes.tobytes()), lambda: _numbered(stage, check, first, codes), 5 * len(codes)
        )

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        self._size += size + _ENTRY
        if self._size > KEPT_BYTES:
            self._kept.clear()
            self._size = size + _ENTRY
        self._kept[key] = value

    def _kept_as(self, key: Hashable, make: Callable[[], T], size: int) -> T:
        """Return the result of *make*, cached under *key*; *size* is its bytes."""
        value: T | None = self._kept.get(key)
        if value is None:
            value = make()
            self._keep(key, value, size)
        return value

    def weighing(self, ask: Ask, rows: Booleans) -> Weighing:
        """Return the weights of *rows*: the product of all factors that count, in order."""
        factors: dict[str, Floats] = {}
        weights = np.ones(len(self.pool))
        alike: list[Values] | None = []
        # Rows that were not passed in may divide by 0: their weights are never read.
        with np.errstate(all="ignore"):
            for weight in self.plan.weights:
                values = weight.reads(ask)
                factor = None if values is None else self._factor(weight, values, rows)
                if values is None or factor is None:
                    continue
                factors[weight.name] = factor
                weights = weights * factor
                key = (
                    weight.alike(*values) if weight.alike else None if weight.looks_back or not weight.kept else values
                )
                alike = None if alike is None or key is None else [*alike, key]
        return Weighing(rows, weights, factors, None if alike is None else (*factors, *alike))

    def _factor(self, weight: Weight, values: Values, rows: Booleans) -> Floats | None:
        if weight.looks_back or not weight.kept:
            return weight.weigh(self.pool, *_look_back(weight, Left(rows)), *values)[0]
        (factor,) = self._kept_as(
            (weight.name, values), lambda: weight.weigh(self.pool, *values)[:1], 8 * len(self.pool)
        )
        return factor

    def final(self, ask: Ask, course: Course, weighing: Weighing) -> Final:
        """Apply the filters of weighed queues and return the final state."""
        rows, decided, lines = weighing.rows, course.decided.copy(), []
        _, _, count_left, _, units, _ = course.lines[-1].tolist()
        for stage, steps in self._after:
            before, marked, is_looked_at = count_left, 0, False
            for step in steps:
                refusals = self.refusals(ask, step, Left(rows, weighing.weights)) if count_left else None
                if refusals is None:
                    continue
                is_looked_at = True
                for reason, refused, _ in refusals:
                    hit = refused & rows
                    count = int(np.count_nonzero(hit))
                    if count and reason.permanent:
                        decided[hit] = step.first + step.filter.reasons.index(reason)
                        rows = rows ^ hit
                        count_left -= count
                    else:
                        marked += count
            if is_looked_at:
                units_left = units if count_left == before else count_units(rows, self.pool.starts)
                lines.append((stage, before, count_left, units, units_left, marked))
                units = units_left
        return Final(rows, decided, np.array(lines, np.int64).reshape(-1, 6))

    def refusals(self, ask: Ask, step: Step, remaining: Left) -> list[Refusal] | None:
        """Return the refusals of one filter for one task, with figures; None if it does not apply."""
        check = step.filter
        values = check.reads(ask)
        if values is None:
            return None
        refusals = check.judge(self.pool, *_look_back(check, remaining), *values)
        return None if refusals is None else list(refusals)

    def weight_figures(self, ask: Ask, rows: Booleans) -> list[Figures]:
        """Return the figures of all weights for a task."""
        figures = []
        for weight in self.plan.weights:
            values = weight.reads(ask)
            if values is not None:
                figures.append(weight.weigh(self.pool, *_look_back(weight, Left(rows)), *values)[1])
        return figures


def _look_back(member: Filter | Weight, remaining: Left) -> tuple[Left, ...]:
    """Return the extra argument of a filter or weight that looks back: the remaining queues; empty for others."""
    return (remaining,) if member.looks_back else ()


def _numbered(stage: int, check: Filter, first: int, codes: np.ndarray) -> Answer:
    """Return the answer for *codes*: 0 passes, *k* is the filter's k-th reason."""
    hard, soft = [UNDECIDED], [-1]
    for number, reason in enumerate(check.reasons, first):
        hard.append(number if reason.permanent else UNDECIDED)
        soft.append(-1 if reason.permanent else number)
    at_once, later = np.array(hard, np.int16)[codes], np.array(soft, np.int16)[codes]
    return Answer(stage, at_once if (at_once != UNDECIDED).any() else None, later if (later >= 0).any() else None)


def flow_of(plan: Plan, pool: Pool) -> Flow:
    """Return the flow of *plan* in *pool*, created once."""
    return pool.under(plan, lambda: Flow(plan, pool))
