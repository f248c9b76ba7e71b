"""The weight of queues: the product of all factors that apply to the task.

Source: docs/panda.md, Production weight and Analysis.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest, Weighing
from fairq.engine.brokerage.pool.bits import bits_at

FINAL_STAGE = "final check"
"""The stage of filters that see weighed queues."""

MOST_CANDIDATES = 10
"""Maximum number of queues of a task."""


def weigh_all(requests: Sequence[tuple[BrokerageRequest, int]], plan: Plan) -> None:
    """Keep in each of *requests* the weights of the set of queues beside it, by the factors of *plan*.

    As in `run_all`, the tasks take a weight one after the other.
    """
    for request, members in requests:
        request.weighing = Weighing(len(request.columns), members)
    for one in plan.weights:
        for request, _ in requests:
            if one.applies(request):
                weighing = weighing_of(request)
                factor = weighing.terms[one.name] = one.factor(request, weighing.rows)
                weighing.weights = weighing.weights * factor


def weighing_of(request: BrokerageRequest) -> Weighing:
    """Return the weights, which exist after the filters."""
    assert request.weighing is not None
    return request.weighing


def members_of(request: BrokerageRequest, rows: Rows) -> int:
    """Return *rows* as a set."""
    weighing = request.weighing
    return weighing.members if weighing is not None and weighing.rows is rows else bits_at(rows, len(request.columns))
