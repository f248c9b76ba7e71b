"""Packs the outcomes of a run as bytes; `fairq.steps.broker.kept_verdict` reads them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from msgspec.msgpack import encode
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.course import UNDECIDED, Answer, Course, Numbers
from fairq.engine.brokerage.flow.flow import Weighing
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.world import PRODUCTION, Activity
from fairq.steps.broker.kept_verdict import (
    COUNT,
    WEIGHT,
    Legend,
    Packed,
    PackedCourse,
    Refused,
    StoredReason,
    packed_set,
)


class _Weights(NamedTuple):
    """The weights that tasks have in common: their number, one for each row, and the rows weighed by them."""

    number: int
    weights: NDArray[np.float32]
    rows: Booleans


class Packer:
    """Packs the outcomes of one run.

    Args:
        names: of the queues.
        plans: the flows, by activity.

    Attributes:
        reasons: by activity, those of the flow.
    """

    def __init__(self, names: Sequence[str], plans: Mapping[Activity, Plan]) -> None:
        self._names, self._stages = list(names), {activity: plan.stages for activity, plan in plans.items()}
        self.reasons = {activity: reasons_of(plan) for activity, plan in plans.items()}
        self._refusals: dict[Refused, int] = {}
        self._courses: list[PackedCourse] = []
        # The numbers of what is there as long as these are.
        self._of_answers: WeakKeyDictionary[Answer, tuple[list[int], list[int]]] = WeakKeyDictionary()
        self._of_courses: WeakKeyDictionary[Course, int] = WeakKeyDictionary()
        # By what their weights have in common: tasks of which one has been seen, and the weights of the others.
        self._seen: set[Hashable] = set()
        self._common: dict[Hashable, _Weights] = {}

    @property
    def legend(self) -> Legend:
        """What the outcomes that have been packed refer to."""
        weights = [(packed_set(one.rows), one.weights[one.rows].tobytes()) for one in self._common.values()]
        return Legend(self._names, self._stages, self.reasons, list(self._refusals), self._courses, weights)

    def pack(self, outcome: Outcome) -> bytes:
        """Return *outcome* as bytes."""
        activity, course, weighing = outcome.plan.activity, outcome.course, outcome.weighing
        # An analysis task has the lines of all its stages itself.
        in_common = len(course.lines) if course is not None and activity == PRODUCTION else 0
        before = UNDECIDED if course is None else course.decided
        common, rows, weights = (None, b"", b"") if weighing is None else self._weights(weighing)
        return encode(
            Packed(
                activity,
                None if course is None else self._course(activity, course),
                outcome.lines[in_common:].astype(COUNT).tobytes(),
                _refused(outcome.decided, outcome.decided != before),
                common,
                rows,
                weights,
                outcome.chosen.tolist(),
                outcome.weights.tolist(),
                outcome.stopped_by,
            )
        )

    def _course(self, activity: Activity, course: Course) -> int:
        """Return the number of a course."""
        number = self._of_courses.get(course)
        if number is None:
            lines = course.lines.astype(COUNT).tobytes() if activity == PRODUCTION else b""
            answers = [self._answer(one) for one in course.answers]
            # The last of the temporary problems counts.
            refusals = [n for hard, _ in answers for n in hard] + [n for _, soft in reversed(answers) for n in soft]
            number = self._of_courses[course] = len(self._courses)
            self._courses.append(PackedCourse(lines, refusals))
        return number

    def _answer(self, answer: Answer) -> tuple[list[int], list[int]]:
        """Return the numbers of the refusals of an answer: those at once, and those for temporary problems."""
        found = self._of_answers.get(answer)
        if found is None:
            hard = [] if answer.hard is None else _refused(answer.hard, answer.hard != UNDECIDED)
            soft = [] if answer.soft is None else _refused(answer.soft, answer.soft >= 0)
            found = self._of_answers[answer] = [*map(self._number, hard)], [*map(self._number, soft)]
        return found

    def _number(self, refused: Refused) -> int:
        return self._refusals.setdefault(refused, len(self._refusals))

    def _weights(self, weighing: Weighing) -> tuple[int | None, bytes, bytes]:
        """Return the number of the weights in common, the rows that weigh otherwise, and their weights.

        Without weights in common, the weights of all rows that are weighed.
        """
        rows, weights, alike = weighing.rows, weighing.weights.astype(WEIGHT), weighing.alike
        if alike is None or alike not in self._seen:
            # What a single task has, so far, is as short without a number.
            self._seen.add(alike)
            return None, b"", weights[rows].tobytes()
        common = self._common.get(alike)
        if common is None:
            common = self._common[alike] = _Weights(len(self._common), weights, np.zeros(len(rows), np.bool_))
        common.rows[rows] = True
        own = np.flatnonzero(rows & (weights != common.weights))
        return common.number, own.astype(COUNT).tobytes(), weights[own].tobytes()


def _refused(numbers: Numbers, rows: Booleans) -> list[Refused]:
    """Return for each of the *numbers* of reasons at some *rows* the queues that have it, as a set."""
    return [(number, packed_set(rows & (numbers == number))) for number in sorted(set(numbers[rows].tolist()))]


def reasons_of(plan: Plan) -> list[StoredReason]:
    """Return the reasons of a flow by their numbers."""
    return [
        StoredReason(stage, reason.tag, reason.meaning, reason.permanent, reason.is_temporary)
        for reason, stage, _ in plan.reasons
    ]
