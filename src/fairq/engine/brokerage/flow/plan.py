"""The filters and weights of one flow in their order, with a number for every reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

from fairq.engine.brokerage.flow.course import TEMPORARY_STAGE
from fairq.engine.brokerage.flow.plugin import Filter, Phase, Reason, Weight
from fairq.engine.brokerage.pool.world import Activity

TASK_STAGE = "task"
"""The stage of reasons that stop a task before any queue is checked."""

FINAL_STAGE = "final check"
"""The stage of filters that see weighed queues."""

STEP = 100.0
"""Distance between the places of two filters or weights in the list."""

_Step = TypeVar("_Step", Filter, Weight)


class StageReason(NamedTuple):
    """A reason with its stage and its filter (None: a reason of the flow itself)."""

    reason: Reason
    stage: str
    filter: Filter | None = None


class Step(NamedTuple):
    """A filter in its flow, with its number, the number of its first reason (the others follow), and of its stage."""

    number: int
    filter: Filter
    first: int
    stage: int


class Plan:
    """The filters and weights of one activity in order.

    Reasons are numbered in the order of the flow; the lowest number decides about a queue.

    Args:
        activity: production or analysis.
        filters, weights: in order, with their places.
        stops: the flow's own reasons to stop a task.
        passes: names of the passes of the flow; empty if there is only one.

    Attributes:
        before, after: the filters of each phase, in order.
        weights: in order.
        places: the place of each filter and weight, by name.
        reasons: all reasons; their index is their number in results of this plan.
        steps: by phase, the filters with their numbers.
        stages: the lines of the stage table in order: *passes*, stages before the weights, the temporary problem check
            (*removal* is its number), stages after the weights.
    """

    def __init__(
        self,
        activity: Activity,
        filters: Sequence[tuple[float, Filter]],
        weights: Sequence[tuple[float, Weight]],
        stops: Sequence[Reason] = (),
        passes: Sequence[str] = (),
    ) -> None:
        self.activity = activity
        self.before, self.after = (
            tuple(member for _, member in filters if member.phase == phase) for phase in ("before", "after")
        )
        self.weights = tuple(member for _, member in weights)
        self.places = {member.name: place for place, member in filters} | {
            member.name: place for place, member in weights
        }
        reasons = [StageReason(reason, TASK_STAGE) for reason in stops]
        self.steps: dict[Phase, list[Step]] = {"before": [], "after": []}
        self.stages, number = list(passes), 0
        phases: Sequence[tuple[Phase, Sequence[Filter]]] = (("before", self.before), ("after", self.after))
        for phase, chosen in phases:
            for stage, same in groupby(chosen, lambda member: member.stage):
                for member in same:
                    self.steps[phase].append(Step(number, member, len(reasons), len(self.stages)))
                    reasons += [StageReason(reason, stage, member) for reason in member.reasons]
                    number += 1
                self.stages.append(stage)
            if phase == "before":
                self.removal = len(self.stages)
                self.stages.append(TEMPORARY_STAGE)
        self.reasons = tuple(reasons)
        self._arguments = activity, filters, weights, stops, passes

    @classmethod
    def of(
        cls,
        activity: Activity,
        filters: Iterable[Filter],
        weights: Iterable[Weight],
        stops: Sequence[Reason] = (),
        passes: Sequence[str] = (),
    ) -> Plan:
        """Return the plan of all *filters* and *weights* that are for *activity*, in the order of the lists.

        A filter without a place of its own comes 100 after its predecessor.
        """
        return cls(
            activity,
            _placed(member for member in filters if activity in member.activities),
            _placed(member for member in weights if activity in member.activities),
            stops,
            passes,
        )

    def without(self, name: str) -> Plan:
        """Return the plan without the filter called *name*."""
        activity, filters, weights, stops, passes = self._arguments
        remaining = [(place, member) for place, member in filters if member.name != name]
        return Plan(activity, remaining, weights, stops, passes)

    def stop_number(self, tag: str) -> int:
        """Return the number of the reason to stop a task that is called *tag*."""
        return next(
            number for number, reason in enumerate(self.reasons) if reason.filter is None and reason.reason.tag == tag
        )


def _placed(listed: Iterable[_Step]) -> list[tuple[float, _Step]]:
    placed: list[tuple[float, _Step]] = []
    last = 0.0
    for member in listed:
        if member.place is None:
            last += STEP
        placed.append((last if member.place is None else member.place, member))
    return sorted(placed, key=lambda entry: entry[0])
