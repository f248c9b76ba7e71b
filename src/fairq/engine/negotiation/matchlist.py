"""The list of candidate slots for one request, best first.

The negotiator builds the list once per kind of request in a turn and then pops slots. A slot that the limits refuse
when it is popped is lost for this list (matchmaker.cpp, MatchListType; docs/htcondor.md 3.8). Limits read only the
weight, the preempt state and the holder's group of a slot, and their use only grows: if they refuse one slot, they
refuse all equal ones.
The first slot of a list was tested when the list was built, and is not tested again. Therefore a slot that prefers a
job may be taken once even if the limit is used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.marks import first_unmarked
from fairq.engine.negotiation.preemption import NO_GROUP, NONE, PREEMPT_STATES, PRIO, PreemptState, slot_kind
from fairq.engine.quotas.enforcement import Freed

_FEW = 4
"""So many slots are looked for one by one: a call of NumPy costs more."""


class FreeSlots:
    """The candidates not yet matched in this cycle."""

    def __init__(self, candidates: NDArray[np.bool_]) -> None:
        self._taken = bytearray(np.logical_not(candidates).tobytes())
        self._view = np.frombuffer(self._taken, dtype=np.uint8)
        self.left = int(np.count_nonzero(candidates))
        self._noted: list[int] | None = None

    def take(self, slot: int) -> None:
        """Take a slot out for the rest of the cycle."""
        self._taken[slot] = 1
        self.left -= 1
        if self._noted is not None:
            self._noted.append(slot)

    def take_all(self, slots: Sequence[int]) -> None:
        """Take these slots, all of them different, out for the rest of the cycle."""
        taken = self._taken
        # NumPy would first make an array of them, which takes longer.
        for slot in slots:
            taken[slot] = 1
        self.left -= len(slots)
        if self._noted is not None:
            self._noted += slots

    def taken(self) -> Sequence[int]:
        """The slots taken since the first time that somebody asked, in the order in which they were taken."""
        if self._noted is None:
            self._noted = []
        return self._noted

    def is_taken(self, slot: int) -> bool:
        """Whether the slot is no candidate any more."""
        return self._taken[slot] != 0

    def among(self, slots: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of these slots are still candidates."""
        free: NDArray[np.bool_] = self._view[slots] == 0
        return free

    def mask(self) -> NDArray[np.bool_]:
        """Which slots are still candidates, one truth value per slot of the pool."""
        free: NDArray[np.bool_] = self._view == 0
        return free

    def next_free(self, order: NDArray[np.int32], start: int) -> int:
        """The first position from *start* on whose slot is still a candidate, or the length of *order*."""
        return first_unmarked(self._taken, order, start)

    def next_ones(self, order: NDArray[np.int32], start: int, most: int) -> tuple[list[int], int]:
        """The first slots from *start* on that are still candidates, at most so many, and the position after them."""
        found: list[int] = []
        size, chunk = len(order), most + 8
        if most <= _FEW:
            while len(found) < most and (start := self.next_free(order, start)) < size:
                found.append(int(order[start]))
                start += 1
            return found, start
        while start < size and len(found) < most:
            at = start + np.flatnonzero(self._view[order[start : start + chunk]] == 0)[: most - len(found)]
            found += order[at].tolist()
            start = int(at[-1]) + 1 if len(found) == most else start + chunk
            chunk *= 4
        return found, min(start, size)

    def next_allowed(self, order: NDArray[np.int32], start: int, allowed: NDArray[np.bool_]) -> int:
        """The same among the *allowed* slots alone (a truth value per slot of the pool)."""
        view = self._view
        size, chunk = len(order), 64
        while start < size:
            part = order[start : start + chunk]
            found = np.flatnonzero(allowed[part] & (view[part] == 0))
            if len(found):
                return start + int(found[0])
            start += chunk
            chunk *= 4
        return size


class Alike(Struct, frozen=True):
    """What the slots on a list have in common: their weight. *tested*: the limits permit the first one, as listed."""

    cost: float
    tested: bool


class SlotBucket(Struct):
    """Slots of one preempt state, one weight and one *group* of their holders in a fixed order, shared by many lists.

    All slots before *head* are taken; slots are never given back within a cycle.
    """

    order: NDArray[np.int32]
    state: PreemptState
    cost: float
    group: int = NO_GROUP
    head: int = 0
    _marked: NDArray[np.bool_] | None = None

    @property
    def freed(self) -> Freed:
        """What a match of one of its slots preempts."""
        return ((self.group, self.cost),)

    def marked(self, size: int) -> NDArray[np.bool_]:
        """Its slots among those of the pool, which has so many: one truth value for each."""
        if self._marked is None:
            self._marked = np.zeros(size, np.bool_)
            self._marked[self.order] = True
        return self._marked

    def start(self, free: FreeSlots) -> int:
        """The place of the first slot still free."""
        self.head = free.next_free(self.order, self.head)
        return self.head


class MatchList(Protocol):
    """Candidates for one kind of request, best first."""

    @property
    def refused_by_limit(self) -> bool:
        """Whether the limits have kept any slot from the request."""

    @property
    def refused_at_first(self) -> bool:
        """Whether they have kept one off the list when it was built."""

    @property
    def refused_free(self) -> bool:
        """Whether they have kept one from it that nobody would have to leave."""

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit: the slot and its preempt state; None at the end."""

    def pass_over(self, slot: int) -> None:
        """Leave out a slot that was popped and not taken."""

    def next(self) -> tuple[int, PreemptState] | None:
        """The best candidate that is still on the list, whatever the limits say by now; it stays there."""


class _Walk(Struct):
    """The position of a list in a bucket; *permitted*: the limits allow its slots on the list."""

    bucket: SlotBucket
    at: int
    permitted: bool


class BucketedMatchList:
    """A list made of buckets: its next slot is the best of the buckets' first free slots.

    Args:
        buckets: the candidates.
        place: the place of every slot in the common order of all buckets.
        free: the slots not yet matched.
        allowed: per slot of the pool, whether a slot with a holder may be taken by this submitter (holder, policy,
            priority).
        limits: the limits as they stand when the list is built, followed as they are used up.
    """

    __slots__ = (
        "_allowed",
        "_free",
        "_limits",
        "_listed",
        "_new",
        "_open",
        "_place",
        "refused_at_first",
        "refused_by_limit",
        "refused_free",
    )

    def __init__(
        self,
        buckets: Sequence[SlotBucket],
        place: NDArray[np.int64],
        free: FreeSlots,
        allowed: NDArray[np.bool_],
        limits: Limits,
    ) -> None:
        self._open = [
            _Walk(bucket, bucket.start(free), limits.permit_on_list(bucket.cost, bucket.state, bucket.freed))
            for bucket in buckets
        ]
        self._place = place
        self._free = free
        self._allowed = allowed
        self._limits = limits
        self._new = True
        self._listed: SlotBucket | None = None
        self.refused_by_limit = self.refused_free = False
        self.refused_at_first = any(
            not walk.permitted and self._first(walk.bucket, walk.at) < len(walk.bucket.order) for walk in self._open
        )

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit."""
        while self._open:
            best = self._best()
            if best is None:
                return None
            walk, slot = best
            bucket = walk.bucket
            if bucket is not self._listed and self._lists(walk):
                self._listed = bucket
            if bucket is self._listed and (
                self._new or self._limits.permit_popped(bucket.cost, bucket.state, bucket.freed)
            ):
                self._new = False
                return slot, bucket.state
            self._listed = None
            self.refused_by_limit = True
            self.refused_free |= bucket.state == NONE
            self._open = [other for other in self._open if other is not walk]
        return None

    def _lists(self, walk: _Walk) -> bool:
        """Whether the bucket's slots are on the list, by the limits when it was built."""
        free_first = self.refused_free and self._limits.free_first and walk.bucket.state == PRIO
        return not free_first and walk.permitted

    def pass_over(self, slot: int) -> None:
        """Leave out a slot that was popped and not taken."""
        for walk in self._open:
            if walk.at < len(walk.bucket.order) and walk.bucket.order[walk.at] == slot:
                walk.at += 1

    def alike(self) -> Alike | None:
        """What all slots left on the list have in common, if nobody uses them; None: they differ."""
        walk = self._open[0] if len(self._open) == 1 else None
        if walk is None or walk.bucket.state != NONE or not walk.permitted:
            return None
        walk.at = self._free.next_free(walk.bucket.order, walk.at)
        if walk.at == len(walk.bucket.order):
            return None
        return Alike(walk.bucket.cost, self._new)

    def pop_alike(self, most: int) -> list[int]:
        """Take the best candidates, at most so many, of a list whose slots are `alike`; the limits permit them."""
        walk = self._open[0]
        self._listed, self._new = walk.bucket, False
        found, walk.at = self._free.next_ones(walk.bucket.order, walk.at, most)
        return found

    def next(self) -> tuple[int, PreemptState] | None:
        """The best candidate that is still on the list, whatever the limits say by now; it stays there."""
        self._open = [walk for walk in self._open if walk.permitted]
        best = self._best()
        return None if best is None else (best[1], best[0].bucket.state)

    def _best(self) -> tuple[_Walk, int] | None:
        """The best first free slot of all open buckets, with its bucket; used up buckets are closed."""
        best: tuple[_Walk, int] | None = None
        used_up = False
        for walk in self._open:
            bucket = walk.bucket
            at = walk.at = self._first(bucket, walk.at)
            if at == len(bucket.order):
                used_up = True
                continue
            slot = int(bucket.order[at])
            if best is None or self._place[slot] < self._place[best[1]]:
                best = walk, slot
        if used_up:
            self._open = [walk for walk in self._open if walk.at < len(walk.bucket.order)]
        return best

    def _first(self, bucket: SlotBucket, start: int) -> int:
        """The place of the bucket's first slot from *start* on that is free and may be taken."""
        if bucket.state == NONE:
            return self._free.next_free(bucket.order, start)
        return self._free.next_allowed(bucket.order, start, self._allowed)


class SortedList:
    """A list sorted as a whole when it is built.

    Args:
        slots: the candidates that the limits allow on the list, best first.
        state: the preempt state of every slot of the pool.
        cost: the weight of every slot.
        groups: the group of every slot's holder, where that matters to the limits.
        kinds: preempt state, weight and group of the slots on the list, each triple once.
        limits: the limits, followed as they are used up.
        refused_by_limit: whether the limits have excluded any slot.
    """

    __slots__ = (
        "_cost",
        "_groups",
        "_kinds",
        "_limits",
        "_new",
        "_only",
        "_slots",
        "_state",
        "refused_at_first",
        "refused_by_limit",
    )

    def __init__(
        self,
        slots: Iterator[int],
        state: NDArray[np.int8],
        cost: Sequence[float],
        groups: NDArray[np.int32] | None,
        kinds: Iterable[tuple[PreemptState, float, int]],
        limits: Limits,
        refused_by_limit: bool,
    ) -> None:
        self._slots = slots
        self._state = state
        self._cost = cost
        self._groups = groups
        self._kinds = set(kinds)
        only = next(iter(self._kinds)) if len(self._kinds) == 1 else None
        self._only = only[1] if only is not None and only[0] == NONE else None
        self._limits = limits
        self._new = True
        self.refused_at_first = self.refused_by_limit = refused_by_limit

    @property
    def refused_free(self) -> bool:
        """The same: which slots they were is not kept."""
        return self.refused_by_limit

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit."""
        for slot in self._slots:
            state, cost, group = kind = slot_kind(slot, self._state, self._cost, self._groups)
            if kind not in self._kinds:
                continue
            if self._new or self._limits.permit_popped(cost, state, ((group, cost),)):
                self._new = False
                return slot, state
            self.refused_by_limit = True
            # All slots of this kind are refused, whatever is matched meanwhile; without another kind nothing is left.
            self._kinds.discard(kind)
            if not self._kinds:
                self._slots = iter(())
                break
        return None

    def alike(self) -> Alike | None:
        """What all slots left on the list have in common, if nobody uses them; None: they differ."""
        return None if self._only is None else Alike(self._only, self._new)

    def pop_alike(self, most: int) -> list[int]:
        """Take the best candidates, at most so many, of a list whose slots are `alike`; the limits permit them."""
        self._new = False
        return list(islice(self._slots, most))

    def pass_over(self, slot: int) -> None:
        """Leave out a slot that was popped and not taken: popping did that already."""

    def next(self) -> tuple[int, PreemptState] | None:
        """The best candidate that is still on the list, whatever the limits say by now; it stays there."""
        slot = next(self._slots, None)
        if slot is None:
            return None
        self._slots = chain([slot], self._slots)
        return slot, PREEMPT_STATES[self._state[slot]]
