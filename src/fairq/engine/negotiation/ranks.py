"""The negotiator's own rank expressions: NEGOTIATOR_PRE_JOB_RANK, NEGOTIATOR_POST_JOB_RANK, PREEMPTION_RANK."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, Expression, evaluate_in_columns
from fairq.records import Ad

LOWEST = -np.inf
"""The value of a negotiator rank that is undefined or not a number."""


def negotiator_rank(
    expression: Expression, slots: AdColumns, job: Ad, rows: NDArray[np.intp] | None = None
) -> NDArray[np.float32]:
    """Evaluate one of the negotiator's rank expressions with MY = slot, TARGET = job, for all slots or *rows*."""
    return as_stored(evaluate_in_columns(expression, slots, job, rows).as_rank(LOWEST))


def as_stored(ranks: NDArray[np.float64]) -> NDArray[np.float32]:
    """Ranks as the negotiator stores them, rounded to 32-bit floats (EvalNegotiatorMatchRank)."""
    with np.errstate(over="ignore"):
        return ranks.astype(np.float32)
