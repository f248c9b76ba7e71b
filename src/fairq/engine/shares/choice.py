"""The draw of a task queue, and of one of its jobs, for a pilot (DIRAC TaskQueueDB.matchAndGetJob; docs/dirac.md 5.3).

There are three selections. *dirac* orders by U/w with a uniform U for each, which favours high weights beyond their
share. *proportional* orders by -ln(U)/w, so the chance to come first is proportional to the weight. *strict* takes the
highest weight; ties by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairq.engine.shares.rules import Rules, Selection
from fairq.engine.shares.user_priority import real_priority

Floats = NDArray[np.float64]

Draw = Callable[[int], Floats]
"""Returns the given number of uniform numbers in [0, 1): the method `random` of a NumPy generator."""

NODES = 128
"""Integration points of `chance`: exact for up to 256 candidates; above, the error is at most 1e-9."""


def order(weights: Sequence[float] | Floats, draw: Draw, selection: Selection) -> list[int]:
    """Return the indices of *weights* in the order of the draw.

    A weight of 0 or less, or NaN, comes last.
    """
    numbers = np.nan_to_num(np.asarray(weights, float), nan=0.0)
    if selection == "strict":
        keys = -numbers
    else:
        uniform = draw(len(numbers))
        numerators = -np.log1p(-uniform) if selection == "proportional" else uniform
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            keys = np.where(numbers > 0, numerators / numbers, np.inf)
    indices: list[int] = np.argsort(keys, kind="stable").tolist()
    return indices


def choose_queues(priorities: Sequence[float] | Floats, draw: Draw, rules: Rules) -> list[int]:
    """Return the indices of the matching queues to try, in order; DIRAC tries ten."""
    return order(priorities, draw, rules.selection)[: rules.candidates]


def choose_jobs(user_priorities: Sequence[float], draw: Draw, rules: Rules) -> list[int]:
    """Return the indices of the jobs of one queue to try, in order.

    *user_priorities* are the UserPriorities of its jobs, oldest first. A job is drawn by its real priority. The jobs
    tried are the oldest ones with the UserPriority of that job: under the rules dirac 50 of them in random order,
    otherwise the oldest one.
    """
    if not user_priorities:
        return []
    weights = [real_priority(priority, rules) for priority in user_priorities]
    drawn_priority = user_priorities[order(weights, draw, rules.selection)[0]]
    oldest = [index for index, priority in enumerate(user_priorities) if priority == drawn_priority][: rules.job_pool]
    return [oldest[index] for index in np.argsort(draw(len(oldest)), kind="stable")] if len(oldest) > 1 else oldest


def chance(weights: Sequence[float] | Floats, index: int, selection: Selection) -> float:
    """Return the chance that the weight at *index* comes first; all *weights* are positive.

    For *dirac*, this is the integral over u from 0 to 1 of the product, over all others, of max(0, 1 - u w_j / w_i).
    """
    values = np.asarray(weights, float)
    if selection == "strict":
        return float(index == int(np.argmax(values)))
    weight = float(values[index])
    if selection == "proportional":
        return weight / float(values.sum())
    # Above weight/maximum the largest weight always comes first.
    upper_bound = min(1.0, weight / float(values.max()))
    nodes, node_weights = _legendre_nodes()
    u = (nodes + 1) / 2 * upper_bound
    products = np.prod(np.maximum(0.0, 1 - u[:, None] * np.delete(values, index)[None, :] / weight), axis=1)
    return float(np.sum(node_weights * products) / 2 * upper_bound)


@cache
def _legendre_nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)
