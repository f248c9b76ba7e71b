"""The minimum weight of a candidate (docs/panda.md, Production weight and Analysis)."""

from __future__ import annotations

from fairq.engine.brokerage.flow.plugin import Codes, Details, Phase, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.weighing import FINAL_STAGE, weighing_of
from fairq.engine.brokerage.pool.columns import Booleans


def least_weight(request: BrokerageRequest) -> float:
    """Return the minimum weight of candidates.

    Under the rules panda, it is ``MIN_WEIGHT`` of the label and share, otherwise of the label. Under the rules
    documented, there is none.
    """
    task = request.task
    if not request.rules.minimum_weight:
        return 0.0
    return request.config.amount("jobbroker.MIN_WEIGHT", f"{task.label}_{task.gshare}", task.label)


class LeastWeightCheck(PlainFilter):
    """Candidates need a minimum weight if one is configured for the label and share, or for the label."""

    stage = FINAL_STAGE
    phase: Phase = "after"
    reasons = (Reason("below_min_weight"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply where a minimum is configured."""
        return least_weight(request) > 0

    def exempt(self, request: BrokerageRequest) -> Booleans | None:
        """Return the rows that need no minimum weight; None: no rows."""
        return None

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse below the minimum."""
        refused = weighing_of(request).weights_of(rows) < least_weight(request)
        exempt = self.exempt(request)
        return refused if exempt is None else refused & ~exempt[rows]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return weight and minimum."""
        return {"weight": weighing_of(request).weight_of(row), "MIN_WEIGHT": least_weight(request)}
