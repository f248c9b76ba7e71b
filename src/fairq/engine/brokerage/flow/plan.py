"""The filters and weights of one flow in their order, with a number for every reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from fairq.engine.brokerage.flow.plugin import Filter, Reason, Weight
from fairq.engine.brokerage.pool.activity import Activity

TASK_STAGE = "task"
"""The stage of reasons that stop a task before any queue is checked."""


STEP = 100.0
"""Distance between the places of two filters or weights in the list."""

_Step = TypeVar("_Step", Filter, Weight)


class StageReason(NamedTuple):
    """A reason with the stage and the filter (None: the flow itself) that it belongs to."""

    reason: Reason
    stage: str
    filter: Filter | None = None


class Plan:
    """The filters and weights of one activity in order.

    Args:
        activity: production or analysis.
        filters, weights: in order, with their places.
        stops: the flow's own reasons to stop a task.

    Attributes:
        before, after: the filters of each phase, in order.
        weights: in order.
        places: the place of each filter and weight, by name.
        reasons: all reasons; their index is their number in results of this plan.
    """

    def __init__(
        self,
        activity: Activity,
        filters: Sequence[tuple[float, Filter]],
        weights: Sequence[tuple[float, Weight]],
        stops: Sequence[Reason] = (),
    ) -> None:
        self.activity = activity
        self.before = tuple(one for _, one in filters if one.phase == "before")
        self.after = tuple(one for _, one in filters if one.phase == "after")
        self.weights = tuple(one for _, one in weights)
        self.places = {one.name: place for place, one in filters} | {one.name: place for place, one in weights}
        reasons = [StageReason(reason, TASK_STAGE) for reason in stops]
        self._stops = {entry.reason.tag: number for number, entry in enumerate(reasons)}
        self._first: dict[str, int] = {}
        for one in (*self.before, *self.after):
            self._first[one.name] = len(reasons)
            reasons.extend(StageReason(reason, one.stage, one) for reason in one.reasons)
        self.reasons: tuple[StageReason, ...] = tuple(reasons)
        self.permanent = np.array([entry.reason.permanent for entry in reasons], dtype=np.bool_)
        self._arguments = activity, filters, weights, stops

    @classmethod
    def of(
        cls, activity: Activity, filters: Iterable[Filter], weights: Iterable[Weight], stops: Sequence[Reason] = ()
    ) -> Plan:
        """Return the plan of all *filters* and *weights* that are for *activity*, in the order of the lists.

        Each has the place 100 after the one before it, unless it names a place of its own.
        """
        return cls(
            activity,
            _placed(one for one in filters if activity in one.activities),
            _placed(one for one in weights if activity in one.activities),
            stops,
        )

    def without(self, name: str) -> Plan:
        """Return the plan without the filter called *name*."""
        activity, filters, weights, stops = self._arguments
        return Plan(activity, [(place, one) for place, one in filters if one.name != name], weights, stops)

    def first_reason(self, one: Filter) -> int:
        """Return the number of the first reason of a filter; its others follow."""
        return self._first[one.name]

    def stop_number(self, tag: str) -> int:
        """Return the number of the reason to stop a task that is called *tag*."""
        return self._stops[tag]


def _placed(listed: Iterable[_Step]) -> list[tuple[float, _Step]]:
    found: list[tuple[float, _Step]] = []
    last = 0.0
    for one in listed:
        if one.place is None:
            last += STEP
        found.append((last if one.place is None else one.place, one))
    return sorted(found, key=lambda entry: entry[0])
