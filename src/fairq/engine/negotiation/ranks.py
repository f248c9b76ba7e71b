"""The negotiator's own rank expressions: NEGOTIATOR_PRE_JOB_RANK, NEGOTIATOR_POST_JOB_RANK, PREEMPTION_RANK."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, Expression, evaluate_in_columns
from fairq.engine.negotiation.row_values import RowValues
from fairq.records import Ad

LOWEST = -np.inf
"""The value of a negotiator rank that is undefined or not a number."""


def negotiator_rank(
    expression: Expression,
    slots: AdColumns,
    job: Ad,
    rows: NDArray[np.intp] | None = None,
    values: RowValues | None = None,
) -> NDArray[np.float32]:
    """Evaluate one of the negotiator's rank expressions with MY = slot, TARGET = job, for all slots or *rows*.

    The value is rounded to a 32-bit float as the negotiator stores it (EvalNegotiatorMatchRank). *values* evaluates
    for all slots.
    """
    with np.errstate(over="ignore"):
        if values is not None:
            return values.rank(expression, job, LOWEST).astype(np.float32)
        return evaluate_in_columns(expression, slots, job, rows).as_rank(LOWEST).astype(np.float32)
