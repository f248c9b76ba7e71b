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
    """Weights shared by tasks: their number, the weight of each row, and the rows that some task weighed."""

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
        # Numbers are kept only while their answer or course is in use.
        self._answer_numbers: WeakKeyDictionary[Answer, tuple[list[int], list[int]]] = WeakKeyDictionary()
        self._course_numbers: WeakKeyDictionary[Course, int] = WeakKeyDictionary()
        # The sharing keys seen so far, and the weights of those seen at least twice.
        self._seen_keys: set[Hashable] = set()
        self._common_weights: dict[Hashable, _Weights] = {}

    @property
    def legend(self) -> Legend:
        """The legend of the outcomes packed so far."""
        weights = [
            (packed_set(common.rows), common.weights[common.rows].tobytes()) for common in self._common_weights.values()
        ]
        return Legend(self._names, self._stages, self.reasons, list(self._refusals), self._courses, weights)

    def pack(self, outcome: Outcome) -> bytes:
        """Return *outcome* as bytes."""
        activity, course, weighing = outcome.plan.activity, outcome.course, outcome.weighing
        # The lines of an analysis task are never shared.
        shared_lines = len(course.lines) if course is not None and activity == PRODUCTION else 0
        decided_before = UNDECIDED if course is None else course.decided
        common, rows, weights = (None, b"", b"") if weighing is None else self._weights(weighing)
        return encode(
            Packed(
                activity,
                None if course is None else self._course(activity, course),
                outcome.lines[shared_lines:].astype(COUNT).tobytes(),
                _refused(outcome.decided, outcome.decided != decided_before),
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
        number = self._course_numbers.get(course)
        if number is None:
            lines = course.lines.astype(COUNT).tobytes() if activity == PRODUCTION else b""
            answers = [self._answer(answer) for answer in course.answers]
            # The last of the temporary problems counts.
            refusals = [n for hard, _ in answers for n in hard] + [n for _, soft in reversed(answers) for n in soft]
            number = self._course_numbers[course] = len(self._courses)
            self._courses.append(PackedCourse(lines, refusals))
        return number

    def _answer(self, answer: Answer) -> tuple[list[int], list[int]]:
        """Return the numbers of the refusals of an answer: the immediate ones, and those for temporary problems."""
        numbers = self._answer_numbers.get(answer)
        if numbers is None:
            hard = [] if answer.hard is None else _refused(answer.hard, answer.hard != UNDECIDED)
            soft = [] if answer.soft is None else _refused(answer.soft, answer.soft >= 0)
            numbers = self._answer_numbers[answer] = (
                [*map(self._refusal_number, hard)],
                [*map(self._refusal_number, soft)],
            )
        return numbers

    def _refusal_number(self, refused: Refused) -> int:
        return self._refusals.setdefault(refused, len(self._refusals))

    def _weights(self, weighing: Weighing) -> tuple[int | None, bytes, bytes]:
        """Return the number of the shared weights, the rows with other weights, and these weights.

        Without shared weights, return None, no rows, and the weights of all weighed rows.
        """
        rows, weights, sharing_key = weighing.rows, weighing.weights.astype(WEIGHT), weighing.alike
        if sharing_key is None or sharing_key not in self._seen_keys:
            # For the first task with these weights, a shared entry would save nothing.
            self._seen_keys.add(sharing_key)
            return None, b"", weights[rows].tobytes()
        common = self._common_weights.get(sharing_key)
        if common is None:
            common = self._common_weights[sharing_key] = _Weights(
                len(self._common_weights), weights, np.zeros(len(rows), np.bool_)
            )
        common.rows[rows] = True
        own_rows = np.flatnonzero(rows & (weights != common.weights))
        return common.number, own_rows.astype(COUNT).tobytes(), weights[own_rows].tobytes()


def _refused(numbers: Numbers, rows: Booleans) -> list[Refused]:
    """Return for each reason among the *numbers* at *rows* the queues refused for it, as a bit set."""
    return [(number, packed_set(rows & (numbers == number))) for number in sorted(set(numbers[rows].tolist()))]


def reasons_of(plan: Plan) -> list[StoredReason]:
    """Return the reasons of a flow, in order of their numbers."""
    return [
        StoredReason(stage, reason.tag, reason.meaning, reason.permanent, reason.is_temporary)
        for reason, stage, _ in plan.reasons
    ]
