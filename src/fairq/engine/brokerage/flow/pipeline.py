"""The filter pipeline: the remaining queues, the reasons of the others, and the counts after each stage."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Filter, KeyedFilter, Phase, Rows, SetFilter
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.bits import Parts, Runs, parts_of, rows_in
from fairq.engine.brokerage.pool.columns import Columns

TEMPORARY_STAGE = "temporary problem check"

_COUNTS_KEPT = 10_000
"""Sets whose numbers of members are kept: a few megabytes."""

_COURSES_KEPT = 20_000
"""Courses that are kept: some ten megabytes."""


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


class Refusal(Struct, frozen=True, gc=False):
    """Queues refused for one reason, unless an earlier refusal of the same task has them.

    Args:
        number: of the reason in the plan.
        rows: the queues, as a set of `fairq.engine.brokerage.pool.bits`.
        permanent: the queues are refused at once.
        shared: the same object stands for all tasks that have the same needs.
    """

    number: int
    rows: int
    permanent: bool = True
    shared: bool = False


class Course:
    """What became of the queues so far: the same object stands for all tasks whose queues went the same way.

    Args:
        flow: the flow of these tasks.
        members: the set of the rows not refused, those with a temporary problem included.
        refusals, marks, stages: see `FilterPipeline`.
        counts: the numbers of rows and units after the last stage.
        marked: None if no filter has looked at the queues in the stage under way; otherwise the number of rows that it
            has marked.
        shared: the last course before this one that tasks have in common; None: they have this one in common.

    Attributes:
        is_open: filters go on looking: queues are left.
        next: the courses after this one, by the answer of a filter or the stage that ends; "": nothing is refused.
    """

    __slots__ = (
        "_shared", "counts", "flow", "is_open", "marked", "marks", "members", "next", "refusals", "stages"
    )  # fmt: skip

    def __init__(
        self,
        flow: Flow,
        members: int,
        refusals: tuple[Refusal, ...],
        marks: tuple[Refusal, ...],
        stages: tuple[StageCount, ...],
        counts: tuple[int, int],
        marked: int | None = None,
        shared: Course | None = None,
    ) -> None:
        self.flow = flow
        self.members = members
        self.refusals = refusals
        self.marks = marks
        self.stages = stages
        self.counts = counts
        self.marked = marked
        self._shared = shared
        # A filter looks even where there are no queues from the first, which makes a stage of 0 queues.
        self.is_open = members != 0 or (marked is None and not stages)
        self.next: dict[_Answer | str, Course] = {}

    @property
    def shared(self) -> Course:
        """The last course up to this one that tasks have in common."""
        return self if self._shared is None else self._shared

    def after(self, answer: _Answer) -> Course:
        """Return the course after the answer of a filter that other tasks get as well."""
        found = self.next.get(answer)
        if found is None:
            found = self.next[answer] = self._refuse(answer.refusals, self._shared)
            self.flow.courses += 1
        return found

    def refuse(self, refusals: Iterable[Refusal]) -> Course:
        """Return the course after a filter refused the queues that are left and that *refusals* name."""
        return self._refuse(refusals, self.shared)

    def _refuse(self, refusals: Iterable[Refusal], shared: Course | None) -> Course:
        members, refused, marks, marked = self.members, self.refusals, self.marks, self.marked or 0
        for refusal in refusals:
            hit = members & refusal.rows
            if not hit:
                continue
            if refusal.permanent:
                refused = (*refused, refusal)
                members ^= hit
            else:
                marks = (*marks, refusal)
                marked += hit.bit_count()
        if refused is self.refusals and marks is self.marks:
            return self._looked()
        return Course(self.flow, members, refused, marks, self.stages, self.counts, marked, shared)

    def _looked(self) -> Course:
        """Return the course after a filter that refused nothing."""
        if self.marked is not None:
            return self
        found = self.next.get("")
        if found is None:
            found = self.next[""] = Course(
                self.flow, self.members, self.refusals, self.marks, self.stages, self.counts, 0, self._shared
            )
        return found

    def refuse_all(self, number: int) -> Course:
        """Return the course after every queue is refused for the reason of this *number*."""
        refused = (*self.refusals, self.flow.refusal_of_all(number))
        return Course(self.flow, 0, refused, self.marks, self.stages, self.counts, shared=self.shared)

    def end_stage(self, stage: str) -> Course:
        """Return the course after *stage*, with the count of what it left."""
        found = self.next.get(stage)
        if found is None:
            counts = self.flow.counts(self.members)
            stages = (*self.stages, self.flow.line(stage, self.counts, counts, self.marked or 0))
            found = self.next[stage] = Course(
                self.flow, self.members, self.refusals, self.marks, stages, counts, shared=self._shared
            )
        return found

    def settle_temporary(self) -> Course:
        """Return the course after the queues with a temporary problem are removed, for the last one each."""
        if not self.marks:
            return self.end_stage(TEMPORARY_STAGE)
        found = self.next.get(TEMPORARY_STAGE)
        if found is None:
            members, refused = self.members, self.refusals
            for mark in reversed(self.marks):
                hit = members & mark.rows
                if hit:
                    refused = (*refused, mark)
                    members ^= hit
            settled = Course(self.flow, members, refused, self.marks, self.stages, self.counts, shared=self._shared)
            found = self.next[TEMPORARY_STAGE] = settled.end_stage(TEMPORARY_STAGE)
        return found


class FilterPipeline:
    """The queues of one task on their way through a plan's filters (see `run_all`).

    Args:
        request: the task and the pool.
        flow: the flow.
    """

    def __init__(self, request: BrokerageRequest, flow: Flow) -> None:
        self.request = request
        self.course = flow.start()

    @property
    def members(self) -> int:
        """The set of the rows not refused, those with a temporary problem included."""
        return self.course.members

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """The refusals: each row is refused for the first of these that has it; rows in none of them are left."""
        return self.course.refusals

    @property
    def marks(self) -> tuple[Refusal, ...]:
        """Temporary problems of rows, in the order in which they were found."""
        return self.course.marks

    @property
    def stages(self) -> tuple[StageCount, ...]:
        """Counts so far."""
        return self.course.stages

    @property
    def left(self) -> Rows:
        """The rows not refused, those with a temporary problem included."""
        return rows_in(self.members, len(self.request.columns))

    def settle_temporary(self) -> bool:
        """Remove the queues with a temporary problem, for the last one each; return whether queues are left."""
        self.course = self.course.settle_temporary()
        return bool(self.course.members)

    def refuse_all(self, number: int) -> None:
        """Refuse every queue for the reason of this *number*."""
        self.course = self.course.refuse_all(number)


def run_all(pipelines: Sequence[FilterPipeline], phase: Phase) -> list[FilterPipeline]:
    """Apply the filters of *phase* to the queues of many tasks, each task until none is left; return those with queues.

    The tasks take a filter one after the other: going through all filters with one task takes twice as long, since
    neither the code nor the data of a filter are in the caches of the processor when their turn comes again.

    All pipelines must have the same queues, plan and rules.
    """
    under_way = list(pipelines)
    for stage, steps in pipelines[0].course.flow.stages[phase] if pipelines else ():
        for step in steps:
            step.take(under_way)
        going_on = []
        for one in under_way:
            state = one.course
            if state.marked is not None:
                # Most tasks come where others were: calling a method for each takes three times as long.
                state = one.course = state.next.get(stage) or state.end_stage(stage)
            if state.is_open:
                going_on.append(one)
        under_way = going_on
    return [one for one in under_way if one.members]


class _Step:
    """One filter in the flow of one run."""

    def __init__(self, columns: Columns, plan: Plan, rules: Rules, one: Filter) -> None:
        self._filter = one
        self._size = len(columns)
        first = plan.first_reason(one)
        self._reasons = [(first + place, reason.permanent) for place, reason in enumerate(one.reasons)]
        self._known: dict[Hashable, _Answer] = {}
        self._answers: dict[Parts, _Answer] = {}
        # The numbers of reasons are those of one plan; what is refused is the same in every plan.
        self._parts: dict[Hashable, Parts] = columns.kept(
            ("parts", id(one), id(rules)), lambda: _Held(one, rules, {})
        ).parts

    def take(self, pipelines: Iterable[FilterPipeline]) -> None:
        """Apply the filter to each task that has queues left."""
        one = self._filter
        if isinstance(one, KeyedFilter):
            self._take_by_key(one, pipelines)
            return
        for pipeline in pipelines:
            if pipeline.course.is_open and one.applies(pipeline.request):
                refusals = self._of(one, pipeline)
                if refusals is not None:
                    pipeline.course = pipeline.course.refuse(refusals)

    def _take_by_key(self, one: KeyedFilter, pipelines: Iterable[FilterPipeline]) -> None:
        known = self._known
        for pipeline in pipelines:
            state, request = pipeline.course, pipeline.request
            if state.is_open and one.applies(request):
                key = one.key(request)
                answer = known.get(key)
                if answer is None:
                    answer = known[key] = self._of_key(one, key, request)
                pipeline.course = state.next.get(answer) or state.after(answer)

    def _of_key(self, one: KeyedFilter, key: Hashable, request: BrokerageRequest) -> _Answer:
        parts = self._parts.get(key)
        if parts is None:
            codes = one.codes(request)
            parts = self._parts[key] = () if codes is None else parts_of(codes)
        # Different keys often come to the same, and then the tasks go on together.
        answer = self._answers.get(parts)
        if answer is None:
            answer = self._answers[parts] = _Answer(self._refusals(parts, shared=True))
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
        reasons = self._reasons
        return tuple([Refusal(reasons[code - 1][0], rows, reasons[code - 1][1], shared) for code, rows in parts])


class _Answer:
    """What a filter refuses to some tasks; no other filter has the same object."""

    __slots__ = ("refusals",)

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        self.refusals = refusals


class _Held(NamedTuple):
    """What a filter refuses under some rules; it holds both as well, so that no others get their identities."""

    filter: Filter
    rules: Rules
    parts: dict[Hashable, Parts]


class Flow:
    """A flow in one run.

    Attributes:
        stages: by phase, the name of each stage and its filters.
        courses: how many courses tasks have in common.
    """

    def __init__(self, columns: Columns, plan: Plan, rules: Rules) -> None:
        self.held = plan, rules
        self.every = (1 << len(columns)) - 1
        self._runs = Runs(columns.unit_of)
        self._counts: dict[int, tuple[int, int]] = {}
        self._lines: dict[StageCount, StageCount] = {}
        self._of_all: dict[int, Refusal] = {}
        phases: dict[Phase, Sequence[Filter]] = {"before": plan.before, "after": plan.after}
        self.stages: dict[Phase, list[tuple[str, list[_Step]]]] = {
            phase: [
                (stage, [_Step(columns, plan, rules, one) for one in group])
                for stage, group in groupby(filters, key=lambda one: one.stage)
            ]
            for phase, filters in phases.items()
        }
        self.courses = 0
        self._first = self._start()

    def start(self) -> Course:
        """Return the course in which no queue is refused."""
        if self.courses >= _COURSES_KEPT:
            self._first = self._start()
        return self._first

    def _start(self) -> Course:
        self.courses = 0
        return Course(self, self.every, (), (), (), self.counts(self.every))

    def refusal_of_all(self, number: int) -> Refusal:
        """Return the refusal of every queue for the reason of this *number*."""
        return self._of_all.setdefault(number, Refusal(number, self.every, shared=True))

    def line(self, stage: str, before: tuple[int, int], after: tuple[int, int], marked: int) -> StageCount:
        """Return a line of the stage table: the same object for equal lines, so that they need not be compared."""
        count = StageCount(stage, before[0], after[0], before[1], after[1], marked)
        return self._lines.setdefault(count, count)

    def counts(self, members: int) -> tuple[int, int]:
        """Return the numbers of rows and of units in the set *members*; after the first stages, tasks have the same."""
        found = self._counts.get(members)
        if found is None:
            if len(self._counts) >= _COUNTS_KEPT:
                self._counts.clear()
            found = self._counts[members] = members.bit_count(), self._runs.count(members)
        return found


def flow_of(columns: Columns, plan: Plan, rules: Rules) -> Flow:
    """Return the flow of *plan* among the queues of *columns* under *rules*."""
    # Rules have too many fields to be compared for every task: the same object stands for the same rules.
    return columns.kept(("flow", id(plan), id(rules)), lambda: Flow(columns, plan, rules))
