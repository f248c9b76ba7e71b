"""The candidate slots for one kind of request, best first, as far as the limits of a turn permit them.

The list is built once per kind of request in a turn; then slots are popped. A slot that the limits refuse when it is
popped is lost for this list (matchmaker.cpp, MatchListType; docs/htcondor.md 3.8). Limits depend only on the class of
a slot: its weight, its preempt state and its holder's group. Use only grows: if the limits refuse one slot, they refuse
its class. The first slot of a list was tested when the list was built and is not tested again: a slot that prefers a
job may be taken once even if the limit is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.free_slots import SlotClasses, TakenSlots
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.parts import PartsOnList
from fairq.engine.negotiation.preemption import NONE, PRIO, PreemptState

InTime = Callable[[int], int]
"""Returns how many of a number of matches in a row are made before the time of a turn is over."""


class Candidates(Protocol):
    """Candidates for one kind of request, best first."""

    @property
    def refused_by_limit(self) -> bool:
        """Whether the limits have refused any slot."""

    @property
    def refused_at_first(self) -> bool:
        """Whether the limits refused a slot when the list was built."""

    @property
    def refused_free(self) -> bool:
        """Whether the limits have refused a slot that needs no preemption."""

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit: the slot and its preempt state; None at the end."""

    def pass_over(self, slot: int) -> None:
        """Skip a slot that was popped and not taken."""

    def next(self) -> tuple[int, PreemptState] | None:
        """Return the best candidate on the list, even if the limits now refuse it; it remains there."""


class MatchList:
    """Candidates for one kind of request.

    Args:
        pieces: the slots in order of preference, piece by piece.
        numbers: the class of every slot of the pool, described by *classes*.
        listed: the classes of slots that may be candidates.
        all_listed: whether the pieces contain no other classes.
        allowed: per slot, whether it may be taken if it is in use; None: no slot in use is a candidate.
        taken: the slots that are taken.
        limits: their present use decides what is on the list; later use decides what may be popped.
        refused: whether the limits have removed any slot from the pieces; None: the pieces still contain them. (Of a
            list that is sorted as a whole, it is not known which slots these are.)
        parts: the divided slots on the list; None: there are none.
    """

    __slots__ = (
        *("_all_open", "_allowed", "_classes", "_is_first", "_is_sorted", "_limits", "_numbers", "_on_list", "_open"),
        *("_open_numbers", "_parts", "_pieces", "_position", "_refused_at_first", "_rows", "_size", "_start", "_taken"),
        *("refused_by_limit", "refused_free"),
    )

    def __init__(
        self,
        pieces: Iterator[NDArray[np.int32]],
        numbers: NDArray[np.int32],
        classes: SlotClasses,
        listed: Collection[int],
        all_listed: bool,
        allowed: NDArray[np.bool_] | None,
        taken: TakenSlots,
        limits: Limits,
        refused: bool | None = None,
        parts: PartsOnList | None = None,
    ) -> None:
        self._pieces, self._numbers, self._classes = pieces, numbers, classes
        self._open_numbers, self._all_open, self._allowed = set(listed), all_listed, allowed
        self._open: NDArray[np.bool_] | None = None
        self._taken, self._limits = taken, limits
        self._start = limits.used, limits.used_unclaimed
        self._is_sorted = refused is not None
        self._on_list = set(listed) if self._is_sorted else None
        if limits.caps is not None and not self._is_sorted:
            # What the caps permit depends on more than the use of this turn.
            self._on_list = {number for number in sorted(listed) if self._permits_on_list(number)}
        self._rows = np.empty(0, np.int32)
        self._size = self._position = 0
        self._is_first = True
        self._parts = parts
        if parts is not None:
            self._open_numbers.add(classes.divided)
        self._refused_at_first = self.refused_by_limit = self.refused_free = bool(refused)

    @property
    def refused_at_first(self) -> bool:
        """Whether the limits refused a slot when the list was built; with parts, until now."""
        return self._refused_at_first or (self._parts is not None and self.refused_by_limit)

    def record_refusal_at_first(self) -> None:
        """Record that the limits refused a slot when the list was built."""
        self._refused_at_first = True

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit: the slot and its preempt state; None at the end."""
        popped = self.pop_many(1)
        return None if popped is None else (popped[0][0], popped[1])

    def pop_many(self, most: int, in_time: InTime = int) -> tuple[list[int], PreemptState] | None:
        """Take up to *most* of the best candidates in a row, of one class; more than one only if they are free."""
        limits, parts = self._limits, self._parts
        if parts is not None and (row := self._propose_next_part(parts)) is not None:
            return [row], NONE
        while self._seek():
            row = self._rows.item(self._position)
            number = self._numbers.item(row)
            if parts is not None and number == self._classes.divided:
                self._position += 1
                if self._permits_price(parts.price(row)):
                    self._is_first = False
                    parts.propose(row)
                    return [row], NONE
                continue
            state, cost, freed = self._classes.slot_class(number)
            free_first = limits.free_first and not self._is_sorted and self.refused_free
            is_listed = self._is_on_list(number) and not (state == PRIO and free_first)
            if is_listed and (self._is_first or limits.permit_popped(cost, state, freed)):
                count = 1
                if most > 1 and state == NONE:
                    count = in_time(limits.in_a_row(cost, most, first_is_tested=self._is_first))
                self._is_first = False
                if count > 1:
                    return self._take_run(number, count), state
                self._position += 1
                return [row], state
            self.refused_by_limit = True
            self.refused_free |= state == NONE or self._is_sorted
            self._close(number)
        if parts is None or (self.refused_free and limits.free_first):
            return None
        room = parts.make_room(self._permits_preemption)
        return None if room is None else ([room[0]], room[1])

    def pass_over(self, slot: int) -> None:
        """Skip a slot that was popped and not taken; only parts need it, since popping removed the slot."""
        if self._parts is not None:
            self._parts.pass_over(slot)

    def next(self) -> tuple[int, PreemptState] | None:
        """Return the best candidate on the list, even if the limits now refuse it; it remains there."""
        while self._seek():
            row = self._rows.item(self._position)
            number = self._numbers.item(row)
            if number == self._classes.divided:
                return row, NONE
            if self._is_on_list(number):
                return row, self._classes.slot_class(number).state
            self._close(number)
        return None

    def _propose_next_part(self, parts: PartsOnList) -> int | None:
        """Propose the next part of the slot that is being filled, if the limits permit its price."""
        row = parts.filling()
        if row is None:
            return None
        if self._permits_price(parts.price(row)):
            parts.fill()
            return row
        parts.stop_filling()
        return None

    def _permits_price(self, price: float) -> bool:
        """Return whether the limits permit a match of a part, now and when the list was built."""
        limits = self._limits
        if limits.permit_on_list(price, NONE, (), *self._start) and limits.permit_popped(price, NONE, ()):
            return True
        self.refused_by_limit = self.refused_free = True
        return False

    def _permits_preemption(self, cost: float, state: PreemptState, victims: Collection[int]) -> bool:
        """Return whether the limits permit a match that preempts *victims*, now and when the list was built."""
        freed = self._classes.freed(self._numbers, victims)
        limits = self._limits
        permits = limits.permit_popped(cost, state, freed) and limits.permit_on_list(cost, state, freed, *self._start)
        self.refused_by_limit |= not permits
        self.refused_free |= not permits
        return permits

    def _is_on_list(self, number: int) -> bool:
        """Return whether the limits permitted a class when the list was built."""
        return self._permits_on_list(number) if self._on_list is None else number in self._on_list

    def _permits_on_list(self, number: int) -> bool:
        return self._classes.is_permitted(number, self._limits, self._start)

    def _close(self, number: int) -> None:
        """Remove all slots of a class from the list."""
        self._open_classes()[number] = self._all_open = False
        self._open_numbers.discard(number)

    def _open_classes(self) -> NDArray[np.bool_]:
        if self._open is None:
            self._open = np.zeros(len(self._classes), np.bool_)
            self._open[list(self._open_numbers)] = True
        return self._open

    def _take_run(self, number: int, most: int) -> list[int]:
        """Take up to *most* slots from the next one on, stopping before an open slot of another class."""
        slots: list[int] = []
        while len(slots) < most and self._on_piece():
            rows = self._rows[self._position : self._position + most + 8]
            open_indices = np.flatnonzero(self._is_open(rows))
            stop = len(open_indices)
            if len(self._open_numbers) > 1:
                other_class = np.flatnonzero(self._numbers[rows[open_indices]] != number)
                stop = int(other_class[0]) if len(other_class) else stop
            stop = min(stop, most - len(slots))
            slots += rows[open_indices[:stop]].tolist()
            if stop < len(open_indices):
                self._position += int(open_indices[stop])
                break
            self._position += len(rows)
        return slots

    def _is_open(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        is_open: NDArray[np.bool_] = ~self._taken.marks[rows]
        if not self._all_open:
            is_open &= self._open_classes()[self._numbers[rows]]
        if self._allowed is not None:
            is_open &= self._allowed[rows]
        return is_open

    def _on_piece(self) -> bool:
        """Return whether slots are left, after loading the next piece if needed."""
        while self._position >= self._size:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._rows, self._size, self._position = piece, len(piece), 0
        return True

    def _seek(self) -> bool:
        """Move to the next open slot; return whether there is one."""
        if not self._open_numbers:
            return False
        flags, chunk = self._taken.flags, 32
        while self._on_piece():
            row = self._rows.item(self._position)
            may_be_open = self._all_open or self._numbers.item(row) in self._open_numbers
            if may_be_open and not flags[row] and (self._allowed is None or self._allowed.item(row)):
                return True
            is_open = self._is_open(self._rows[self._position : self._position + chunk])
            index = int(is_open.argmax())
            if is_open.item(index):
                self._position += index
                return True
            self._position += chunk
            chunk *= 8
        return False
