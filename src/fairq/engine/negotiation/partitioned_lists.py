"""Builds the lists of candidates with divided partitionable slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.carved_list import CarvedList, FindRoom
from fairq.engine.negotiation.consumption_list import ConsumptionList
from fairq.engine.negotiation.expression_cache import ContextNow, ExpressionCache, RequestContext
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matchlist import BucketedMatchList
from fairq.engine.negotiation.offer_terms import TermsFinder
from fairq.engine.negotiation.offers import Offers, expressions_read
from fairq.engine.negotiation.ordering import Ordering
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.records import Ad

_MOST_KEPT = 2_000_000
"""Number of stored offers of slots to autoclusters; about 60 bytes each."""


class PartitionedLists:
    """Stores the offers of partitionable slots to each autocluster, during one cycle.

    Args:
        partitions: the partitionable slots that are divided; `rows` are their indices in the pool.
        policy: the cycle's rules.
        any_held: whether the pool has slots with a holder.
        tie_order: each slot's place among slots that rank equally.
        cost: the weight of each slot.
        gets_back: whether slots may get back what jobs have taken: dynamic slots may be preempted.
    """

    def __init__(
        self,
        partitions: Partitions,
        policy: NegotiationPolicy,
        any_held: bool,
        tie_order: NDArray[np.int64],
        cost: Sequence[float],
        gets_back: bool,
    ) -> None:
        self.rows = partitions.rows
        self._partitions = partitions
        self._amounts: dict[int, tuple[float, ...] | None] = {}
        self._enough: dict[tuple[float, ...], NDArray[np.bool_]] = {}
        """The parts that have enough left, after so many changes."""
        self._enough_after = 0
        self._row_list: list[int] = partitions.rows.tolist()
        self._kept = 0
        self._policy = policy
        self._cost = cost
        self._tie_order: list[int] = tie_order.tolist()
        self._any_held = any_held
        self._tie_order_of_parts = tie_order[partitions.rows]
        self._terms = None if gets_back else TermsFinder(partitions, policy)
        self._with_terms: list[Offers] = []
        self._offers = ExpressionCache(
            self._find_offers,
            partitions.ads,
            ["requirements", "rank", "requiregpus", *(f"request{name.lower()}" for name in partitions.resources)],
            expressions_read(partitions, policy),
        )

    def _find_offers(self, context: RequestContext) -> Offers:
        terms = None if self._terms is None else self._terms.find(context)
        offers = Offers(context, self._partitions, self._policy, self._any_held, self._tie_order_of_parts, terms)
        self._kept += len(self._row_list)
        if self._kept > _MOST_KEPT:
            # Earlier ones would use too much memory.
            self._offers.forget()
            self._with_terms = []
            self._kept = len(self._row_list)
        if terms is not None:
            self._with_terms.append(offers)
        return offers

    def forget_terms(self) -> None:
        """Drop what makes the next look at changed slots cheap."""
        self._terms = None
        for offers in self._with_terms:
            offers.forget_terms()
        self._with_terms = []

    def none_left(self, context: RequestContext, suited: NDArray[np.bool_] | None = None) -> bool:
        """Whether no partitionable slot can take another job now.

        *suited*: by part, no where the Requirements of job and slot were not true at the cycle's start.
        """
        enough = self._with_enough(context.autocluster, context.job)
        if enough is not None and suited is not None:
            # As long as nothing is taken from a slot, they stay as they were.
            enough = enough & (suited | self._partitions.is_changed)
        return (enough is not None and not enough.any()) or not self.suitable(context).any()

    def none_has_enough(self, autocluster: int, job: Ad) -> bool:
        """Whether no slot has left what the *job* of an autocluster requests; False where numbers alone do not tell."""
        enough = self._with_enough(autocluster, job)
        return enough is not None and not enough.any()

    def _with_enough(self, autocluster: int, job: Ad) -> NDArray[np.bool_] | None:
        if autocluster not in self._amounts:
            known = self._partitions.amounts_of(job)
            self._amounts[autocluster] = None if known is None else known.asked
        amounts = self._amounts[autocluster]
        if amounts is None:
            return None
        if self._enough_after != len(self._partitions.changed):
            self._enough.clear()
            self._enough_after = len(self._partitions.changed)
        enough = self._enough.get(amounts)
        if enough is None:
            enough = self._enough[amounts] = self._partitions.with_enough(amounts)
        return enough

    def suitable(self, context: RequestContext) -> NDArray[np.bool_]:
        """The partitionable slots that can take another job now."""
        offers = self._offers.get(context)
        offers.refresh()
        return offers.suitable

    def carved(
        self,
        context: RequestContext,
        ordering: Ordering,
        whole: BucketedMatchList,
        limits: Limits,
        find_room: FindRoom | None,
        groups: NDArray[np.int32] | None,
    ) -> CarvedList:
        """The list for one kind of request if jobs take what they request; *whole* lists the other slots.

        *groups* are those of the slots' holders, where they matter to the limits.
        """
        keys = ordering.keys

        def whole_key(slot: int) -> tuple[float, ...]:
            return tuple(-float(key[slot]) for key in keys)

        def freed(slots: Sequence[int]) -> list[tuple[int, float]]:
            return [] if groups is None else [(int(groups[slot]), self._cost[slot]) for slot in slots]

        offers, depth_first = self._offers.get(context), self._policy.depth_first
        return CarvedList(
            offers, self._row_list, whole, whole_key, self._tie_order, limits, depth_first, find_room, freed
        )

    def by_policy(
        self,
        now: ContextNow,
        ordering: Ordering,
        whole: NDArray[np.int32],
        limits: Limits,
        refused: bool,
        groups: NDArray[np.int32] | None,
        cost: Sequence[float] | None = None,
    ) -> ConsumptionList:
        """The list of today's negotiator; *whole* are the other slots on it, *cost* is their weight if it differs.

        *groups* are those of the slots' holders, where they matter to the limits.

        *now* tells the context of the request, also when it takes a slot from the list.
        """
        weights = self._cost if cost is None else cost
        return ConsumptionList(
            lambda: self._offers.get(now()),
            self.rows,
            whole,
            ordering.state,
            ordering.keys,
            weights,
            groups,
            limits,
            refused,
        )
