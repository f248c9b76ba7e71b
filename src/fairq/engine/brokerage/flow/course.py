"""What the filters before the weights come to for each queue, and the stage table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.pool.columns import Booleans

TEMPORARY_STAGE = "temporary problem check"

UNDECIDED = 32767
"""In place of the number of a reason: the queue is not refused; at the end it is a candidate."""

Numbers = NDArray[np.int16]
"""The number of a reason for each row."""


class StageCount(NamedTuple):
    """Queues before and after one stage: *rows* counts pseudo queues, *units* counts queues as CRIC knows them.

    *marked* counts the rows that it refuses temporarily; they are still counted after it.
    """

    stage: str
    rows_before: int
    rows_after: int
    units_before: int
    units_after: int
    marked: int = 0


class Answer:
    """What a filter says of each queue.

    Args:
        stage: the number of the filter's stage.
        hard: the number of the reason that refuses the queue at once, or `UNDECIDED`; None: no queue.
        soft: the number of a temporary problem, or -1; None: no queue.
    """

    __slots__ = ("__weakref__", "hard", "soft", "stage")

    def __init__(self, stage: int, hard: Numbers | None, soft: Numbers | None) -> None:
        self.stage, self.hard, self.soft = stage, hard, soft


def refused_at(answers: Sequence[Answer], size: int) -> Numbers:
    """Return for each of *size* rows the least number of a reason that refuses it at once, or `UNDECIDED`."""
    hard = [one.hard for one in answers if one.hard is not None]
    return np.minimum.reduce(hard) if hard else np.full(size, UNDECIDED, np.int16)


class Course:
    """What became of the queues before the weights: tasks with the same answers share it.

    Args:
        answers: of the filters that apply, in order.
        decided: for each row the number of its reason, or `UNDECIDED`.
        stages: the stage table.
    """

    def __init__(self, answers: Sequence[Answer], decided: Numbers, stages: tuple[StageCount, ...]) -> None:
        self.answers, self.decided, self.stages = answers, decided, stages
        self.is_open = bool((decided == UNDECIDED).any())

    @property
    def rows(self) -> Booleans:
        """The queues that pass."""
        rows: Booleans = self.decided == UNDECIDED
        return rows


def course_of(
    answers: Sequence[Answer],
    stages: Sequence[str],
    stage_of: NDArray[np.intp],
    starts: NDArray[np.intp],
    size: int,
    *,
    settles: bool,
) -> Course:
    """Return the course of *answers*.

    A queue with temporary problems is removed after the last filter, for the last of them.

    Args:
        stages: the names of all stages; *stage_of* has the stage of each reason, and at its end their number.
        starts: the first row of each unit, of *size* rows.
        settles: the removal of temporary problems has a line in the stage table even if there are none.
    """
    hard = refused_at(answers, size)
    decided, marked = hard, dict.fromkeys((one.stage for one in answers), 0)
    problems = [(one.stage, one.soft) for one in answers if one.soft is not None]
    if problems:
        last = np.maximum.reduce([soft for _, soft in problems])
        decided = np.where((hard == UNDECIDED) & (last >= 0), last, hard)
        for stage, soft in problems:
            # A temporary problem counts unless an earlier filter refuses the queue.
            marked[stage] += int(np.count_nonzero((soft >= 0) & (soft < hard)))
    ends = stage_of.take(hard, mode="clip")
    rows = np.bincount(ends, minlength=len(stages) + 1).tolist()
    units = np.bincount(np.maximum.reduceat(ends, starts), minlength=len(stages) + 1).tolist() if size else rows
    table: list[StageCount] = []
    left, units_left = size, len(starts)
    for stage, count in marked.items():
        before, units_before = left, units_left
        left, units_left = left - rows[stage], units_left - units[stage]
        table.append(StageCount(stages[stage], before, left, units_before, units_left, count))
        if not left:
            break
    if left and (settles or any(marked.values())):
        chosen = decided == UNDECIDED
        counts = int(np.count_nonzero(chosen)), count_units(chosen, starts)
        table.append(StageCount(TEMPORARY_STAGE, left, counts[0], units_left, counts[1]))
    return Course(answers, decided, tuple(table))


def count_units(rows: Booleans, starts: NDArray[np.intp]) -> int:
    """Return the number of units that have one of *rows*; *starts* is the first row of each unit."""
    return int(np.count_nonzero(np.logical_or.reduceat(rows, starts))) if len(starts) else 0
