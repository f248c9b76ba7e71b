"""The lists of candidates that a cycle builds: the slots of a kind, as submitter, policy and rules see them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.consumption import ConsumptionList
from fairq.engine.negotiation.evaluation import Ask
from fairq.engine.negotiation.free_slots import SlotClasses
from fairq.engine.negotiation.kind_slots import Kinds, KindSlots
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.match_list import Candidates, MatchList
from fairq.engine.negotiation.order import Key, Order, std_sorted_rows
from fairq.engine.negotiation.parts import PartsOnList
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
        self._allowed_last: tuple[NDArray[np.bool_], Order, str, NDArray[np.bool_]] | None = None
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
                allowed = self._allowed(preemptable, order, ask(kind).submitter)
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
                return self._by_policy(kind, ask, entries, keys, order.classes, self._classes, limits, len(kept_off))
            parts = self._parts_on_list(kind, ask, only_free=only_free)
            by_priority = self._by_priority(order, rows, listed, allowed, limits)
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

    def _allowed(self, preemptable: NDArray[np.bool_], order: Order, submitter: str) -> NDArray[np.bool_]:
        """The slots that may be taken: of nobody, by machine rank, or by priority from somebody else."""
        last = self._allowed_last
        if last is None or last[0] is not preemptable or last[1] is not order or last[2] != submitter:
            allowed = (preemptable & ~self._preemption.own(submitter)) | (order.state != PRIO)
            last = self._allowed_last = preemptable, order, submitter, allowed
        return last[3]

    def _by_priority(
        self, order: Order, rows: NDArray[np.int32], listed: set[int], allowed: NDArray[np.bool_] | None, limits: Limits
    ) -> NDArray[np.bool_]:
        """Which of *rows* would be preempted by priority, as far as the limits permit it."""
        if allowed is None:
            return np.zeros(len(rows), np.bool_)
        used = limits.used, limits.used_unclaimed
        of_priority = [number for number in sorted(listed) if self._classes.of(number).state == PRIO]
        permitted = [number for number in of_priority if self._classes.is_permitted(number, limits, used)]
        return np.isin(order.classes[rows], permitted) & allowed[rows] & ~self._taken.marks[rows]

    def _parts_on_list(self, kind: int, ask: Ask, *, only_free: bool) -> PartsOnList:
        parts = self._kinds.parts
        assert parts is not None
        make_room = None
        if parts.preempted is not None and not only_free:
            make_room = partial(parts.preempted.propose, ask(kind))
        return PartsOnList(parts, parts.offers(kind, ask), depth_first=self._policy.depth_first, make_room=make_room)

    def _by_policy(
        self,
        kind: int,
        ask: Ask,
        entries: NDArray[np.int32],
        keys: list[Key],
        numbers: NDArray[np.int32],
        classes: SlotClasses,
        limits: Limits,
        refused: int,
    ) -> ConsumptionList:
        """The list of today's negotiator where slots have consumption policies."""
        parts = self._kinds.parts
        assert parts is not None
        offers_now = partial(parts.offers, kind, ask)
        rows = parts.partitions.rows
        return ConsumptionList(offers_now, rows, entries, keys, numbers, classes, limits, bool(refused))

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
            return self._by_policy(kind, ask, entries, keys, numbers, classes, limits, refused)
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
        return iter((rows if dense is None else rows[np.argsort(dense[rows], kind="stable")],)), refused

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
