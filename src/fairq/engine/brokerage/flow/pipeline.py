"""The filter pipeline: the remaining queues, the reasons of the others, and the counts after each stage."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Filter, KeyedFilter, Phase, Rows, SetFilter
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.bits import Parts, Runs, parts_of, rows_in
from fairq.engine.brokerage.pool.columns import Columns

TEMPORARY_STAGE = "temporary problem check"

_COUNTS_KEPT = 10_000
"""Sets whose numbers of members are kept: a few megabytes."""


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


_stage_count = partial(tuple.__new__, StageCount)


class Refusal(NamedTuple):
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


class FilterPipeline:
    """The queues of one task on their way through a plan's filters (see `run_all`).

    Args:
        request: the task and the pool.
        plan: the flow.

    Attributes:
        members: the set of the rows not refused, those with a temporary problem included.
        is_open: filters go on looking: queues are left.
        refusals: each row is refused for the first of these that has it; rows in none of them are left.
        marks: temporary problems of rows, in the order in which they were found.
        stages: counts so far.
    """

    def __init__(self, request: BrokerageRequest, plan: Plan) -> None:
        columns = request.columns
        self.request = request
        self.flow = _flow_of(columns, plan, request.rules)
        self.members = self.flow.every
        self.refusals: list[Refusal] = []
        self.marks: list[Refusal] = []
        self.stages: list[StageCount] = []
        self._counted = self.members
        self._counts = len(columns), len(columns.units)
        # A filter looks even where there are no queues from the first, which makes a stage of 0 queues.
        self.is_open = True
        # The stage under way: whether a filter has looked at the queues, and how many rows it has marked.
        self.has_looked = False
        self.marked = 0

    @property
    def left(self) -> Rows:
        """The rows not refused, those with a temporary problem included."""
        return rows_in(self.members, len(self.request.columns))

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Refuse the queues that are left and that *refusals* name."""
        self.has_looked = True
        for refusal in refusals:
            hit = self.members & refusal.rows
            if not hit:
                continue
            if refusal.permanent:
                self.refusals.append(refusal)
                self.members ^= hit
            else:
                self.marks.append(refusal)
                self.marked += hit.bit_count()
        self.is_open = bool(self.members)

    def end_stage(self, stage: str) -> None:
        """Count what *stage* left, and prepare for the next one."""
        rows_before, units_before = self._counts
        if self.members is not self._counted:
            self._counted = self.members
            self._counts = self.flow.counts(self.members)
        rows, units = self._counts
        # Many tasks have many stages: a call of the class would take twice as long.
        self.stages.append(_stage_count((stage, rows_before, rows, units_before, units, self.marked)))
        self.has_looked, self.marked = False, 0

    def settle_temporary(self) -> bool:
        """Remove the queues with a temporary problem, for the last one each; return whether queues are left."""
        for mark in reversed(self.marks):
            hit = self.members & mark.rows
            if hit:
                self.refusals.append(mark)
                self.members ^= hit
        self.end_stage(TEMPORARY_STAGE)
        return bool(self.members)

    def refuse_all(self, number: int) -> None:
        """Refuse every queue for the reason of this *number*."""
        self.refusals.append(self.flow.refusal_of_all(number))
        self.members = 0


def run_all(pipelines: Sequence[FilterPipeline], phase: Phase) -> list[FilterPipeline]:
    """Apply the filters of *phase* to the queues of many tasks, each task until none is left; return those with queues.

    The tasks take a filter one after the other: going through all filters with one task takes twice as long, since
    neither the code nor the data of a filter are in the caches of the processor when their turn comes again.

    All pipelines must have the same queues, plan and rules.
    """
    under_way = list(pipelines)
    for stage, steps in pipelines[0].flow.stages[phase] if pipelines else ():
        for step in steps:
            step.take(under_way)
        for one in under_way:
            if one.has_looked:
                one.end_stage(stage)
        under_way = [one for one in under_way if one.is_open]
    return [one for one in under_way if one.members]


class _Step:
    """One filter in the flow of one run."""

    def __init__(self, columns: Columns, plan: Plan, rules: Rules, one: Filter) -> None:
        self._filter = one
        self._size = len(columns)
        first = plan.first_reason(one)
        self._reasons = [(first + place, reason.permanent) for place, reason in enumerate(one.reasons)]
        self._known: dict[Hashable, tuple[Refusal, ...]] = {}
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
            if pipeline.is_open and one.applies(pipeline.request):
                refusals = self._of(one, pipeline)
                if refusals is not None:
                    pipeline.refuse(refusals)

    def _take_by_key(self, one: KeyedFilter, pipelines: Iterable[FilterPipeline]) -> None:
        for pipeline in pipelines:
            request = pipeline.request
            if pipeline.is_open and one.applies(request):
                key = one.key(request)
                refusals = self._known.get(key)
                if refusals is None:
                    refusals = self._known[key] = self._of_key(one, key, request)
                pipeline.refuse(refusals)

    def _of_key(self, one: KeyedFilter, key: Hashable, request: BrokerageRequest) -> tuple[Refusal, ...]:
        if key not in self._parts:
            codes = one.codes(request)
            self._parts[key] = () if codes is None else parts_of(codes)
        return self._refusals(self._parts[key], shared=True)

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
        return tuple(
            Refusal(self._reasons[code - 1][0], rows, self._reasons[code - 1][1], shared) for code, rows in parts
        )


class _Held(NamedTuple):
    """What a filter refuses under some rules; it holds both as well, so that no others get their identities."""

    filter: Filter
    rules: Rules
    parts: dict[Hashable, Parts]


class _Flow:
    """A flow in one run: by phase, the name of each stage and its filters."""

    def __init__(self, columns: Columns, plan: Plan, rules: Rules) -> None:
        self.held = plan, rules
        self.every = (1 << len(columns)) - 1
        self._runs = Runs(columns.unit_of)
        self._counts: dict[int, tuple[int, int]] = {}
        self._of_all: dict[int, Refusal] = {}
        phases: dict[Phase, Sequence[Filter]] = {"before": plan.before, "after": plan.after}
        self.stages: dict[Phase, list[tuple[str, list[_Step]]]] = {
            phase: [
                (stage, [_Step(columns, plan, rules, one) for one in group])
                for stage, group in groupby(filters, key=lambda one: one.stage)
            ]
            for phase, filters in phases.items()
        }

    def refusal_of_all(self, number: int) -> Refusal:
        """Return the refusal of every queue for the reason of this *number*."""
        return self._of_all.setdefault(number, Refusal(number, self.every, shared=True))

    def counts(self, members: int) -> tuple[int, int]:
        """Return the numbers of rows and of units in the set *members*; after the first stages, tasks have the same."""
        found = self._counts.get(members)
        if found is None:
            if len(self._counts) >= _COUNTS_KEPT:
                self._counts.clear()
            found = self._counts[members] = members.bit_count(), self._runs.count(members)
        return found


def _flow_of(columns: Columns, plan: Plan, rules: Rules) -> _Flow:
    # Rules have too many fields to be compared for every task: the same object stands for the same rules.
    return columns.kept(("flow", id(plan), id(rules)), lambda: _Flow(columns, plan, rules))
