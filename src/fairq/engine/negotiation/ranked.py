"""The slots that suit an autocluster, in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.distinct import distinct
from fairq.engine.negotiation.matchlist import SlotBucket
from fairq.engine.negotiation.ordering import Ordering
from fairq.engine.negotiation.preemption import NONE, PREEMPT_STATES

_FEW = 16
"""Of so many slots, it is faster to sort one than to look up all in the order."""


class RankedCandidates:
    """The candidates of one autocluster in order, in buckets of one preempt state and weight each.

    Slots in use are also kept apart by *groups*, the number of their holder's group, unless these do not matter (None).
    Partitionable slots that are *divided* are not in buckets.
    """

    def __init__(
        self,
        suitable: NDArray[np.bool_],
        ordering: Ordering,
        cost: NDArray[np.float64],
        divided: NDArray[np.intp],
        groups: NDArray[np.int32] | None = None,
    ) -> None:
        self.suitable = suitable
        self.ordering = ordering
        self.place = ordering.place
        listed = suitable & ~ordering.outranked
        listed[divided] = False
        if np.count_nonzero(listed) * _FEW < len(listed):
            rows = np.flatnonzero(listed)
            order = rows[np.argsort(ordering.place[rows])].astype(np.int32)
        else:
            order = ordering.order[listed[ordering.order]]
        states, costs, dense = ordering.state[order], cost[order], ordering.dense[order]
        self.equal = bool(len(order)) and bool(dense[0] == dense[-1])
        """Whether all of them rank equally."""
        self.buckets: list[SlotBucket] = []
        for state in distinct(states):
            for weight in distinct(costs[states == state]):
                rows, kind = order[(states == state) & (costs == weight)], (PREEMPT_STATES[state], float(weight))
                if groups is None or state == NONE:
                    self.buckets.append(SlotBucket(rows, *kind))
                    continue
                of_rows = groups[rows]
                self.buckets += [SlotBucket(rows[of_rows == group], *kind, int(group)) for group in distinct(of_rows)]
