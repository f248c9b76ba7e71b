"""The result of the filters before the weights for each queue, and the stage table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.pool.columns import Booleans

TEMPORARY_STAGE = "temporary problem check"

UNDECIDED = 32767
"""Stands for "no reason": the queue is not refused, and at the end it is a candidate."""

Numbers = NDArray[np.int16]
"""The number of a reason for each row."""

Lines = NDArray[np.int64]
"""Lines of the stage table: the number of the stage in its plan, and the numbers of a `StageCount`."""


class StageCount(NamedTuple):
    """Number of queues before and after a stage: *rows* with pseudo queues, *units* as CRIC knows them.

    *marked* counts rows that the stage refuses temporarily; ``rows_after`` still includes them.
    """

    stage: str
    rows_before: int
    rows_after: int
    units_before: int
    units_after: int
    marked: int = 0


class Answer:
    """The answer of one filter for each queue.

    Args:
        stage: the number of the filter's stage.
        hard: number of the reason that refuses the queue at once, or `UNDECIDED`; None: no queue is refused.
        soft: number of a temporary problem, or -1; None: no queue has one.
    """

    __slots__ = ("__weakref__", "hard", "soft", "stage")

    def __init__(self, stage: int, hard: Numbers | None, soft: Numbers | None) -> None:
        self.stage, self.hard, self.soft = stage, hard, soft


def refused_at(answers: Sequence[Answer], size: int) -> Numbers:
    """Return for each row the lowest number of a reason that refuses it at once, or `UNDECIDED`."""
    hard = [answer.hard for answer in answers if answer.hard is not None]
    return np.minimum.reduce(hard) if hard else np.full(size, UNDECIDED, np.int16)


class Course:
    """The result of all filters before the weights; tasks with equal answers share it.

    Args:
        answers: answers of the filters that apply, in order.
        decided: for each row the number of its reason, or `UNDECIDED`.
        lines: lines of the stage table.
    """

    def __init__(self, answers: Sequence[Answer], decided: Numbers, lines: Lines) -> None:
        self.answers, self.decided, self.lines = answers, decided, lines
        self.is_open = bool((decided == UNDECIDED).any())

    @property
    def rows(self) -> Booleans:
        """The queues that pass."""
        rows: Booleans = self.decided == UNDECIDED
        return rows


def course_of(
    answers: Sequence[Answer], stage_of: NDArray[np.intp], starts: NDArray[np.intp], size: int, *, settles: bool
) -> Course:
    """Combine *answers* into a `Course`.

    A queue with temporary problems is refused after the last filter, with its last problem as the reason.

    Args:
        stage_of: the stage of each reason, and at its end that of the removal of temporary problems.
        starts: the first row of each unit, of *size* rows.
        settles: add the line of the temporary problem check to the stage table even if there is no such problem.
    """
    hard = refused_at(answers, size)
    decided, removal = hard, stage_of.item(-1)
    stages, marked = (
        np.array(list(dict.fromkeys(answer.stage for answer in answers)), np.intp),
        np.zeros(removal, np.intp),
    )
    problems = [(answer.stage, answer.soft) for answer in answers if answer.soft is not None]
    if problems:
        last = np.maximum.reduce([soft for _, soft in problems])
        decided = np.where((hard == UNDECIDED) & (last >= 0), last, hard)
        for stage, soft in problems:
            # A temporary problem counts unless an earlier filter refuses the queue.
            marked[stage] += np.count_nonzero((soft >= 0) & (soft < hard))
    ends = stage_of.take(hard, mode="clip")
    rows = np.bincount(ends, minlength=removal)[stages]
    units = np.bincount(np.maximum.reduceat(ends, starts), minlength=removal)[stages] if size else rows
    rows_left, units_left = size - rows.cumsum(), len(starts) - units.cumsum()
    lines = np.array((stages, rows_left + rows, rows_left, units_left + units, units_left, marked[stages])).T
    is_empty = rows_left == 0
    if is_empty.any():
        lines = lines[: is_empty.argmax() + 1]
    elif settles or marked.any():
        chosen = decided == UNDECIDED
        counts = int(np.count_nonzero(chosen)), count_units(chosen, starts)
        settled = [removal, rows_left.item(-1), counts[0], units_left.item(-1), counts[1], 0]
        lines = np.concatenate((lines, np.array([settled])))
    return Course(answers, decided, lines)


def count_units(rows: Booleans, starts: NDArray[np.intp]) -> int:
    """Return the number of units that have one of *rows*; *starts* is the first row of each unit."""
    return int(np.count_nonzero(np.logical_or.reduceat(rows, starts))) if len(starts) else 0
