"""The division of a pool's share among its task queues (DIRAC calculate_priority; docs/dirac.md 3.2 and 3.3).

Sums are computed in the order of the queues, as in DIRAC.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.errors.shares import DiracFailure, DiracStopsError

FLOOR = 0.001
"""The minimum priority of a queue, and the priority of a background queue."""

BACKGROUND_UP_TO = 0.1
"""The largest average priority of a background queue."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Division(Struct, frozen=True):
    """The result of a division; arrays are over the queues unless stated otherwise.

    Attributes:
        background: the queue is in the background.
        totals: over the pools: the sum of the weights of their queues, without background queues.
        own: the queue's own part of its pool's share.
        priority: the sum of the parts of its family.
        families: over the families: the number of queues.
    """

    background: NDArray[np.bool_]
    totals: Floats
    own: Floats
    priority: Floats
    families: Indices


def divide(
    *,
    weights: Floats,
    averages: Floats,
    pool: Indices,
    shares: Floats,
    allowed: NDArray[np.bool_],
    family: Indices,
    strict: bool,
) -> Division:
    """Divide the *shares* of all pools among their queues.

    Args:
        weights: over the queues: the weight of a queue in its pool.
        averages: over the queues: the average real priority of its jobs, which identifies background queues.
        pool, family: over the queues: the numbers of its pool and of its family, from 0.
        shares, allowed: over the pools: the share, and whether background queues are allowed.
        strict: raise DiracStopsError where DIRAC divides by zero; otherwise queues that all have weight 0 get equal
            parts.
    """
    background = allowed[pool] & (averages <= BACKGROUND_UP_TO)
    totals = _sums(pool, np.where(background, 0.0, weights), len(shares))
    weightless = ~background & (totals[pool] == 0)
    if strict and weightless.any():
        raise DiracStopsError(DiracFailure.NO_PRIORITY)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own = (shares / totals)[pool] * weights
    if weightless.any():
        alike = _sums(pool, weightless, len(shares))
        own[weightless] = (shares[pool] / np.maximum(alike[pool], 1.0))[weightless]
    own = np.where(background, FLOOR, np.maximum(own, FLOOR))
    return Division(background, totals, own, _sums(family, own)[family], np.bincount(family))


def _sums(numbers: Indices, amounts: NDArray[np.float64 | np.bool_], least: int = 0) -> Floats:
    return np.bincount(numbers, amounts, least).astype(np.float64)
