"""The draw of a task queue, and of one of its jobs, for a pilot (DIRAC TaskQueueDB.matchAndGetJob; docs/dirac.md 5.3).

There are three ways. *dirac* orders by U/w with a uniform U for each, which favours high weights beyond their share.
*proportional* orders by -ln(U)/w, so that each comes first in proportion to its weight. *strict* takes the highest
weight; ties by number.
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
"""Points of the integration of `chance`: exact for up to 256 candidates, and no worse than 1e-9 above."""


def order(weights: Sequence[float] | Floats, draw: Draw, selection: Selection) -> list[int]:
    """Return the places of *weights* in the order of the draw.

    A weight of 0 or less, or NaN, comes last.
    """
    given = np.nan_to_num(np.asarray(weights, float), nan=0.0)
    if selection == "strict":
        keys = -given
    else:
        drawn = draw(len(given))
        amounts = -np.log1p(-drawn) if selection == "proportional" else drawn
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            keys = np.where(given > 0, amounts / given, np.inf)
    places: list[int] = np.argsort(keys, kind="stable").tolist()
    return places


def choose_queues(priorities: Sequence[float] | Floats, draw: Draw, rules: Rules) -> list[int]:
    """Return the places of the matching queues to try, in order; DIRAC tries ten."""
    return order(priorities, draw, rules.selection)[: rules.candidates]


def choose_jobs(user_priorities: Sequence[float], draw: Draw, rules: Rules) -> list[int]:
    """Return the places of the jobs of one queue to try, in order.

    *user_priorities* are those of its jobs, oldest first. A job is drawn by its real priority. The jobs tried are the
    oldest ones with the UserPriority of that job: under the rules dirac 50 of them in random order, otherwise the
    oldest one.
    """
    if not user_priorities:
        return []
    weights = [real_priority(priority, rules) for priority in user_priorities]
    wanted = user_priorities[order(weights, draw, rules.selection)[0]]
    oldest = [place for place, priority in enumerate(user_priorities) if priority == wanted][: rules.job_pool]
    return [oldest[place] for place in np.argsort(draw(len(oldest)), kind="stable")] if len(oldest) > 1 else oldest


def chance(weights: Sequence[float] | Floats, place: int, selection: Selection) -> float:
    """Return the chance that the weight at *place* comes first; all *weights* are positive.

    For *dirac* the integral over u from 0 to 1 of the product, over all others, of max(0, 1 - u w_j / w_i).
    """
    given = np.asarray(weights, float)
    if selection == "strict":
        return float(place == int(np.argmax(given)))
    own = float(given[place])
    if selection == "proportional":
        return own / float(given.sum())
    # Beyond own/heaviest the heaviest one always comes first.
    end = min(1.0, own / float(given.max()))
    points, parts = _nodes()
    u = (points + 1) / 2 * end
    inside = np.prod(np.maximum(0.0, 1 - u[:, None] * np.delete(given, place)[None, :] / own), axis=1)
    return float(np.sum(parts * inside) / 2 * end)


@cache
def _nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)
