"""The list of candidate slots for one request, best first, taken from one by one.

The negotiator builds the list once per kind of request of a turn and then pops it; a slot that the limits
refuse at its pop is gone for the life of the list (matchmaker.cpp, MatchListType; reference 3.8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

PRIO, RANK, NONE = 0, 1, 2
"""A candidate's preempt state, better ones larger: preempts by priority, by machine rank, or nobody."""


@dataclass(slots=True)
class Limits:
    """How far a submitter may go in one turn, in slot weight, and how far it has gone.

    *limit* binds all matches, *unclaimed_limit* those that preempt nobody (it respects the group's quota).
    *pie_left* is what is left of the pie for everybody.
    """

    limit: float
    unclaimed_limit: float
    ceiling: float
    pie_left: float = 0.0
    used: float = 0.0
    used_unclaimed: float = 0.0

    def use(self, cost: float, claimed: bool) -> None:
        """Count a match of that cost; *claimed*: it takes the slot from somebody."""
        self.used += cost
        if not claimed:
            self.used_unclaimed += cost
        self.pie_left -= cost

    def permit(self, cost: float) -> bool:
        """Whether the limit lets a slot of that cost be taken; the first one may round the limit up."""
        return self.used + cost <= self.limit or self.used <= 0 < self.limit

    def permit_unclaimed(self, cost: float) -> bool:
        """The same for slots that nobody has to leave (matchmaker.cpp, SubmitterLimitPermits)."""
        used, limit = self.used_unclaimed, self.unclaimed_limit
        return used + cost <= limit or used <= 0 < limit

    def permitted(self, cost: NDArray[np.float64], unclaimed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`permit_unclaimed` where *unclaimed*, else `permit`, for many slots at once."""
        alike = (self.used + cost <= self.limit) | (self.used <= 0 < self.limit)
        free = (self.used_unclaimed + cost <= self.unclaimed_limit) | (
            self.used_unclaimed <= 0 < self.unclaimed_limit
        )
        permitted: NDArray[np.bool_] = np.where(unclaimed, free, alike)
        return permitted


class FreeSlots:
    """Which candidates are still to be had in this cycle."""

    def __init__(self, candidates: NDArray[np.bool_]) -> None:
        self._taken = bytearray(np.logical_not(candidates).tobytes())
        self.left = int(np.count_nonzero(candidates))

    def take(self, slot: int) -> None:
        """Take a slot out for the rest of the cycle."""
        self._taken[slot] = 1
        self.left -= 1

    def is_taken(self, slot: int) -> bool:
        """Whether the slot is no candidate any more."""
        return self._taken[slot] != 0

    def mask(self) -> NDArray[np.bool_]:
        """Which slots are still candidates, one truth value per slot of the pool."""
        free: NDArray[np.bool_] = np.frombuffer(self._taken, dtype=np.uint8) == 0
        return free

    def next_free(self, order: NDArray[np.int32], start: int) -> int:
        """The first position from *start* on whose slot is still a candidate, or the length of *order*."""
        taken = self._taken
        size = len(order)
        stop = min(start + 8, size)
        while start < stop:
            if not taken[order[start]]:
                return start
            start += 1
        chunk = 256
        view = np.frombuffer(taken, dtype=np.uint8)
        while start < size:
            free = np.flatnonzero(view[order[start : start + chunk]] == 0)
            if len(free):
                return start + int(free[0])
            start += chunk
            chunk *= 4
        return size


class Lane:
    """A fixed order of slots shared by many lists, with the place up to which all are taken."""

    __slots__ = ("head", "order")

    def __init__(self, order: NDArray[np.int32]) -> None:
        self.order = order
        self.head = 0

    def walk(self, free: FreeSlots) -> Iterator[int]:
        """Yield the slots still free when their turn comes, in order."""
        self.head = position = free.next_free(self.order, self.head)
        size = len(self.order)
        while position < size:
            yield int(self.order[position])
            position = free.next_free(self.order, position + 1)


class MatchList:
    """Candidates for one kind of request, with the tests that are made when one is popped.

    Args:
        slots: the candidates, best first.
        state: the preempt state of every slot of the pool for this request.
        cost: the weight of every slot.
        admits: whether a preempting candidate passes the tests that hang on who asks (holder, policy,
            priority); asked lazily, when such a candidate comes up.
        limits: the limits as they stand when the list is built, followed as they are used up.
        refused_by_limit: whether the limits have kept some slot out already.
    """

    __slots__ = ("_admits", "_built", "_cost", "_limits", "_slots", "_state", "refused_by_limit")

    def __init__(
        self,
        slots: Iterator[int],
        state: Sequence[int] | NDArray[np.int8],
        cost: Sequence[float],
        admits: Callable[[int], bool],
        limits: Limits,
        refused_by_limit: bool = False,
    ) -> None:
        self._slots = slots
        self._state = state
        self._cost = cost
        self._admits = admits
        self._limits = limits
        self._built = replace(limits)
        self.refused_by_limit = refused_by_limit

    def pop(self) -> tuple[int, int] | None:
        """Take the best candidate that the limits permit: the slot and its preempt state; None at the end."""
        limits, built = self._limits, self._built
        for slot in self._slots:
            state = int(self._state[slot])
            cost = self._cost[slot]
            if state == NONE:
                listed = built.permit_unclaimed(cost)
            else:
                if not self._admits(slot):
                    continue
                listed = state == RANK or built.permit(cost)
            if listed and (limits.permit_unclaimed(cost) or limits.permit(cost)):
                return slot, state
            self.refused_by_limit = True
        return None
