"""The way of the queues of many tasks through the filters of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from fairq.engine.brokerage.flow.course import Course, Refusal, StageCount, Tally
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Phase, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.flow.steps import AlikeStages, Kind, Stage, Step
from fairq.engine.brokerage.pool.bits import rows_in
from fairq.engine.brokerage.pool.columns import Columns

_COURSES_KEPT = 20_000
"""Courses that are kept: some ten megabytes."""


class Flow:
    """A flow in one run.

    Attributes:
        stages: by phase, the stages in order, some of them together.
    """

    def __init__(self, columns: Columns, plan: Plan, rules: Rules) -> None:
        self.held = plan, rules
        phases: dict[Phase, Sequence[Filter]] = {"before": plan.before, "after": plan.after}
        self.stages: dict[Phase, list[Stage | AlikeStages]] = {
            phase: _staged(Step(columns, plan, rules, one) for one in filters) for phase, filters in phases.items()
        }
        self._tally = Tally(columns.unit_of)
        self._first = self._tally.start()

    def start(self) -> Course:
        """Return the course in which no queue is refused."""
        if self._tally.courses >= _COURSES_KEPT:
            self._first = self._tally.start()
        return self._first


def _staged(steps: Iterable[Step]) -> list[Stage | AlikeStages]:
    """Return the stages of some filters, neighbouring ones together if all their filters tell what they read."""
    by_stage = [(stage, list(group)) for stage, group in groupby(steps, key=lambda step: step.filter.stage)]
    found: list[Stage | AlikeStages] = []
    for kind, stages in groupby(by_stage, key=lambda entry: _kind_of(entry[1])):
        if kind is not None:
            found.append(AlikeStages(list(stages)))
        else:
            found += [Stage(name, group) for name, group in stages]
    return found


def _kind_of(steps: Sequence[Step]) -> Kind | None:
    # What tasks get for their input goes its own ways: few tasks would take the same course through both at once.
    kinds = {step.kind for step in steps}
    return kinds.pop() if len(kinds) == 1 else None


def flow_of(columns: Columns, plan: Plan, rules: Rules) -> Flow:
    """Return the flow of *plan* among the queues of *columns* under *rules*."""
    # Rules have too many fields to be compared for every task: the same object stands for the same rules.
    return columns.kept(("flow", id(plan), id(rules)), lambda: Flow(columns, plan, rules))


class FilterPipeline(Struct, eq=False):
    """The queues of one task on their way through a plan's filters (see `run_all`).

    Args:
        request: the task and the pool.
        flow: the flow.
        course: what became of the queues so far.
    """

    request: BrokerageRequest
    flow: Flow
    course: Course

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

    The tasks take a stage one after the other: going through all stages with one task takes twice as long, since
    neither the code nor the data of a filter are in the caches of the processor when their turn comes again.

    All pipelines must have the same queues, plan and rules.
    """
    under_way = list(pipelines)
    for stage in pipelines[0].flow.stages[phase] if pipelines else ():
        stage.take(under_way)
        under_way = [one for one in under_way if one.course.is_open]
    return [one for one in under_way if one.course.members]
