"""The list of candidates of today's negotiator if slots have consumption policies (docs/htcondor.md 3.14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.free_slots import SlotClasses
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.offers import Offers
from fairq.engine.negotiation.order import Key
from fairq.engine.negotiation.preemption import NONE, PreemptState
from fairq.engine.std_sort import std_sorted


class ConsumptionList:
    """All candidates, sorted once; a slot with a consumption policy is inserted again after its match.

    It must still suit the job, with what the submitter had in use before the match (matchmaker.cpp,
    matchmakingProtocol). Like the negotiator, the insertion uses the inverted comparison: from the head past every
    entry that is *worse* than the slot (insert_candidate). That no claim is left of a slot shows only when it is the
    best candidate: it is none any more then, for anybody.

    Args:
        offers_now: returns the offers of slots with consumption policies to the request as it is at that moment.
        rows: these slots, indices in the pool.
        whole: the other slots on the list, indices in the pool, with their *whole_keys*.
        numbers: the class of every slot of the pool; *classes* tells of each.
        limits: the limits, whose use is followed.
        refused_by_limit: whether the limits have kept some slot off the list.
    """

    def __init__(
        self,
        offers_now: Callable[[], Offers],
        rows: NDArray[np.intp],
        whole: NDArray[np.int32],
        whole_keys: Sequence[Key],
        numbers: NDArray[np.int32],
        classes: SlotClasses,
        limits: Limits,
        refused_by_limit: bool,
    ) -> None:
        self._offers, self._offers_now = offers_now(), offers_now
        self._numbers, self._classes, self._limits = numbers, classes, limits
        self._new = True
        self._last: tuple[int, Offers] | None = None
        offers, used = self._offers, (limits.used, limits.used_unclaimed)
        suiting = np.flatnonzero(offers.suitable)
        permitted = np.array(
            [limits.permit_on_list(price, NONE, (), *used) for price in offers.cost[suiting].tolist()], np.bool_
        )
        self.refused_at_first = self.refused_by_limit = refused_by_limit or not permitted.all()
        parts = suiting[permitted]
        self._rows: list[int] = rows.tolist()
        self._parts = {self._rows[part]: part for part in parts.tolist()}
        slots = np.concatenate([whole.astype(np.intp), rows[parts]])
        of_whole = np.array(whole_keys, np.float64).reshape(len(offers.keys), len(whole))
        ranks = np.concatenate([of_whole, offers.keys[:, parts]], axis=1)
        in_pool_order = np.argsort(slots, kind="stable")
        slots, ranks = slots[in_pool_order], ranks[:, in_pool_order]
        self._entries: list[tuple[tuple[float, ...], int]] = []
        if len(slots):
            _, dense = np.unique(-ranks, axis=1, return_inverse=True)
            by_sort = list(std_sorted(dense.reshape(-1).astype(np.int64)))
            self._entries = [(tuple((-ranks[:, place]).tolist()), int(slots[place])) for place in by_sort]

    @property
    def refused_free(self) -> bool:
        """The same: which slots they were is not kept."""
        return self.refused_by_limit

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit."""
        if self._last is not None:
            self._put_back(*self._last)
        self._last = None
        while self._entries:
            _, slot = self._entries.pop(0)
            part = self._parts.get(slot)
            if part is None:
                state, cost, freed = self._classes.of(self._numbers.item(slot))
            else:
                state, cost, freed = NONE, float(self._offers.cost[part]), ()
            if self._new or self._limits.permit_popped(cost, state, freed):
                self._new = False
                if part is not None and self._offers.drop_unclaimable(part):
                    continue
                if part is not None:
                    self._last = part, self._offers_now()
                    self._offers.propose(part)
                return slot, state
            self.refused_by_limit = True
        return None

    def pass_over(self, slot: int) -> None:
        """Leave out a slot that was popped and not taken: it does not go back in."""
        self._last = None

    def next(self) -> tuple[int, PreemptState] | None:
        """The best candidate that is still on the list, whatever the limits say by now; it stays there."""
        if self._last is not None:
            self._put_back(*self._last)
            self._last = None
        if not self._entries:
            return None
        slot = self._entries[0][1]
        return slot, NONE if slot in self._parts else self._classes.of(self._numbers.item(slot)).state

    def _put_back(self, part: int, offers: Offers) -> None:
        self._offers.refresh()
        offers.refresh()
        if not offers.suitable[part]:
            return
        entry = (offers.key(part), self._rows[part])
        place = 0
        while place < len(self._entries) and entry[0] < self._entries[place][0]:
            place += 1
        self._entries.insert(place, entry)
