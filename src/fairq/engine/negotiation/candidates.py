"""The lists of candidates that a cycle builds: the slots of a kind, as submitter, policy and rules see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.evaluation import Ask
from fairq.engine.negotiation.free_slots import SlotClasses
from fairq.engine.negotiation.kind_slots import Kinds, KindSlots
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.match_list import Candidates, MatchList
from fairq.engine.negotiation.offers import Offers
from fairq.engine.negotiation.order import Key, std_sorted_rows
from fairq.engine.negotiation.parts import Parts, PartsOnList
from fairq.engine.negotiation.preemption import NONE, PRIO, RANK, PreemptState
from fairq.engine.negotiation.rooms import Rooms
from fairq.engine.std_sort import std_sorted


class CandidateLists:
    """Builds lists of candidates, over one cycle.

    Args:
        kinds: the kinds of jobs, and their slots.
        rooms: the rooms on slots that are matched as a whole; None: there are none.
        has_limits: whether any job has concurrency limits.
    """

    def __init__(self, kinds: Kinds, rooms: Rooms | None, *, has_limits: bool) -> None:
        self._kinds, self.rooms, self._has_limits = kinds, rooms, has_limits
        self._policy, self._taken, self._classes = kinds.policy, kinds.taken, kinds.classes
        self._static, self._preemption = kinds.static, kinds.preemption
        self.built = 0
        """How many lists were built."""

    def make(self, kind: int, ask: Ask, limits: Limits, *, only_rank: bool, only_free: bool) -> Candidates:
        """Build the list for a kind of request.

        With *only_rank*, only slots whose machine prefers the job to its running one are candidates; with *only_free*,
        only slots without preemption.
        """
        self.built += 1
        slots = self._kinds.of(kind, ask)
        order = slots.order
        states: tuple[PreemptState, ...] = (RANK,) if only_rank else (NONE, RANK)
        allowed: NDArray[np.bool_] | None = None
        if only_free or not self._kinds.holds:
            states = () if only_rank else (NONE,)
        elif not only_rank:
            preemptable = self._preemption.preemptable(kind, ask)
            if preemptable.any():
                states = (NONE, RANK, PRIO)
                # By priority, a submitter takes no slot from itself.
                allowed = (preemptable & ~self._preemption.own(ask(kind).submitter)) | (order.state != PRIO)
        rows = slots.rows
        if PRIO not in states:
            slots.none_sure(self._taken)
            rows = slots.sure[slots.head :]
        listed, are_all = slots.listed(states)
        if limits.caps is not None and not self._is_any_left(kind, ask, rows, allowed):
            # No cap keeps a job from slots that are gone.
            listed = set()
        part_of = partial(self._parted, slots, rows, listed, are_all, allowed, limits)
        if self.rooms is not None and not only_free:
            found = self._furnished(kind, ask, slots, part_of, limits, only_rank=only_rank)
            if found is not None:
                return found
        parts, refused, pieces = None, None, iter((rows,))
        if self._kinds.parts is not None and not only_rank:
            if self._policy.partitionable_slots == "whole":
                entries, kept_off = part_of()
                entries = np.sort(entries)
                keys = [order.key_of(key, entries) for key in order.keys]
                return ConsumptionList(
                    self._kinds.parts,
                    kind,
                    ask,
                    entries,
                    keys,
                    order.classes,
                    self._classes,
                    limits,
                    bool(len(kept_off)),
                )
            parts = self._parts_on_list(kind, ask, only_free=only_free)
            by_priority = np.zeros(len(rows), np.bool_)
            if order.state is not None and allowed is not None:
                by_priority = (order.state[rows] == PRIO) & np.isin(rows, part_of()[0])
            keys = [order.key_of(key, rows) for key in order.keys]
            pieces, are_all = parts.in_order(rows, keys, by_priority), False
        elif self._static is not None or (self._policy.tie_break == "std_sort" and order.ties):
            pieces, refused = self._sorted(slots, *part_of(), limits)
        made = MatchList(
            pieces, order.classes, self._classes, listed, are_all, allowed, self._taken, limits, refused, parts
        )
        if refused is None and self._has_limits and len(part_of()[1]):
            made.keeps_off_at_first()
        return made

    def _is_any_left(self, kind: int, ask: Ask, rows: NDArray[np.int32], allowed: NDArray[np.bool_] | None) -> bool:
        """Whether any of *rows*, or any part of a slot, is left for a kind of job."""
        left = ~self._taken.marks[rows]
        if allowed is not None:
            left &= allowed[rows]
        parts = self._kinds.parts
        return bool(left.any()) or (parts is not None and bool(parts.offers(kind, ask).suitable.any()))

    def _parts_on_list(self, kind: int, ask: Ask, *, only_free: bool) -> PartsOnList:
        parts = self._kinds.parts
        assert parts is not None
        make_room = None
        if parts.preempted is not None and not only_free:
            make_room = partial(parts.preempted.propose, ask(kind))
        return PartsOnList(parts, parts.offers(kind, ask), depth_first=self._policy.depth_first, make_room=make_room)

    def _furnished(
        self, kind: int, ask: Ask, slots: KindSlots, part_of: partial[tuple[NDArray[np.int32], NDArray[np.int32]]],
        limits: Limits, *, only_rank: bool,
    ) -> Candidates | None:  # fmt: skip
        """The list with slots on which room is made; None if there is no room for the job on any."""
        rooms, order = self.rooms, slots.order
        assert rooms is not None
        freed = partial(self._classes.freed, order.classes)
        refused = rooms.find(
            ask(kind), slots.suits.rows, self._kinds.machine_ranks(kind, ask), limits, freed, only_rank=only_rank
        )
        if refused is None:
            return None
        entries, kept_off = part_of()
        with_room = np.array(list(rooms.listed), np.int32)
        numbers, classes = order.classes.copy(), self._classes.with_own(rooms.classes())
        numbers[with_room] = np.arange(len(with_room)) + len(self._classes)
        entries = np.sort(np.concatenate([entries, with_room]))
        keys: list[Key] = [order.key_of(key, entries).astype(np.float64) for key in order.keys]
        place = {row: number for number, row in enumerate(entries.tolist())}
        for row, room in rooms.listed.items():
            for key, value in zip(keys, room.keys, strict=True):
                key[place[row]] = value
        refused = refused or bool(len(kept_off))
        if self._kinds.parts is not None and not only_rank:
            return ConsumptionList(self._kinds.parts, kind, ask, entries, keys, numbers, classes, limits, refused)
        dense = np.unique(-np.array(keys), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if self._policy.tie_break == "std_sort":
            best_first = entries[list(std_sorted(dense))]
        else:
            best_first = entries[np.lexsort([self._kinds.ties[entries], dense])]
        listed = set(numbers[entries].tolist())
        return MatchList(iter((best_first,)), numbers, classes, listed, True, None, self._taken, limits, refused)

    def _sorted(
        self, slots: KindSlots, rows: NDArray[np.int32], kept_off: NDArray[np.int32], limits: Limits
    ) -> tuple[Iterator[NDArray[np.int32]], bool]:
        """The slots of a list whose order depends on all of them, and whether the limits keep any off it."""
        dense = slots.order.dense
        if self._static is None:
            return std_sorted_rows(np.sort(rows), dense), bool(len(kept_off))
        place, weight = self._static.place, self._static.weight
        rows = rows[np.argsort(place[rows])]
        # The search ends with the slot that takes the weight on the list beyond the limit.
        rows = rows[: 1 + np.searchsorted(np.cumsum(weight[rows]), limits.limit, "right")]
        beyond = np.cumsum(weight[rows])[-1:] > limits.limit
        self._kinds.scanned = scanned = place <= (place[rows[-1]] if beyond.any() else len(place))
        refused = bool(scanned[kept_off].any())
        if self._policy.tie_break == "std_sort":
            return std_sorted_rows(rows, dense), refused
        return iter((rows[np.argsort(dense[rows], kind="stable")],)), refused

    def _parted(
        self,
        slots: KindSlots,
        rows: NDArray[np.int32],
        listed: set[int],
        all_listed: bool,
        allowed: NDArray[np.bool_] | None,
        limits: Limits,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Those of *rows* that are free and on the list, and those that the limits keep off it."""
        used = limits.used, limits.used_unclaimed
        permitted = {number for number in sorted(listed) if self._classes.is_permitted(number, limits, used)}
        rows = rows[~self._taken.marks[rows]] if allowed is None else rows[allowed[rows] & ~self._taken.marks[rows]]
        if all_listed and len(permitted) == len(listed):
            return rows, rows[:0]
        marks = np.zeros((2, len(self._classes)), np.bool_)
        marks[0, list(listed)] = marks[1, list(permitted)] = True
        of_rows = slots.order.classes[rows]
        return rows[marks[1, of_rows]], rows[marks[0, of_rows] & ~marks[1, of_rows]]


class ConsumptionList:
    """The list of today's negotiator if slots have consumption policies (docs/htcondor.md 3.14).

    All candidates are sorted once; a slot with a consumption policy is inserted again after its match.

    It must still suit the job, with what the submitter had in use before the match (matchmaker.cpp,
    matchmakingProtocol). Like the negotiator, the insertion uses the inverted comparison: from the head past every
    entry that is *worse* than the slot (insert_candidate). That no claim is left of a slot shows only when it is the
    best candidate: it is none any more then, for anybody.

    Args:
        parts: the slots with consumption policies.
        kind, ask: the request.
        whole: the other slots on the list, indices in the pool, with their *whole_keys*.
        numbers: the class of every slot of the pool; *classes* tells of each.
        limits: the limits, whose use is followed.
        refused_by_limit: whether the limits have kept some slot off the list.
    """

    def __init__(
        self,
        parts: Parts,
        kind: int,
        ask: Ask,
        whole: NDArray[np.int32],
        whole_keys: Sequence[Key],
        numbers: NDArray[np.int32],
        classes: SlotClasses,
        limits: Limits,
        refused_by_limit: bool,
    ) -> None:
        self._offers_now = partial(parts.offers, kind, ask)
        self._numbers, self._classes, self._limits = numbers, classes, limits
        self._new = True
        self._last: tuple[int, Offers] | None = None
        self._offers = offers = self._offers_now()
        rows, used = parts.rows, (limits.used, limits.used_unclaimed)
        suiting = np.flatnonzero(offers.suitable)
        permitted = np.array(
            [limits.permit_on_list(price, NONE, (), *used) for price in offers.cost[suiting].tolist()], np.bool_
        )
        self.refused_at_first = self.refused_by_limit = refused_by_limit or not permitted.all()
        offered = suiting[permitted]
        self._rows: list[int] = rows.tolist()
        self._parts = {self._rows[part]: part for part in offered.tolist()}
        slots = np.concatenate([whole, rows[offered]])
        of_whole = np.array(whole_keys, np.float64).reshape(len(offers.keys), len(whole))
        ranks = np.concatenate([of_whole, offers.keys[:, offered]], axis=1)
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
