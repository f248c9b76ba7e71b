"""The free slot weight: candidates, or their rest, that nobody uses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class FreeWeight:
    """The weight that is still free, over one cycle.

    Args:
        weights: the weight of each slot in the pie; 0 if it does not count.
        free: the candidates that nobody uses.
    """

    def __init__(self, weights: NDArray[np.float64], free: NDArray[np.bool_]) -> None:
        left = np.where(free, weights, 0.0)
        self._left: list[float] = left.tolist()
        self.total = float(left.sum())

    def take_all(self, slots: Iterable[int]) -> None:
        """Take all the rest of each of these slots, in their order."""
        weights, total = self._left, self.total
        for slot in slots:
            total -= weights[slot]
            weights[slot] = 0.0
            total = total if total > 0 else 0.0
        self.total = total

    def take(self, slot: int, weight: float | None = None) -> None:
        """Take *weight* of a slot, or all its rest; a negative weight is given back."""
        left = self._left[slot]
        taken = left if weight is None or weight > left else weight
        self._left[slot] = left - taken
        total = self.total - taken
        self.total = total if total > 0 else 0.0
