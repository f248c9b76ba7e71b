"""The filters of a flow in one run, as tasks take them: one by one, or those together that tell what they read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fairq.engine.brokerage.flow.alike import OncePerKind, Reading
from fairq.engine.brokerage.flow.course import Answer, Answers, Course, Refusal
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Filter, InputFilter, KeyedFilter, SetFilter
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.bits import Parts, parts_of
from fairq.engine.brokerage.pool.columns import Columns

if TYPE_CHECKING:
    from fairq.engine.brokerage.flow.pipeline import FilterPipeline


Kind = Literal["alike", "of input"]
"""Of a filter that tells what it reads: tasks that agree in it get the same answer, whatever their input or for it."""


class Step:
    """One filter in the flow of one run.

    Attributes:
        filter: the filter.
        kind: see `Kind`.
    """

    def __init__(self, columns: Columns, plan: Plan, rules: Rules, one: Filter) -> None:
        self.filter = one
        self.kind: Kind | None = None
        if isinstance(one, KeyedFilter) and one.reads is not None:
            self.kind = "of input" if isinstance(one, InputFilter) else "alike"
            self._told: OncePerKind[Any] = OncePerKind(
                one.reads, self._view if self.kind == "of input" else self._answer
            )
        self._size = len(columns)
        first = plan.first_reason(one)
        self._reasons = [(first + place, reason.permanent) for place, reason in enumerate(one.reasons)]
        self._known: dict[Hashable, Answer] = {}
        self._answers: dict[Parts, Answer] = {}
        # The numbers of reasons are those of one plan; what is refused is the same in every plan.
        self._parts: dict[Hashable, Parts] = columns.kept(
            ("parts", id(one), id(rules)), lambda: _Held(one, rules, {})
        ).parts

    def take(self, pipelines: Iterable[FilterPipeline]) -> None:
        """Apply the filter to each task that has queues left."""
        one = self.filter
        if isinstance(one, KeyedFilter):
            self._take_by_key(one, pipelines)
            return
        for pipeline in pipelines:
            if pipeline.course.is_open and one.applies(pipeline.request):
                refusals = self._of(one, pipeline)
                if refusals:
                    pipeline.course = pipeline.course.refuse(refusals)
                elif refusals is not None:
                    pipeline.course = pipeline.course.looked()

    def _take_by_key(self, one: KeyedFilter, pipelines: Iterable[FilterPipeline]) -> None:
        known = self._known
        for pipeline in pipelines:
            course, request = pipeline.course, pipeline.request
            if course.is_open and one.applies(request):
                key = one.key(request)
                answer = known.get(key) or self._of_key(one, key, request)
                pipeline.course = course.next.get(answer) or course.after(answer)

    def answers(self, reading: Reading) -> Iterable[Answer | None]:
        """Return the answer of a filter that tells what it reads to each task; None where it does not apply."""
        one, known, told = self.filter, self._known, self._told.of(reading)
        if not isinstance(one, InputFilter):
            return told
        found: list[Answer | None] = []
        for view, request in zip(told, reading.requests, strict=True):
            answer = None
            if view is not None:
                key = one.key_of(view, request)
                answer = known.get(key) or self._of_key(one, key, request)
            found.append(answer)
        return found

    def _view(self, request: BrokerageRequest) -> Any:
        one = self.filter
        assert isinstance(one, InputFilter)
        return one.view(request) if one.applies(request) else None

    def _answer(self, request: BrokerageRequest) -> Answer | None:
        one = self.filter
        assert isinstance(one, KeyedFilter)
        if not one.applies(request):
            return None
        key = one.key(request)
        return self._known.get(key) or self._of_key(one, key, request)

    def _of_key(self, one: KeyedFilter, key: Hashable, request: BrokerageRequest) -> Answer:
        parts = self._parts.get(key)
        if parts is None:
            codes = one.codes(request)
            parts = self._parts[key] = () if codes is None else parts_of(codes)
        # Different keys often come to the same, and then the tasks go on together.
        answer = self._answers.get(parts)
        if answer is None:
            answer = self._answers[parts] = Answer(self._refusals(parts, shared=True))
        self._known[key] = answer
        return answer

    def _of(self, one: Filter, pipeline: FilterPipeline) -> tuple[Refusal, ...] | None:
        if isinstance(one, SetFilter):
            parts = one.parts(pipeline.request, pipeline.members)
            return None if parts is None else self._refusals(parts)
        rows = pipeline.left
        codes = one.judge(pipeline.request, rows)
        if codes is SWITCHED_OFF:
            return None
        return () if codes is None else self._refusals(parts_of(codes, rows, self._size))

    def _refusals(self, parts: Parts, *, shared: bool = False) -> tuple[Refusal, ...]:
        if not parts:
            return ()
        reasons = self._reasons
        return tuple([Refusal(reasons[code - 1][0], rows, reasons[code - 1][1], shared) for code, rows in parts])


class _Held(NamedTuple):
    """What a filter refuses under some rules; it holds both as well, so that no others get their identities."""

    filter: Filter
    rules: Rules
    parts: dict[Hashable, Parts]


class Stage:
    """One stage, whose filters tasks take one after the other.

    Args:
        name: its name.
        steps: its filters.
    """

    def __init__(self, name: str, steps: Sequence[Step]) -> None:
        self._name = name
        self._steps = steps

    def take(self, pipelines: Sequence[FilterPipeline]) -> None:
        """Apply the filters of the stage to each task that has queues left."""
        for step in self._steps:
            step.take(pipelines)
        stage = self._name
        for one in pipelines:
            course = one.course
            if course.marked is not None:
                # Most tasks come where others were: calling a method for each takes three times as long.
                one.course = course.next.get(stage) or course.end_stage(stage)


class AlikeStages:
    """Neighbouring stages whose filters all tell what they read: tasks with the same answers take the same course.

    So what is done for each task is to look up the answers. To go through the filters one by one takes three times as
    long, although what each of them does is looked up as well.

    Args:
        stages: the name of each stage, and its filters.
    """

    def __init__(self, stages: Sequence[tuple[str, Sequence[Step]]]) -> None:
        self._stages = stages

    def take(self, pipelines: Sequence[FilterPipeline]) -> None:
        """Apply the filters of all stages to each task that has queues left."""
        reading = Reading([one.request for one in pipelines])
        by_filter = [step.answers(reading) for _, steps in self._stages for step in steps]
        for pipeline, answers in zip(pipelines, zip(*by_filter, strict=True), strict=True):
            course = pipeline.course
            pipeline.course = course.next.get(answers) or self._go(course, answers)

    def _go(self, start: Course, answers: Answers) -> Course:
        course, left = start, iter(answers)
        for stage, steps in self._stages:
            for answer in islice(left, len(steps)):
                if answer is not None and course.is_open:
                    course = course.after(answer)
            if course.marked is not None:
                course = course.end_stage(stage)
        start.next[answers] = course
        start.tally.courses += 1
        return course
