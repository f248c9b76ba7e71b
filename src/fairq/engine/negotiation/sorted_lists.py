"""Builds lists of candidates in the order of the negotiator's sort, which depends on the whole list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matchlist import FreeSlots, SlotBucket, SortedList
from fairq.engine.negotiation.ordering import StaticRanks
from fairq.engine.negotiation.preemption import NONE
from fairq.engine.negotiation.ranked import RankedCandidates
from fairq.engine.negotiation.rest import FreeOfBucket
from fairq.engine.std_sort import equal_sorted, std_sorted_pieces


class SortedLists:
    """Builds them, over one cycle.

    Args:
        cost: the weight of each slot.
        free: the slots not yet matched.
        groups: the group of every slot's holder, where that matters to limits.
        static: the ranks of all slots if they are the same for all jobs.
        std_sort: whether slots that rank equally are in the order of ``std::sort``; otherwise they are as listed.
    """

    def __init__(
        self,
        cost: list[float],
        free: FreeSlots,
        groups: NDArray[np.int32] | None,
        static: StaticRanks | None,
        *,
        std_sort: bool,
    ) -> None:
        self._cost = cost
        self._free = free
        self.groups = groups
        self._static = static
        self._std_sort = std_sort
        self._rests: dict[int, tuple[FreeOfBucket, SlotBucket]] = {}
        self.scanned: NDArray[np.bool_] | None = None
        """The slots at which the last search looked; None: all."""

    def make(
        self, ranked: RankedCandidates, buckets: list[SlotBucket], allowed: NDArray[np.bool_], limits: Limits
    ) -> SortedList:
        """The candidates in the order of the negotiator's sort, which depends on the whole list."""
        best_first: Iterator[int]
        kinds = [(bucket.state, bucket.cost, bucket.group) for bucket in buckets]
        of_list = ranked.ordering.state, self._cost, self.groups, kinds, limits
        if self._static is None and ranked.equal and len(buckets) == 1 and buckets[0].state == NONE:
            best_first, refused = self._alike(buckets[0], limits)
            return SortedList(best_first, *of_list, refused)
        entries, refused = self.listed(buckets, allowed, limits)
        pieces: Iterable[NDArray[np.int64]]
        if not self._std_sort:
            pieces = [np.argsort(ranked.ordering.dense[entries], kind="stable")]
        elif ranked.equal and self._static is None:
            pieces = equal_sorted(len(entries))
        else:
            pieces = std_sorted_pieces(ranked.ordering.dense[entries])
        best_first = chain.from_iterable(entries[piece].tolist() for piece in pieces)
        return SortedList(best_first, *of_list, refused)

    def _alike(self, bucket: SlotBucket, limits: Limits) -> tuple[Iterator[int], bool]:
        """The same of slots that are all alike, and whether the limits exclude them."""
        known = self._rests.get(id(bucket))
        if known is None:
            # The bucket is kept with it, so that its id stays its own.
            known = self._rests[id(bucket)] = FreeOfBucket(bucket.marked(len(self._cost)), self._free), bucket
        if not limits.permit_on_list(bucket.cost, bucket.state):
            return iter(()), bucket.start(self._free) < len(bucket.order)
        rest = known[0].now()
        # The last list tells how much of this one will be read.
        pieces = equal_sorted(len(rest), known[0].lately)
        return chain.from_iterable(rest.at(places).tolist() for places in pieces), False

    def listed(
        self, buckets: list[SlotBucket], allowed: NDArray[np.bool_], limits: Limits
    ) -> tuple[NDArray[np.int32], bool]:
        """The slots on a list, in the order of the search, and whether the limits exclude any."""
        free = self._free.mask()
        # Marked, and not put together and sorted: that would cost more than all the rest.
        listed, kept_off = np.zeros(len(free), np.bool_), np.zeros(len(free), np.bool_)
        for bucket in buckets:
            slots = bucket.marked(len(free)) & free
            marks = listed if limits.permit_on_list(bucket.cost, bucket.state, bucket.freed) else kept_off
            marks |= slots if bucket.state == NONE else slots & allowed
        entries = np.flatnonzero(listed).astype(np.int32)
        if self._static is None:
            return entries, bool(kept_off.any())
        place = self._static.place
        entries = entries[np.argsort(place[entries])]
        # The search ends with the slot that takes the weight on the list beyond the limit.
        weight = self._static.weight
        entries = entries[: 1 + np.searchsorted(np.cumsum(weight[entries]), limits.limit, "right")]
        beyond = np.cumsum(weight[entries])[-1:] > limits.limit
        self.scanned = place <= (place[entries[-1]] if beyond.any() else len(place))
        return entries, bool(self.scanned[kept_off].any())
