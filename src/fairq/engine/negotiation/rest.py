"""The slots of a bucket that are still free, by their place among these.

In a pool of alike slots, a list takes few of very many slots, and the next list begins with the others. To mark and
number all of them for every list would cost more than all its matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.matchlist import FreeSlots

_GAPS = 16
"""Slots are numbered anew when one of so many is taken."""


class Rest(NamedTuple):
    """The free slots of a moment, in order of their numbers.

    Args:
        slots: those that were free at an earlier moment.
        gaps: for each of these taken since, its place in *slots* less the number of such slots before it.
    """

    slots: NDArray[np.int32]
    gaps: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.slots) - len(self.gaps)

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """The slots at these places among the free ones."""
        found: NDArray[np.int32] = self.slots[places + self.gaps.searchsorted(places, "right")]
        return found


class FreeOfBucket:
    """Which slots of a bucket (*marked*, one truth value per slot of the pool) are free."""

    def __init__(self, marked: NDArray[np.bool_], free: FreeSlots) -> None:
        self._free = free
        self._seen = len(free.taken())
        self._slots = np.flatnonzero(marked & free.mask()).astype(np.int32)
        self._gone = np.empty(0, np.int64)
        self.lately = 0
        """How many slots of the pool were taken between the last two looks."""

    def now(self) -> Rest:
        """The slots that are free now; what is taken later does not change the answer."""
        taken = self._free.taken()
        if self._seen < len(taken) and len(self._slots):
            self._drop(np.array(taken[self._seen :], np.int32))
        self.lately, self._seen = len(taken) - self._seen, len(taken)
        return Rest(self._slots, self._gone - np.arange(len(self._gone)))

    def _drop(self, taken: NDArray[np.int32]) -> None:
        places = self._slots.searchsorted(taken)
        places = places[self._slots.take(places, mode="clip") == taken]
        self._gone = np.concatenate((self._gone, places))
        self._gone.sort()
        if len(self._gone) * _GAPS > len(self._slots):
            self._slots = np.delete(self._slots, self._gone)
            self._gone = self._gone[:0]
