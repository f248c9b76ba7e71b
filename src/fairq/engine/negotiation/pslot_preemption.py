"""PslotPreemption on a partitionable slot, made by preempting what was carved out of it (ALLOW_PSLOT_PREEMPTION).

docs/htcondor.md 3.14; matchmaker.cpp, pslotMultiMatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_columns
from fairq.engine.negotiation.carving import Carved
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.offers import Offers
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.preemption import PRIO, RANK, PreemptionPolicy, PreemptState

Permits = Callable[[float, PreemptState, Sequence[int]], bool]
"""Whether the limits permit a match of a weight that preempts these slots."""


class SlotsForJob(Struct, frozen=True):
    """The effect of preempting each slot of the pool for a job.

    Args:
        rank: the slot's Rank of the job.
        current_rank: its Rank of the running job.
        may_go: whether the policy permits preemption of its holder, which is another submitter.
        preemption_rank: preference for preemption; higher is better.
        free: whether it is not yet matched in this cycle.
    """

    rank: NDArray[np.float64]
    current_rank: NDArray[np.float64]
    may_go: NDArray[np.bool_]
    preemption_rank: NDArray[np.floating]
    free: NDArray[np.bool_]


class PslotPreemption:
    """The dynamic slots of all partitionable slots, which are preempted to make room for a job.

    Slots with the lowest Rank of their job go first, then those with the highest PREEMPTION_RANK, until the job fits. A
    slot that ranks its job equal to the new one needs PREEMPTION_REQUIREMENTS.
    """

    def __init__(self, partitions: Partitions, carved: Mapping[int, Carved]) -> None:
        self._partitions = partitions
        known = [(row, one) for row, one in carved.items() if one.parent in partitions.parts]
        self._rows = np.array([row for row, _ in known], np.intp)
        self._part = np.array([partitions.parts[one.parent] for _, one in known], np.intp)
        names = [name.lower() for name in partitions.resources]
        self._taken = np.zeros((len(names), len(known)))
        for number, (_, one) in enumerate(known):
            for name, amount in one.taken.items():
                if name.lower() in names:
                    self._taken[names.index(name.lower()), number] = amount

    def finder(
        self, context: RequestContext, slots: AdColumns, preemption: PreemptionPolicy, free: FreeSlots
    ) -> Callable[[Offers, Permits], tuple[int, PreemptState] | None]:
        """A function that makes room for a job on partitionable slots, in the state when it is called."""

        def find(offers: Offers, permits: Permits) -> tuple[int, PreemptState] | None:
            job = context.ad()
            slots_for_job = SlotsForJob(
                evaluate_in_columns("Rank", slots, job).as_rank(0.0),
                evaluate_in_columns("CurrentRank", slots, job).as_rank(0.0),
                preemption.preemptable(context) & ~preemption.own(context.submitter),
                preemption.ranks(context),
                free.mask() & preemption.held,
            )
            return self.find(offers, slots_for_job, permits)

        return find

    def find(self, offers: Offers, slots: SlotsForJob, permits: Permits) -> tuple[int, PreemptState] | None:
        """Propose a match that preempts; return the partitionable slot and the preempt state, None if none will do."""
        rows, partitions = self._rows, self._partitions
        rank, current = slots.rank[rows], slots.current_rank[rows]
        better = rank > current
        goes = slots.free[rows] & (better | ((rank == current) & slots.may_go[rows]))
        most = partitions.left.copy()
        np.add.at(most.T, self._part[goes], self._taken[:, goes].T)
        wanted = offers.asked
        for part in np.flatnonzero(((wanted <= most) & (wanted >= 0)).all(axis=0)).tolist():
            mine = np.flatnonzero(goes & (self._part == part))
            order = np.lexsort([rows[mine], -slots.preemption_rank[rows[mine]], current[mine]])
            left = partitions.left[:, part].copy()
            for count, child in enumerate(mine[order].tolist(), 1):
                left += self._taken[:, child]
                cost = offers.cost_with(part, left) if (wanted[:, part] <= left).all() else None
                if cost is None:
                    continue
                victims = mine[order[:count]]
                state = RANK if better[victims].all() else PRIO
                preempted = tuple(rows[victims].tolist())
                if permits(cost, state, preempted):
                    given_back = self._taken[:, victims].sum(axis=1)
                    offers.propose(part, cost, preempted, given_back)
                    return int(partitions.rows[part]), state
                break
        return None
