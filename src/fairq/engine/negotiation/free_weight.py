"""How much slot weight is free: candidates, or what is left of them, that nobody has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class FreeWeight:
    """The weight that is still free, over one cycle.

    Args:
        weights: what each slot adds to the size of the pool; 0 where it does not count.
        free: the candidates that nobody has.
    """

    def __init__(self, weights: NDArray[np.float64], free: NDArray[np.bool_]) -> None:
        left = np.where(free, weights, 0.0)
        self._left: list[float] = left.tolist()
        self.total = float(left.sum())

    def take(self, slot: int, weight: float | None = None) -> None:
        """Take *weight* of a slot, or all that is left of it; a negative one is given back to it."""
        left = self._left[slot]
        taken = left if weight is None or weight > left else weight
        self._left[slot] = left - taken
        total = self.total - taken
        self.total = total if total > 0 else 0.0
