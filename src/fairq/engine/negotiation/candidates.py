"""The lists of candidates that a cycle builds: the slots of a kind that submitter, policy and limits permit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.evaluation import ContextOf
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
        rooms: the rooms on slots that are matched as a whole (`Rooms`); None: there are none.
        has_limits: whether any job has concurrency limits.
    """

    def __init__(self, kinds: Kinds, rooms: Rooms | None, *, has_limits: bool) -> None:
        self._kinds, self.rooms, self._has_limits = kinds, rooms, has_limits
        self._policy, self._taken, self._classes = kinds.policy, kinds.taken, kinds.classes
        self._static, self._preemption = kinds.static, kinds.preemption
        self.built = 0
        """The number of lists built."""

    def make(self, kind: int, context_of: ContextOf, limits: Limits, *, only_rank: bool, only_free: bool) -> Candidates:
        """Build the list for a kind of request.

        With *only_rank*, only slots whose machine prefers the job to its running one are candidates; with *only_free*,
        only slots without preemption.
        """
        self.built += 1
        slots = self._kinds.slots_of(kind, context_of)
        order = slots.order
        states: tuple[PreemptState, ...] = (RANK,) if only_rank else (NONE, RANK)
        allowed: NDArray[np.bool_] | None = None
        if only_free or not self._kinds.lists_held:
            states = () if only_rank else (NONE,)
        elif not only_rank:
            preemptable = self._preemption.preemptable(kind, context_of)
            if preemptable.any():
                states = (NONE, RANK, PRIO)
                # A submitter does not preempt its own jobs by priority.
                allowed = (preemptable & ~self._preemption.own(context_of(kind).submitter)) | (order.state != PRIO)
        rows = slots.rows
        if PRIO not in states:
            slots.none_available(self._taken)
            rows = slots.available[slots.head :]
        listed, are_all = slots.listed(states)
        if limits.caps is not None and not self._is_any_left(kind, context_of, rows, allowed):
            # Slots that are taken do not count as refused by a cap.
            listed = set()
        permitted_rows = partial(self._permitted_rows, slots, rows, listed, are_all, allowed, limits)
        if self.rooms is not None and not only_free:
            with_rooms = self._list_with_rooms(kind, context_of, slots, permitted_rows, limits, only_rank=only_rank)
            if with_rooms is not None:
                return with_rooms
        parts, refused, pieces = None, None, iter((rows,))
        if self._kinds.parts is not None and not only_rank:
            if self._policy.partitionable_slots == "whole":
                entries, refused_rows = permitted_rows()
                entries = np.sort(entries)
                keys = [order.key_of(key, entries) for key in order.keys]
                return ConsumptionList(
                    self._kinds.parts,
                    kind,
                    context_of,
                    entries,
                    keys,
                    order.classes,
                    self._classes,
                    limits,
                    bool(len(refused_rows)),
                )
            parts = self._parts_on_list(kind, context_of, only_free=only_free)
            by_priority = np.zeros(len(rows), np.bool_)
            if order.state is not None and allowed is not None:
                by_priority = (order.state[rows] == PRIO) & np.isin(rows, permitted_rows()[0])
            keys = [order.key_of(key, rows) for key in order.keys]
            pieces, are_all = parts.in_order(rows, keys, by_priority), False
        elif self._static is not None or (self._policy.tie_break == "std_sort" and order.ties):
            pieces, refused = self._sorted(slots, *permitted_rows(), limits)
        match_list = MatchList(
            pieces, order.classes, self._classes, listed, are_all, allowed, self._taken, limits, refused, parts
        )
        if refused is None and self._has_limits and len(permitted_rows()[1]):
            match_list.record_refusal_at_first()
        return match_list

    def _is_any_left(
        self, kind: int, context_of: ContextOf, rows: NDArray[np.int32], allowed: NDArray[np.bool_] | None
    ) -> bool:
        """Return whether any of *rows*, or a part of a divided slot, is left for a kind of job."""
        usable = ~self._taken.marks[rows]
        if allowed is not None:
            usable &= allowed[rows]
        parts = self._kinds.parts
        return bool(usable.any()) or (parts is not None and bool(parts.offers(kind, context_of).suitable.any()))

    def _parts_on_list(self, kind: int, context_of: ContextOf, *, only_free: bool) -> PartsOnList:
        parts = self._kinds.parts
        assert parts is not None
        make_room = None
        if parts.preempted is not None and not only_free:
            make_room = partial(parts.preempted.propose, context_of(kind))
        return PartsOnList(
            parts, parts.offers(kind, context_of), depth_first=self._policy.depth_first, make_room=make_room
        )

    def _list_with_rooms(
        self,
        kind: int,
        context_of: ContextOf,
        slots: KindSlots,
        permitted: partial[tuple[NDArray[np.int32], NDArray[np.int32]]],
        limits: Limits,
        *,
        only_rank: bool,
    ) -> Candidates | None:
        """Return the list including slots on which preemption makes room, None if it makes room on no slot."""
        rooms, order = self.rooms, slots.order
        assert rooms is not None
        freed = partial(self._classes.freed, order.classes)
        refused = rooms.find(
            context_of(kind),
            slots.suitable.rows,
            self._kinds.machine_ranks(kind, context_of),
            limits,
            freed,
            only_rank=only_rank,
        )
        if refused is None:
            return None
        entries, refused_rows = permitted()
        with_room = np.array(list(rooms.listed), np.int32)
        numbers, classes = order.classes.copy(), self._classes.with_further(rooms.classes())
        numbers[with_room] = np.arange(len(with_room)) + len(self._classes)
        entries = np.sort(np.concatenate([entries, with_room]))
        keys: list[Key] = [order.key_of(key, entries).astype(np.float64) for key in order.keys]
        index_by_row = {row: number for number, row in enumerate(entries.tolist())}
        for row, room in rooms.listed.items():
            for key, value in zip(keys, room.keys, strict=True):
                key[index_by_row[row]] = value
        refused = refused or bool(len(refused_rows))
        if self._kinds.parts is not None and not only_rank:
            return ConsumptionList(
                self._kinds.parts, kind, context_of, entries, keys, numbers, classes, limits, refused
            )
        sort_ranks = np.unique(-np.array(keys), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if self._policy.tie_break == "std_sort":
            best_first = entries[list(std_sorted(sort_ranks))]
        else:
            best_first = entries[np.lexsort([self._kinds.ties[entries], sort_ranks])]
        listed = set(numbers[entries].tolist())
        return MatchList(iter((best_first,)), numbers, classes, listed, True, None, self._taken, limits, refused)

    def _sorted(
        self, slots: KindSlots, rows: NDArray[np.int32], refused_rows: NDArray[np.int32], limits: Limits
    ) -> tuple[Iterator[NDArray[np.int32]], bool]:
        """Return the slots of a list whose order depends on all of them, and whether the limits refuse any."""
        sort_ranks = slots.order.dense
        if self._static is None:
            return std_sorted_rows(np.sort(rows), sort_ranks), bool(len(refused_rows))
        static_place, weight = self._static.place, self._static.weight
        rows = rows[np.argsort(static_place[rows])]
        # The search ends with the slot that brings the weight on the list above the limit.
        rows = rows[: 1 + np.searchsorted(np.cumsum(weight[rows]), limits.limit, "right")]
        beyond = np.cumsum(weight[rows])[-1:] > limits.limit
        self._kinds.scanned = scanned = static_place <= (static_place[rows[-1]] if beyond.any() else len(static_place))
        refused = bool(scanned[refused_rows].any())
        if self._policy.tie_break == "std_sort":
            return std_sorted_rows(rows, sort_ranks), refused
        return iter((rows[np.argsort(sort_ranks[rows], kind="stable")],)), refused

    def _permitted_rows(
        self,
        slots: KindSlots,
        rows: NDArray[np.int32],
        listed: set[int],
        all_listed: bool,
        allowed: NDArray[np.bool_] | None,
        limits: Limits,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return those of *rows* that are free and permitted on the list, and those that the limits refuse."""
        used = limits.used, limits.used_unclaimed
        permitted = {number for number in sorted(listed) if self._classes.is_permitted(number, limits, used)}
        rows = rows[~self._taken.marks[rows]] if allowed is None else rows[allowed[rows] & ~self._taken.marks[rows]]
        if all_listed and len(permitted) == len(listed):
            return rows, rows[:0]
        marks = np.zeros((2, len(self._classes)), np.bool_)
        marks[0, list(listed)] = marks[1, list(permitted)] = True
        row_classes = slots.order.classes[rows]
        return rows[marks[1, row_classes]], rows[marks[0, row_classes] & ~marks[1, row_classes]]


class ConsumptionList:
    """The list of today's negotiator if slots have consumption policies (docs/htcondor.md 3.14).

    All candidates are sorted once; a slot with a consumption policy is inserted again after its match.

    It must still suit the job, with the submitter's use before the match (matchmaker.cpp, matchmakingProtocol). Like
    the negotiator, the insertion uses the inverted comparison: from the head past every entry that is *worse* than the
    slot (insert_candidate). A slot without a claim left is discovered when it is the best candidate; then it is a
    candidate for nobody.

    Args:
        parts: the slots with consumption policies.
        kind, context_of: the request.
        undivided: the other slots on the list, indices in the pool; *undivided_keys* are their sort keys.
        numbers: the class of every slot of the pool, described by *classes*.
        limits: the limits; their use changes as matches are made.
        refused_by_limit: whether the limits have already refused a slot on the list.
    """

    def __init__(
        self,
        parts: Parts,
        kind: int,
        context_of: ContextOf,
        undivided: NDArray[np.int32],
        undivided_keys: Sequence[Key],
        numbers: NDArray[np.int32],
        classes: SlotClasses,
        limits: Limits,
        refused_by_limit: bool,
    ) -> None:
        self._offers_now = partial(parts.offers, kind, context_of)
        self._numbers, self._classes, self._limits = numbers, classes, limits
        self._is_first = True
        self._last: tuple[int, Offers] | None = None
        self._offers = offers = self._offers_now()
        rows, used = parts.rows, (limits.used, limits.used_unclaimed)
        suitable_parts = np.flatnonzero(offers.suitable)
        permitted = np.array(
            [limits.permit_on_list(price, NONE, (), *used) for price in offers.cost[suitable_parts].tolist()], np.bool_
        )
        self.refused_at_first = self.refused_by_limit = refused_by_limit or not permitted.all()
        offered = suitable_parts[permitted]
        self._rows: list[int] = rows.tolist()
        self._parts = {self._rows[part]: part for part in offered.tolist()}
        slots = np.concatenate([undivided, rows[offered]])
        keys_of_undivided = np.array(undivided_keys, np.float64).reshape(len(offers.keys), len(undivided))
        ranks = np.concatenate([keys_of_undivided, offers.keys[:, offered]], axis=1)
        in_pool_order = np.argsort(slots, kind="stable")
        slots, ranks = slots[in_pool_order], ranks[:, in_pool_order]
        self._entries: list[tuple[tuple[float, ...], int]] = []
        if len(slots):
            _, sort_ranks = np.unique(-ranks, axis=1, return_inverse=True)
            by_sort = list(std_sorted(sort_ranks.reshape(-1).astype(np.int64)))
            self._entries = [(tuple((-ranks[:, index]).tolist()), int(slots[index])) for index in by_sort]

    @property
    def refused_free(self) -> bool:
        """The same as `refused_by_limit`: it is not recorded which slots were refused."""
        return self.refused_by_limit

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit."""
        if self._last is not None:
            self._insert_again(*self._last)
        self._last = None
        while self._entries:
            _, slot = self._entries.pop(0)
            part = self._parts.get(slot)
            if part is None:
                state, cost, freed = self._classes.slot_class(self._numbers.item(slot))
            else:
                state, cost, freed = NONE, float(self._offers.cost[part]), ()
            if self._is_first or self._limits.permit_popped(cost, state, freed):
                self._is_first = False
                if part is not None and self._offers.drop_unclaimable(part):
                    continue
                if part is not None:
                    self._last = part, self._offers_now()
                    self._offers.propose(part)
                return slot, state
            self.refused_by_limit = True
        return None

    def pass_over(self, slot: int) -> None:
        """Skip a slot that was popped and not taken: it is not inserted again."""
        self._last = None

    def next(self) -> tuple[int, PreemptState] | None:
        """Return the best candidate on the list, even if the limits now refuse it; it remains there."""
        if self._last is not None:
            self._insert_again(*self._last)
            self._last = None
        if not self._entries:
            return None
        slot = self._entries[0][1]
        return slot, NONE if slot in self._parts else self._classes.slot_class(self._numbers.item(slot)).state

    def _insert_again(self, part: int, offers: Offers) -> None:
        self._offers.refresh()
        offers.refresh()
        if not offers.suitable[part]:
            return
        entry = (offers.key(part), self._rows[part])
        index = 0
        while index < len(self._entries) and entry[0] < self._entries[index][0]:
            index += 1
        self._entries.insert(index, entry)
