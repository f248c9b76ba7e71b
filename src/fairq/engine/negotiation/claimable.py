"""The slots that suit an autocluster, in no order: to know that none is left, none is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.preemption import PRIO, RANK, ClaimStates, PreemptionPolicy


class Claimable:
    """The slots that an autocluster could get, whoever submits its jobs.

    Partitionable slots that are *divided* are not among them.
    """

    def __init__(self, suitable: NDArray[np.bool_], claims: ClaimStates, divided: NDArray[np.intp]) -> None:
        self.suitable = suitable
        self.claims = claims
        among = suitable & ~claims.outranked
        among[divided] = False
        self._sure = np.flatnonzero(among & (claims.state >= RANK)).astype(np.int32)
        self._start = 0
        self._by_priority = np.flatnonzero(among & (claims.state == PRIO)).astype(np.int32)

    def none_sure(self, free: FreeSlots) -> bool:
        """Whether all slots that nobody holds, or that prefer the job, are taken by now: they stay so."""
        self._start = free.next_free(self._sure, self._start)
        return self._start == len(self._sure)

    def any_victim(self, free: FreeSlots, policy: PreemptionPolicy, context: RequestContext) -> bool:
        """Whether any slot of another submitter is left that may be preempted by priority."""
        if not policy.any_preemptable(context):
            return False
        allowed = policy.allowed(context, self.claims.state, policy.preemptable(context))
        return free.next_allowed(self._by_priority, 0, allowed) < len(self._by_priority)
