"""Every check that a queue fails, not only the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Details, Filter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.weighing import weigh_all
from fairq.engine.brokerage.pool.bits import bits_at


class Obstacle(NamedTuple):
    """A check that refuses a queue: its stage, its reason, and the values compared."""

    stage: str
    reason: Reason
    details: Details


def obstacles(outcome: Outcome, row: int) -> Iterator[Obstacle]:
    """Yield all filters that refuse the queue of *row*, in order, as if no other filter refused it.

    The final checks compare it with the queues that the task has.
    """
    request, plan = outcome.request, outcome.plan
    every = np.arange(len(request.columns), dtype=np.intp)
    for one in plan.before:
        yield from _refused(one, request, every, row)
    left = np.union1d(outcome.chosen, [row]).astype(np.intp)
    weighing = request.weighing
    weigh_all([(request, bits_at(left, len(request.columns)))], plan)
    for one in plan.after:
        yield from _refused(one, request, left, row)
    request.weighing = weighing


def _refused(one: Filter, request: BrokerageRequest, rows: Rows, row: int) -> Iterator[Obstacle]:
    codes = one.judge(request, rows) if one.applies(request) else None
    if codes is None or codes is SWITCHED_OFF:
        return
    code = int(codes[int(rows.searchsorted(row))])
    if code:
        reason = one.reasons[code - 1]
        yield Obstacle(one.stage, reason, one.details(request, row, reason))
