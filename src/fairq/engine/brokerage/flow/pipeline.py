"""The filter pipeline: the remaining queues, the reasons of the others, and the counts after each stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Filter, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest

UNDECIDED = -1
"""In place of the number of a reason: the queue is not refused; at the end it is a candidate."""

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


class FilterPipeline:
    """Applies a plan's filters to the queues of one task.

    Args:
        request: the task and the pool.
        plan: the flow.
        rows: the first candidates; all queues if None.

    Attributes:
        left: rows not refused, those with a temporary problem included.
        decided: for every row the number of the deciding reason, or `UNDECIDED`.
        temporary: for every row the number of its last temporary reason, or `UNDECIDED`.
        stages: counts so far.
    """

    def __init__(self, request: BrokerageRequest, plan: Plan, rows: Rows | None = None) -> None:
        self.request = request
        self.plan = plan
        size = len(request.columns)
        self.left: Rows = np.arange(size, dtype=np.intp) if rows is None else rows
        self.decided: NDArray[np.int16] = np.full(size, UNDECIDED, dtype=np.int16)
        self.temporary: NDArray[np.int16] = np.full(size, UNDECIDED, dtype=np.int16)
        self.stages: list[StageCount] = []
        self._units = self._count_units()
        self._marked = 0

    def run(self, filters: Sequence[Filter]) -> bool:
        """Apply *filters* stage by stage until no queue is left; return whether queues are left."""
        for stage, group in groupby(filters, key=lambda one: one.stage):
            if not self._run_stage(stage, group):
                return False
        return len(self.left) > 0

    def settle_temporary(self) -> bool:
        """Remove the queues with a temporary problem; return whether queues are left."""
        before = len(self.left), self._units
        marks = self.temporary[self.left]
        marked = marks != UNDECIDED
        if marked.any():
            gone = self.left[marked]
            self.decided[gone] = marks[marked]
            self.left = self.left[~marked]
            self._units = self._count_units()
        self.stages.append(StageCount(TEMPORARY_STAGE, before[0], len(self.left), before[1], self._units))
        return len(self.left) > 0

    def _run_stage(self, stage: str, filters: Iterable[Filter]) -> bool:
        before = len(self.left), self._units
        looked, self._marked = False, 0
        for one in filters:
            if one.applies(self.request):
                looked = self._apply(one) or looked
                if not len(self.left):
                    break
        if not looked:
            return True
        if len(self.left) != before[0]:
            self._units = self._count_units()
        self.stages.append(StageCount(stage, before[0], len(self.left), before[1], self._units, self._marked))
        return len(self.left) > 0

    def _apply(self, one: Filter) -> bool:
        codes = one.judge(self.request, self.left)
        if codes is None or codes is SWITCHED_OFF:
            return codes is None
        refused = codes.astype(np.bool_, copy=False)
        hit = refused.nonzero()[0]
        if not len(hit):
            return True
        numbers = codes[hit].astype(np.int16) + np.int16(self.plan.first_reason(one) - 1)
        rows = self.left[hit]
        if self.plan.only_permanent[one.name]:
            self.decided[rows] = numbers
            self.left = self.left[~refused]
            return True
        permanent = self.plan.permanent[numbers]
        self.temporary[rows[~permanent]] = numbers[~permanent]
        self._marked += int(np.count_nonzero(~permanent))
        if permanent.any():
            self.decided[rows[permanent]] = numbers[permanent]
            self.left = np.delete(self.left, hit[permanent])
        return True

    def _count_units(self) -> int:
        # Rows are in order of their units.
        units = self.request.columns.unit_of[self.left]
        return int(np.count_nonzero(units[1:] != units[:-1])) + 1 if len(units) else 0
