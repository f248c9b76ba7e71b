"""The filters and weights of one flow in their order, with every reason numbered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.plugin import Filter, Reason, Weight
from fairq.engine.brokerage.jobs.tasks import Activity

TASK_STAGE = "task"
"""The stage of reasons that stop a task before any queue is looked at."""


class StageReason(NamedTuple):
    """A reason with the stage and the filter (None: the flow itself) that it belongs to."""

    reason: Reason
    stage: str
    filter: Filter | None = None


class Plan:
    """What one flow goes through.

    Args:
        activity: production or analysis: filters and weights of the other are left out.
        filters, weights: fairq's own and plugins, in any order; they go by place, then by name.
        stops: the flow's own reasons to stop a task.

    Attributes:
        before, after: the filters of each phase, in order.
        weights: in order.
        reasons: all reasons; their index is their number in results of this plan.
    """

    def __init__(
        self,
        activity: Activity,
        filters: Iterable[Filter],
        weights: Iterable[Weight],
        stops: Iterable[Reason] = (),
    ) -> None:
        self.activity = activity
        own = sorted((f for f in filters if activity in f.activities), key=lambda f: (f.place, f.name))
        self.before = tuple(f for f in own if f.phase == "before")
        self.after = tuple(f for f in own if f.phase == "after")
        self.weights: tuple[Weight, ...] = tuple(
            sorted((w for w in weights if activity in w.activities), key=lambda w: (w.place, w.name))
        )
        reasons = [StageReason(reason, TASK_STAGE) for reason in stops]
        self._stops = {entry.reason.tag: number for number, entry in enumerate(reasons)}
        self._first: dict[str, int] = {}
        for one in (*self.before, *self.after):
            self._first[one.name] = len(reasons)
            reasons.extend(StageReason(reason, one.stage, one) for reason in one.reasons)
        self.reasons: tuple[StageReason, ...] = tuple(reasons)
        self.hard = np.array([entry.reason.hard for entry in reasons], dtype=np.bool_)
        self.only_hard = {one.name: all(r.hard for r in one.reasons) for one in (*self.before, *self.after)}

    def first_reason(self, one: Filter) -> int:
        """Return the number of the first reason of a filter; its others follow."""
        return self._first[one.name]

    def stop_number(self, tag: str) -> int:
        """Return the number of the reason to stop a task that is called *tag*."""
        return self._stops[tag]
