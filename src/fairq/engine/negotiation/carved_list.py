"""A list of candidates with divided partitionable slots, which can come up again (docs/htcondor.md 3.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matchlist import BucketedMatchList
from fairq.engine.negotiation.offers import Offers
from fairq.engine.negotiation.preemption import NONE, PreemptState
from fairq.engine.quotas.enforcement import Freed

SlotKey = Callable[[int], tuple[float, ...]]
"""The sort key of a slot; lower is better."""

FindRoom = Callable[[Offers, Callable[[float, PreemptState, Sequence[int]], bool]], tuple[int, PreemptState] | None]
"""Proposes a match that the limits permit; returns the slot and its preempt state."""


class CarvedList:
    """Whole slots and parts of partitionable slots, best first.

    Breadth first, a partitionable slot comes up again, with its new rank, when all others had their turn. Depth first,
    it is filled before any other slot.

    Args:
        offers: the partitionable slots.
        rows: their indices in the pool.
        whole: the list of all other slots.
        whole_key: their sort key.
        tie_order: every slot's place among equals.
        limits: the limits when the list is built; their use is followed.
        depth_first: whether one slot is filled before the next one.
        find_room: proposes a match that preempts dynamic slots, once no other slot is left.
        freed: the groups and weights of what is preempted, as the limits read them.
    """

    def __init__(
        self,
        offers: Offers,
        rows: list[int],
        whole: BucketedMatchList,
        whole_key: SlotKey,
        tie_order: list[int],
        limits: Limits,
        depth_first: bool,
        find_room: FindRoom | None = None,
        freed: Callable[[Sequence[int]], Freed] = lambda slots: (),
    ) -> None:
        offers.refresh()
        self._offers = offers
        self._rows = rows
        self._whole = whole
        self._whole_key = whole_key
        self._tie_order = tie_order
        self._limits = limits
        self._built = replace(limits)
        self._depth_first = depth_first
        self._round = offers.best_first()
        self._at = 0
        self._given: list[int] = []
        self._row_of_prices: Iterator[float] = iter(())
        self._filling = -1
        self._refused = False
        self._find_room = find_room
        self._freed = freed
        self._no_room = False

    @property
    def refused_by_limit(self) -> bool:
        """Whether the limits have excluded any slot for the request."""
        return self._refused or self._whole.refused_by_limit

    @property
    def refused_at_first(self) -> bool:
        """The same: when a part was refused is not kept."""
        return self.refused_by_limit

    @property
    def refused_free(self) -> bool:
        """Whether the limits have excluded a slot without preemption."""
        return self._whole.refused_free or self._refused

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit."""
        price = next(self._row_of_prices, None)
        if price is not None:
            if self._permits(price):
                self._offers.propose(self._filling, price)
                return self._rows[self._filling], NONE
            self._row_of_prices = iter(())
            self._given.remove(self._filling)
        while True:
            # The list of whole slots gives the same one again until it is taken or passed over.
            part = self._best_part()
            self._whole.refused_free |= self._refused
            whole = self._whole.pop()
            if part is None and whole is None:
                if not self._begin_round():
                    return self._make_room()
            elif part is None or (whole is not None and self._key_of_whole(whole[0]) < self._key_of_part(part)):
                return whole
            else:
                return self._give(part)

    def _make_room(self) -> tuple[int, PreemptState] | None:
        if self._find_room is None or self._no_room or (self._refused and self._limits.free_first):
            return None
        self._offers.refresh()
        found = self._find_room(self._offers, self._permits_room)
        self._no_room = found is None
        return found

    def _permits_room(self, cost: float, state: PreemptState, victims: Sequence[int]) -> bool:
        freed = self._freed(victims)
        permits = self._limits.permit_popped(cost, state, freed) and self._built.permit_on_list(cost, state, freed)
        self._refused |= not permits
        return permits

    def pass_over(self, slot: int) -> None:
        """Skip a slot that was popped and not taken."""
        if self._given and self._rows[self._given[-1]] == slot:
            self._given.pop()
            self._row_of_prices = iter(())
        elif slot in self._rows:
            self._no_room = True
        else:
            self._whole.pass_over(slot)

    def next(self) -> tuple[int, PreemptState] | None:
        """The best whole slot that is still on the list, otherwise any part; it stays there."""
        return self._whole.next() or (self._rows[0], NONE)

    def _give(self, part: int) -> tuple[int, PreemptState]:
        self._at += 1
        self._given.append(part)
        price: float | None = None
        if self._depth_first:
            self._filling = part
            self._row_of_prices = iter(self._offers.costs_in_a_row(part))
            price = next(self._row_of_prices)
        self._offers.propose(part, price)
        return self._rows[part], NONE

    def _best_part(self) -> int | None:
        cost = self._offers.cost
        while self._at < len(self._round):
            part = self._round[self._at]
            if self._permits(float(cost[part])):
                return part
            self._refused = True
            self._at += 1
        return None

    def _permits(self, cost: float) -> bool:
        permits = self._limits.permit_unclaimed(cost) and self._built.permit_unclaimed(cost)
        self._refused |= not permits
        return permits

    def _begin_round(self) -> bool:
        """Offer the partially used slots again with their new ranks; return whether any is suitable."""
        among = np.array(self._given, np.intp)
        self._given = []
        self._offers.refresh()
        self._round = self._offers.best_first(among) if len(among) else []
        self._at = 0
        return bool(self._round)

    def _key_of_part(self, part: int) -> tuple[float, ...]:
        return (*self._offers.key(part), self._tie_order[self._rows[part]])

    def _key_of_whole(self, slot: int) -> tuple[float, ...]:
        return (*self._whole_key(slot), self._tie_order[slot])
