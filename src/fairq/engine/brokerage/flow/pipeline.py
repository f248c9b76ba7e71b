"""The filter pipeline: the remaining queues, the reasons of the others, and the counts after each stage."""

from __future__ import annotations

from collections.abc import Callable, Hashable
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
    """Applies a plan's filters to the queues of one task.

    Args:
        request: the task and the pool.
        plan: the flow.

    Attributes:
        members: the set of the rows that are left.
        refusals: each row is refused for the first of these that has it; rows in none of them are left.
        stages: counts so far.
        has_marks: a queue had a temporary problem.
    """

    def __init__(self, request: BrokerageRequest, plan: Plan) -> None:
        self.request = request
        self._steps = _steps_of(request.columns, plan, request.rules)
        self.members = self._steps.every
        self._count = len(request.columns)
        self._units = len(request.columns.units)
        self._marks: list[Refusal] = []
        self.refusals: list[Refusal] = []
        self.stages: list[StageCount] = []

    @property
    def left(self) -> Rows:
        """The rows not refused, those with a temporary problem included."""
        return rows_in(self.members, len(self.request.columns))

    @property
    def has_marks(self) -> bool:
        """Whether a queue had a temporary problem, refused or not."""
        return bool(self._marks)

    def run(self, phase: Phase) -> bool:
        """Apply the filters of *phase* stage by stage until no queue is left; return whether queues are left."""
        request, left = self.request, self.members
        for stage, steps in self._steps.of[phase]:
            looked, marked = False, 0
            for step in steps:
                if not step.filter.applies(request):
                    continue
                refusals = step.refusals(request, left)
                if refusals is None:
                    continue
                looked = True
                for refusal in refusals:
                    hit = left & refusal.rows
                    if not hit:
                        continue
                    if refusal.permanent:
                        self.refusals.append(refusal)
                        left ^= hit
                    else:
                        self._marks.append(refusal)
                        marked += hit.bit_count()
                if not left:
                    break
            if looked:
                self._note(stage, left, marked)
                if not left:
                    return False
        return bool(left)

    def settle_temporary(self) -> bool:
        """Remove the queues with a temporary problem, for the last one each; return whether queues are left."""
        left = self.members
        for mark in reversed(self._marks):
            hit = left & mark.rows
            if hit:
                self.refusals.append(mark)
                left ^= hit
        self._note(TEMPORARY_STAGE, left, 0)
        return bool(left)

    def refuse_all(self, number: int) -> None:
        """Refuse every queue for the reason of this *number*."""
        self.refusals.append(Refusal(number, self._steps.every, shared=True))
        self.members = 0

    def _note(self, stage: str, left: int, marked: int) -> None:
        count, units = self._count, self._units
        if left != self.members:
            self.members = left
            self._count = left.bit_count()
            self._units = self._steps.runs.count(left)
        self.stages.append(StageCount(stage, count, self._count, units, self._units, marked))


class _Step:
    """One filter in the flow of one run."""

    def __init__(self, columns: Columns, plan: Plan, rules: Rules, one: Filter) -> None:
        self.filter = one
        self._size = len(columns)
        first = plan.first_reason(one)
        self._reasons = [(first + place, reason.permanent) for place, reason in enumerate(one.reasons)]
        self._known: dict[Hashable, tuple[Refusal, ...]] = {}
        # The numbers of reasons are those of one plan; what is refused is the same in every plan.
        self._parts: dict[Hashable, Parts] = columns.kept(
            ("parts", id(one), id(rules)), lambda: _Held(one, rules, {})
        ).parts
        self.refusals: Callable[[BrokerageRequest, int], tuple[Refusal, ...] | None] = self._of_rows
        if isinstance(one, KeyedFilter):
            self.refusals = partial(self._of_key, one)
        elif isinstance(one, SetFilter):
            self.refusals = partial(self._of_set, one)

    def _of_key(self, one: KeyedFilter, request: BrokerageRequest, left: int) -> tuple[Refusal, ...]:
        key = one.key(request)
        try:
            return self._known[key]
        except KeyError:
            if key not in self._parts:
                codes = one.codes(request)
                self._parts[key] = () if codes is None else parts_of(codes)
            found = self._known[key] = self._refusals(self._parts[key], shared=True)
            return found

    def _of_set(self, one: SetFilter, request: BrokerageRequest, left: int) -> tuple[Refusal, ...] | None:
        parts = one.parts(request, left)
        return None if parts is None else self._refusals(parts)

    def _of_rows(self, request: BrokerageRequest, left: int) -> tuple[Refusal, ...] | None:
        rows = rows_in(left, self._size)
        codes = self.filter.judge(request, rows)
        if codes is SWITCHED_OFF:
            return None
        return () if codes is None else self._refusals(parts_of(codes, rows, self._size))

    def _refusals(self, parts: Parts, *, shared: bool = False) -> tuple[Refusal, ...]:
        return tuple(Refusal(self._reasons[code - 1][0], rows, self._reasons[code - 1][1], shared) for code, rows in parts)


class _Held(NamedTuple):
    """What a filter refuses under some rules; it holds both as well, so that no others get their identities."""

    filter: Filter
    rules: Rules
    parts: dict[Hashable, Parts]


class _Steps:
    """The stages of a flow in one run: by phase, the name of each stage and its filters."""

    def __init__(self, columns: Columns, plan: Plan, rules: Rules) -> None:
        self.held = plan, rules
        self.every = (1 << len(columns)) - 1
        self.runs = Runs(columns.unit_of)
        self.of: dict[Phase, list[tuple[str, list[_Step]]]] = {
            phase: [
                (stage, [_Step(columns, plan, rules, one) for one in group])
                for stage, group in groupby(filters, key=lambda one: one.stage)
            ]
            for phase, filters in (("before", plan.before), ("after", plan.after))
        }


def _steps_of(columns: Columns, plan: Plan, rules: Rules) -> _Steps:
    # Rules have too many fields to be compared for every task: the same object stands for the same rules.
    return columns.kept(("steps", id(plan), id(rules)), lambda: _Steps(columns, plan, rules))
