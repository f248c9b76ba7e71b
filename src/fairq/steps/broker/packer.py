"""Packs the outcomes of a run as bytes; `fairq.steps.broker.kept_verdict` reads them.

What many tasks have in common stands once, in the document of their run (see `Legend`): names of queues and stages, the
sets of queues that are refused to all tasks with the same needs or weighed for them, the courses of tasks, and weights.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.course import UNDECIDED, Answer, Course, Numbers, StageCount
from fairq.engine.brokerage.flow.flow import Weighing
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.world import PRODUCTION
from fairq.steps.broker.kept_verdict import (
    EXACT,
    NUMBER,
    SMALL,
    WEIGHT,
    Head,
    PackedCourse,
    Refused,
    legend_document,
    packed_refusal,
    packed_set,
)


class _Weights(Struct):
    """The weights that tasks have in common: their number, one weight for each row, and the rows weighed by them."""

    number: int
    weights: NDArray[np.float32]
    rows: Booleans


class Packer:
    """Packs the outcomes of one run.

    Args:
        names: of the queues.
        stages: by activity, the names of the stages in order.
    """

    def __init__(self, names: Sequence[str], stages: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        self._orders = {activity: list(order) for activity, order in stages.items()}
        self._places = {activity: {name: at for at, name in enumerate(order)} for activity, order in stages.items()}
        self._activities = list(stages)
        self._size = 2 if len(names) < 2**16 else 4
        self._small = SMALL[self._size]
        self._line = struct.Struct(f"<6{'H' if self._size == 2 else 'I'}")
        # What many tasks have in common; the numbers of courses and answers go with these.
        self._refusals: dict[Refused, int] = {}
        self._of_answers: WeakKeyDictionary[Answer, tuple[list[int], list[int]]] = WeakKeyDictionary()
        self._of_courses: WeakKeyDictionary[Course, int] = WeakKeyDictionary()
        self._courses: list[PackedCourse] = []
        self._weighed: dict[bytes, int] = {}
        # By what their weights have in common: tasks of which one has been seen, and the weights of the others.
        self._seen: set[Hashable] = set()
        self._common: dict[Hashable, _Weights] = {}

    def document(self) -> dict[str, Any]:
        """Return what the packed outcomes refer to; see `Legend`."""
        weights = [(one.rows, one.weights) for one in self._common.values()]
        return legend_document(self._names, self._orders, self._refusals, self._courses, self._weighed, weights)

    def pack(self, outcome: Outcome) -> bytes:
        """Return *outcome* as bytes."""
        activity, course, weighing = outcome.plan.activity, outcome.course, outcome.weighing
        in_common = len(course.stages) if course is not None and activity == PRODUCTION else 0
        stages = outcome.stages[in_common:]
        own: list[Refused] = []
        if course is not None and outcome.decided is not course.decided:
            own = _refused(outcome.decided, outcome.decided != course.decided)
        numbers = [0] * len(own)
        if course is None:
            numbers = [self._number(refused) for refused in _refused(outcome.decided, outcome.decided != UNDECIDED)]
        weighed, common, rows, weights = (0, 0, b"", b"") if weighing is None else self._weights(weighing)
        head = Head(
            0 if course is None else self._course(activity, course),
            weighed,
            common,
            self._activities.index(activity),
            len(stages),
            len(outcome.chosen),
            len(numbers),
            len(own),
            len(rows) // self._size,
        )
        return b"".join((
            head.packed(self._size),
            self._lines(activity, stages),
            outcome.chosen.astype(self._small).tobytes(),
            struct.pack(f"<{len(numbers)}I", *numbers),
            *map(packed_refusal, own),
            outcome.weights.astype(EXACT, copy=False).tobytes(),
            weights,
            rows,
            outcome.stopped_by.encode(),
        ))  # fmt: skip

    def _weights(self, weighing: Weighing) -> tuple[int, int, bytes, bytes]:
        """Return the numbers of the queues weighed and of the weights in common, the rows of own weights, and weights.

        The weights are those of the latter rows, or of all."""
        rows, weights = weighing.rows, weighing.weights.astype(WEIGHT)
        weighed = self._weighed.setdefault(packed_set(rows), len(self._weighed) + 1)
        alike = weighing.alike
        if alike is None or alike not in self._seen:
            # What a single task has, so far, is as short without a number.
            self._seen.add(alike)
            return weighed, 0, b"", weights[rows].tobytes()
        common = self._common.get(alike)
        if common is None:
            common = self._common[alike] = _Weights(len(self._common) + 1, weights, np.zeros(len(rows), np.bool_))
        common.rows |= rows
        own = np.flatnonzero(rows & (weights != common.weights))
        return weighed, common.number, own.astype(self._small).tobytes(), weights[own].tobytes()

    def _course(self, activity: str, course: Course) -> int:
        """Return the number of a course; an analysis task has the lines of its stages itself."""
        found = self._of_courses.get(course)
        if found is None:
            lines = self._lines(activity, course.stages) if activity == PRODUCTION else b""
            answers = [self._answer(one) for one in course.answers]
            # The last of the temporary problems counts.
            numbers = [n for hard, _ in answers for n in hard] + [n for _, soft in reversed(answers) for n in soft]
            self._courses.append(PackedCourse(lines, np.array(numbers, NUMBER).tobytes()))
            found = self._of_courses[course] = len(self._courses)
        return found

    def _answer(self, answer: Answer) -> tuple[list[int], list[int]]:
        """Return the numbers of the refusals of an answer: those at once, and those for temporary problems."""
        found = self._of_answers.get(answer)
        if found is None:
            hard = [] if answer.hard is None else _refused(answer.hard, answer.hard != UNDECIDED)
            soft = [] if answer.soft is None else _refused(answer.soft, answer.soft >= 0)
            found = self._of_answers[answer] = [*map(self._number, hard)], [*map(self._number, soft)]
        return found

    def _number(self, refused: Refused) -> int:
        return self._refusals.setdefault(refused, len(self._refusals) + 1)

    def _lines(self, activity: str, stages: Iterable[StageCount]) -> bytes:
        """Return the lines of a stage table one after the other, with the place of each stage for its name."""
        places, pack = self._places[activity], self._line.pack
        return b"".join([pack(places[line.stage], *line[1:]) for line in stages])


def _refused(numbers: Numbers, rows: Booleans) -> list[Refused]:
    """Return for each of the *numbers* of reasons at some *rows* the queues that have it, as a set."""
    return [(number, packed_set(rows & (numbers == number))) for number in sorted(set(numbers[rows].tolist()))]
