"""The weight of queues: the product of all factors that apply to the task.

Source: docs/panda.md, Production weight and Analysis.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest, Weighing

FINAL_STAGE = "final check"
"""The stage of filters that see weighed queues."""

MOST_CANDIDATES = 10
"""Maximum number of queues of a task."""


def weigh(request: BrokerageRequest, plan: Plan, rows: Rows) -> Weighing:
    """Return the weights of *rows* by the factors of *plan*, and keep them in the request."""
    weighing = Weighing(len(request.columns), rows)
    request.weighing = weighing
    product = np.ones(len(rows))
    for one in plan.weights:
        if one.applies(request):
            factor = weighing.terms[one.name] = one.factor(request, rows)
            product = product * factor
    weighing.weight[rows] = weighing.weights = product
    return weighing


def weighing_of(request: BrokerageRequest) -> Weighing:
    """Return the weights, which exist after the filters."""
    assert request.weighing is not None
    return request.weighing
