"""The stored form of a task's outcome: the deciding reason of every queue, the weights and the stage table, packed.

What many tasks have in common stands once, in the document of their run (see `Legend`): names of queues and stages, the
sets of queues that are refused to all tasks with the same needs or weighed for them, the course of their queues, and
weights. The packed form of a task is, in bytes:

- the number 2, the size of a small number, and `_Head`;
- the stages that follow those of its course;
- the rows of the candidates;
- the numbers of the refusals that follow those of its course (0 is one of its own), and its own refusals;
- the exact weights of the candidates;
- the weights of the queues that weigh otherwise than in common, and their rows; the weights of all queues weighed if
  nothing is in common; both as 32-bit reals;
- the tag that stopped it.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.flow.course import Course, Refusal, StageCount
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
from fairq.engine.brokerage.flow.request import CommonWeights, Weighing
from fairq.engine.brokerage.pool.bits import rows_in
from fairq.errors.broker import FormerVerdictError
from fairq.steps.broker.kept_verdict import (
    EXACT,
    LINE,
    NUMBER,
    SMALL,
    WEIGHT,
    Kept,
    Legend,
    PackedCourse,
    Reader,
    legend_document,
    packed_refusal,
)

_FORM = 2

_CODES = {2: "H", 4: "I"}
"""Small numbers by their size, in the words of `struct`."""


class _Head(NamedTuple):
    """The first numbers of the packed form: by their numbers in the `Legend` the course, the set of the queues weighed,
    the weights in common (0 is none) and the activity; and how many there are of each part."""

    course: int
    weighed: int
    common: int
    activity: int
    stages: int
    candidates: int
    refusals: int
    own: int
    own_weights: int


_LARGE = 3
"""The first so many numbers of `_Head` are not small."""


class _Shared(NamedTuple):
    """A course: its number, and how many stages and refusals it has."""

    number: int
    stages: int
    refusals: int


class _Weights(Struct):
    """The number of weights in common, and the set of all queues that are weighed by them."""

    number: int
    rows: int = 0


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
        self._activities = {activity: number for number, activity in enumerate(stages)}
        small = 2 if len(names) < 2**16 else 4
        self._small = SMALL[small]
        self._head = struct.Struct(f"<2B{_LARGE}I{len(_Head._fields) - _LARGE}{_CODES[small]}")
        self._line = struct.Struct(f"<{LINE}{_CODES[small]}")
        self._start = _FORM, small
        # The outcomes of tasks that have their whole course in common with others.
        self._known: dict[Course, bytes] = {}
        # What many tasks have in common.
        self._courses: dict[Course | None, _Shared] = {None: _Shared(0, 0, 0)}
        self._packed_courses: list[PackedCourse] = []
        self._weighed: dict[int, int] = {}
        self._common: dict[CommonWeights, _Weights] = {}
        self._shared: dict[int, int] = {}
        self._refusals: list[Refusal] = []

    def document(self) -> dict[str, Any]:
        """Return what the packed outcomes refer to; see `Legend`."""
        refusals = [(one.number, one.rows) for one in self._refusals]
        weights = [(one.rows, common.weights) for common, one in self._common.items()]
        return legend_document(self._names, self._orders, refusals, self._packed_courses, self._weighed, weights)

    def pack(self, outcome: Outcome) -> bytes:
        """Return *outcome* as bytes."""
        shared = outcome.shared
        if shared is None or outcome.stages is not shared.stages or outcome.request.weighing or outcome.stopped_by:
            return self._packed(outcome)
        found = self._known.get(shared)
        if found is None:
            found = self._known[shared] = self._packed(outcome)
        return found

    def _packed(self, outcome: Outcome) -> bytes:
        activity, weighing, chosen = outcome.request.activity, outcome.request.weighing, outcome.chosen
        shared = self._courses.get(outcome.shared) or self._course(activity, outcome.shared)
        stages, refusals = outcome.stages[shared.stages :], outcome.refusals[shared.refusals :]
        own = [one for one in refusals if not one.shared]
        weighed, common, rows, weights = self._weights(weighing)
        head = self._head.pack(
            *self._start,
            shared.number,
            weighed,
            common,
            self._activities[activity],
            len(stages),
            len(chosen),
            len(refusals),
            len(own),
            len(rows),
        )
        return b"".join((
            head,
            self._lines(activity, stages),
            chosen.astype(self._small).tobytes(),
            self._numbers(refusals),
            *[packed_refusal((one.number, one.rows), len(self._names)) for one in own],
            outcome.weights.astype(EXACT, copy=False).tobytes(),
            weights,
            np.fromiter(rows, self._small, len(rows)).tobytes(),
            outcome.stopped_by.encode(),
        ))  # fmt: skip

    def _weights(self, weighing: Weighing | None) -> tuple[int, int, Collection[int], bytes]:
        """Return the numbers of the queues weighed and of the weights in common, the rows of own weights, and weights.

        The weights are those of the latter rows, or of all."""
        if weighing is None:
            return 0, 0, (), b""
        members, common = weighing.members, weighing.common
        weighed = self._weighed.setdefault(members, len(self._weighed) + 1)
        # What a single task has, so far, is as short without a number.
        if weighing.others or common.tasks == 1:
            return weighed, 0, (), weighing.weights.astype(WEIGHT).tobytes()
        known = self._common.get(common)
        if known is None:
            known = self._common[common] = _Weights(len(self._common) + 1)
        known.rows |= members
        own = weighing.own
        return weighed, known.number, own, np.fromiter(own.values(), WEIGHT, len(own)).tobytes()

    def _course(self, activity: str, course: Course | None) -> _Shared:
        assert course is not None
        self._packed_courses.append(PackedCourse(self._lines(activity, course.stages), self._numbers(course.refusals)))
        shared = _Shared(len(self._packed_courses), len(course.stages), len(course.refusals))
        self._courses[course] = shared
        return shared

    def _lines(self, activity: str, stages: Sequence[StageCount]) -> bytes:
        """Return the lines of a stage table one after the other, with the place of each stage for its name."""
        places, pack = self._places[activity], self._line.pack
        return b"".join([pack(places[line.stage], *line[1:]) for line in stages])

    def _numbers(self, refusals: Sequence[Refusal]) -> bytes:
        """Return the numbers of shared refusals, and 0 for others."""
        known = self._shared
        numbers = [known.get(id(one)) or self._number(one) if one.shared else 0 for one in refusals]
        return struct.pack(f"<{len(numbers)}I", *numbers)

    def _number(self, one: Refusal) -> int:
        # The same object stands for all tasks, and is held here, so its identity is its own.
        self._refusals.append(one)
        number = self._shared[id(one)] = len(self._refusals)
        return number


def unpack(data: bytes, legend: Legend) -> Kept:
    """Return what `Packer.pack` was given.

    Raises FormerVerdictError for a form of before the baseline of the schema, which states may still hold.
    """
    if data[0] != _FORM:
        raise FormerVerdictError
    small, size, reader = SMALL[data[1]], len(legend.names), Reader(data, 2)
    head = _Head(*reader.take(NUMBER, _LARGE).tolist(), *reader.take(small, len(_Head._fields) - _LARGE).tolist())
    course = legend.courses[head.course - 1] if head.course else PackedCourse()
    lines = [*np.frombuffer(course.lines, small).tolist(), *reader.take(small, LINE * head.stages).tolist()]
    chosen = reader.take(small, head.candidates).tolist()
    numbers = [*np.frombuffer(course.numbers, NUMBER).tolist(), *reader.take(NUMBER, head.refusals).tolist()]
    own = reader.refusals(head.own, size)
    exact = reader.take(EXACT, head.candidates).tolist()
    rows = rows_in(legend.weighed[head.weighed - 1] if head.weighed else 0, size)
    weights = np.full(size, np.nan)
    if head.common:
        weights[rows] = legend.weights[head.common - 1][rows]
        own_weights = reader.take(WEIGHT, head.own_weights)
        weights[reader.take(small, head.own_weights)] = own_weights
    else:
        weights[rows] = reader.take(WEIGHT, len(rows))
    best = zip(chosen, exact, strict=True)
    return legend.kept(head.activity, lines, numbers, own, best, weights, reader.bytes().decode())


def described(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate in the form of the JSON results."""
    return {
        "queue": candidate.queue,
        "weight": candidate.weight,
        "bootstrap": candidate.bootstrap,
        "jumbo": candidate.jumbo,
        "queued": candidate.queued,
        "cap": candidate.cap,
        "running": candidate.running,
        "maxwdir": candidate.maxwdir,
        "max_walltime": candidate.max_walltime,
        "platform": candidate.platform,
        "local_files": candidate.local_files,
        "tape_files": candidate.tape_files,
    }
