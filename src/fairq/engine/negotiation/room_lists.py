"""Lists of candidates with partitionable slots on which room is made for the job (`room`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.holders import Holders
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matchlist import FreeSlots, SlotBucket, SortedList
from fairq.engine.negotiation.ordering import Ordering
from fairq.engine.negotiation.participants import slots_taking_part
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import PreemptionPolicy, slot_kind
from fairq.engine.negotiation.ranked import RankedCandidates
from fairq.engine.negotiation.rolled_up import children
from fairq.engine.negotiation.room import Room, RoomMaker
from fairq.engine.negotiation.snapshot import PoolSlots
from fairq.engine.negotiation.sorted_lists import SortedLists
from fairq.engine.quotas.enforcement import Freed
from fairq.engine.std_sort import std_sorted


class Furnished(Struct, frozen=True):
    """What a list with rooms is made from.

    Args:
        entries: the slots that the limits allow on the list, in pool order.
        refused: whether the limits have excluded any.
        ordering, cost: as for all slots of the pool, with those of the rooms.
        groups: as in a `SortedList`.
        order: the place of every slot among slots that rank equally; None: as `std::sort` leaves them.
    """

    entries: NDArray[np.int32]
    refused: bool
    ordering: Ordering
    cost: Sequence[float]
    groups: NDArray[np.int32] | None
    order: NDArray[np.int64] | None

    def sorted_list(self, limits: Limits) -> SortedList:
        """The list, if no slot on it is divided."""
        entries, state = self.entries, self.ordering.state
        ranks = np.array([key[entries] for key in self.ordering.keys], np.float64)
        dense = np.unique(-ranks, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if self.order is None:
            best_first = entries[list(std_sorted(dense))]
        else:
            best_first = entries[np.lexsort([self.order[entries], dense])]
        kinds = {slot_kind(row, state, self.cost, self.groups) for row in entries.tolist()}
        return SortedList(iter(best_first.tolist()), state, self.cost, self.groups, kinds, limits, self.refused)


class RoomLists:
    """Adds rooms to lists of candidates, over one cycle.

    Args:
        pool: all slots.
        policy: the cycle's rules.
        preemption, holders: who holds which slot, and who may take it.
        free: the slots not yet matched.
        lists: tells which slots are on a list.
        cost: the weight of every slot.
        tie_order: each slot's place among slots that rank equally.
        preemptable: the dynamic slots that may be preempted to make room.
        divided: slots on which no room is made, since their parts are matched.
    """

    def __init__(
        self,
        pool: PoolSlots,
        policy: NegotiationPolicy,
        preemption: PreemptionPolicy,
        holders: Holders,
        free: FreeSlots,
        lists: SortedLists,
        cost: list[float],
        tie_order: NDArray[np.int64],
        preemptable: NDArray[np.bool_],
        divided: NDArray[np.intp],
    ) -> None:
        self._preemption = preemption
        self._holders = holders
        self._free = free
        self._lists = lists
        self._cost = cost
        self._order = None if policy.tie_break == "std_sort" else tie_order
        self._seen = slots_taking_part(pool.ads, policy)
        self._maker = RoomMaker(pool.ads, policy, children(pool, preemptable))
        free_ones = np.setdiff1d(self._maker.rows, divided)
        self._rows = free_ones[~holders.held[free_ones]]
        self.listed: dict[int, Room] = {}
        """The rooms on the last list, by slot."""

    def on(self, slot: int) -> Room | None:
        """The room on a slot of the last list."""
        return self.listed.get(slot)

    def furnish(
        self,
        context: RequestContext,
        ranked: RankedCandidates,
        buckets: list[SlotBucket],
        allowed: NDArray[np.bool_],
        limits: Limits,
        ranks: Sequence[float] | NDArray[np.float64],
        *,
        only_rank: bool,
    ) -> Furnished | None:
        """What the list for a request is made from; None if there is no room for it on any slot."""
        self.listed = {}
        rows = self._rows
        among = rows[self._free.among(rows.astype(np.int32)) & ~ranked.suitable[rows]]
        if not len(among):
            return None
        if self._holders.changing is not None:
            self._holders.changing.refresh()
        may_go = self._preemption.preemptable(context) & ~self._preemption.own(context.submitter) & self._seen
        rooms = self._maker.find(context, among, ranks, may_go, only_rank=only_rank)
        if not rooms:
            return None
        # They are given away once, also if the limits keep the slot off the list.
        self._maker.spend(rooms)
        self.listed = {
            room.row: room for room in rooms if limits.permit_on_list(room.cost, room.state, self._freed(room))
        }
        entries, refused = self._lists.listed(buckets, allowed, limits)
        refused |= len(self.listed) < len(rooms)
        entries = np.sort(np.concatenate([entries, np.array(list(self.listed), np.int32)]))
        ordering = self._ordering(ranked.ordering)
        return Furnished(entries, refused, ordering, self._costs(), self._lists.groups, self._order)

    def _ordering(self, ordering: Ordering) -> Ordering:
        keys, state = [key.astype(np.float64) for key in ordering.keys], ordering.state.copy()
        for row, room in self.listed.items():
            state[row] = room.state
            for key, value in zip(keys, room.keys, strict=True):
                key[row] = value
        return replace(ordering, keys=keys, state=state)

    def _freed(self, room: Room) -> Freed:
        groups = self._lists.groups
        return () if groups is None else [(int(groups[slot]), self._cost[slot]) for slot in room.victims]

    def _costs(self) -> list[float]:
        cost = list(self._cost)
        for row, room in self.listed.items():
            cost[row] = room.cost
        return cost
