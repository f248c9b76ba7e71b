"""The orders of a cycle's slots: one for all jobs that do not differ in what it is made from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.expression_cache import ExpressionCache, Recall, RequestContext
from fairq.engine.negotiation.holders import Holders
from fairq.engine.negotiation.ordering import Ordering, StaticRanks, order_slots
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import EXPRESSIONS, ClaimStates, claim_states
from fairq.engine.negotiation.rank_sharing import MachineRanks, SharedByRank
from fairq.engine.negotiation.snapshot import PoolSlots

if TYPE_CHECKING:
    from fairq.engine.negotiation.memory import Scene


class Orderings:
    """Orders slots for jobs.

    Args:
        pool: all slots.
        policy: the cycle's rules.
        holders: the users of the slots.
        tie_order: each slot's place among slots that rank equally.
        static: the ranks of all slots if they are the same for all jobs.
        values: evaluates for all slots.
        scene: what is known from cycles like this one.
        slots_stay: no slot can be taken from its user in this cycle.
    """

    def __init__(
        self,
        pool: PoolSlots,
        policy: NegotiationPolicy,
        holders: Holders,
        tie_order: NDArray[np.int64],
        static: StaticRanks | None,
        scene: Scene | None,
        *,
        slots_stay: bool,
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._holders = holders
        self._tie_order = tie_order
        self._static = static
        self._scene = scene
        self._slots_stay = slots_stay
        self._machine_ranks = MachineRanks(pool.ads, holders.changing)

    @cached_property
    def claims(self) -> ExpressionCache[ClaimStates]:
        """What a match would do to each slot."""
        slots, held = self._pool.ads, self._holders.held
        read, changing = EXPRESSIONS if held.any() else (), self._holders.changing
        shared = SharedByRank[ClaimStates](self._machine_ranks, read, [], changing)
        return ExpressionCache(
            lambda context: shared.get(context, lambda of: claim_states(of.ad(), slots, held)),
            slots,
            [],
            read,
            changing,
            None if self._scene is None else Recall(self._scene, "claims", held.tobytes()),
        )

    @cached_property
    def of_all(self) -> ExpressionCache[Ordering]:
        """The orders of all slots, those in use at the place that a preemption would give them."""
        return self._orders(self._holders.held, self.claims.get)

    @cached_property
    def of_lists(self) -> ExpressionCache[Ordering]:
        """The orders for lists of candidates: where slots stay with their users, only those of nobody are on lists."""
        if not self._slots_stay:
            return self.of_all
        of_nobody = np.zeros_like(self._holders.held)
        claims = claim_states({}, self._pool.ads, of_nobody)
        return self._orders(of_nobody, lambda context: claims)

    def _orders(
        self, held: NDArray[np.bool_], claims: Callable[[RequestContext], ClaimStates]
    ) -> ExpressionCache[Ordering]:
        """The orders if the slots *held* are those with a holder to be preempted."""
        policy, slots, static = self._policy, self._pool.ads, self._static
        ranks = [] if static is not None else [policy.pre_job_rank, policy.post_job_rank]
        if held.any():
            ranks += [*([] if static is not None else [policy.preemption_rank]), *EXPRESSIONS]
        recall = None
        if self._scene is not None and static is None:
            recall = Recall(self._scene, "ordering", (held.tobytes(), tuple(self._pool.names)))

        def order(context: RequestContext) -> Ordering:
            return order_slots(context.ad(), slots, held, claims(context), self._tie_order, policy, static)

        of_job, changing = [] if policy.ignore_job_ranks else ["rank"], self._holders.changing
        shared = SharedByRank[Ordering](self._machine_ranks, ranks, of_job, changing)
        return ExpressionCache(lambda context: shared.get(context, order), slots, of_job, ranks, changing, recall)
