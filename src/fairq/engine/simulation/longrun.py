"""The long-run use of each submitter, in closed form.

The slices of the pie are inversely proportional to real priority times factor. In steady state, the real priority
equals the use. If all submitters want more than the pool has, the use is therefore inversely proportional to the
*square root* of the factor. Below half a slot, the priority does not fall further, and the use is inversely
proportional to the factor itself (docs/simulate.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.engine.accounting.priority import MINIMUM_PRIORITY

_HALVINGS = 200


def long_run_use(total: float, factors: ArrayLike, demands: ArrayLike) -> NDArray[np.float64]:
    """Return the slot weight that each submitter uses in the long run, out of *total*.

    *factors* are the priority factors (at least 1), *demands* the maximum use of each (infinite: endless jobs).
    """
    roots = np.sqrt(np.asarray(factors, np.float64))
    maximum_use = np.asarray(demands, np.float64)
    if not len(maximum_use) or total <= 0:
        return np.zeros(len(maximum_use))
    if maximum_use.sum() <= total:
        return maximum_use.copy()

    def uses(level: float) -> NDArray[np.float64]:
        # Equal for all, with use x and factor f: x f^(1/2), or x P f below the minimum priority P = 1/2.
        use = level / roots
        use = np.where(use < MINIMUM_PRIORITY, use * use / MINIMUM_PRIORITY, use)
        return np.minimum(use, maximum_use)

    # Ignoring the minimum priority, sorting gives the level; it is exact unless a submitter falls below half a slot.
    order = np.argsort(maximum_use * roots)
    capped = np.concatenate([[0.0], np.cumsum(maximum_use[order])[:-1]])
    root_sums = np.cumsum((1.0 / roots[order])[::-1])[::-1]
    levels = (total - capped) / root_sums
    index = int(np.argmax(levels <= (maximum_use * roots)[order]))
    level = float(levels[index])
    use = np.minimum(level / roots, maximum_use)
    if bool(((use < MINIMUM_PRIORITY) & (use < maximum_use)).any()):
        low, high = 0.0, float(roots.max()) * total * 2 + 1
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if uses(middle).sum() < total else (low, middle)
        use = uses(high)
    return use


def factors_for(shares: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return the factors that give *shares* of the contended pool, against submitters with the factors *others*.

    The shares are fractions of 1, with a sum below 1 if there are others. Without others, only their ratios matter,
    and the largest share has factor 1.
    """
    if not others:
        largest = max(shares)
        return [(largest / share) ** 2 for share in shares]
    share_of_others = 1.0 - sum(shares)
    roots_of_others = sum(factor**-0.5 for factor in others)
    return [(share_of_others / (share * roots_of_others)) ** 2 for share in shares]
