"""The orders of a cycle's slots: one for all jobs that do not differ in what it is made from."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.expression_cache import ExpressionCache, Recall
from fairq.engine.negotiation.holders import Holders
from fairq.engine.negotiation.ordering import Ordering, StaticRanks, order_slots
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import EXPRESSIONS
from fairq.engine.negotiation.row_values import RowValues
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
        values: RowValues,
        scene: Scene | None,
        *,
        slots_stay: bool,
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._holders = holders
        self._tie_order = tie_order
        self._static = static
        self._values = values
        self._scene = scene
        self._slots_stay = slots_stay

    @cached_property
    def of_all(self) -> ExpressionCache[Ordering]:
        """The orders of all slots, those in use at the place that a preemption would give them."""
        return self._orders(self._holders.held)

    @cached_property
    def of_lists(self) -> ExpressionCache[Ordering]:
        """The orders for lists of candidates: where slots stay with their users, only those of nobody are on lists."""
        return self._orders(np.zeros_like(self._holders.held)) if self._slots_stay else self.of_all

    def _orders(self, held: NDArray[np.bool_]) -> ExpressionCache[Ordering]:
        """The orders if the slots *held* are those with a holder to be preempted."""
        policy, slots, static = self._policy, self._pool.ads, self._static
        ranks = [] if static is not None else [policy.pre_job_rank, policy.post_job_rank]
        if held.any():
            ranks += [*([] if static is not None else [policy.preemption_rank]), *EXPRESSIONS]
        recall = None
        if self._scene is not None and static is None:
            recall = Recall(self._scene, "ordering", (held.tobytes(), tuple(self._pool.names)))
        return ExpressionCache(
            lambda context: order_slots(context.ad(), slots, held, self._tie_order, policy, static, self._values),
            slots,
            [] if policy.ignore_job_ranks else ["rank"],
            ranks,
            self._holders.changing,
            recall,
        )
