"""The candidate slots for one kind of request, best first, as far as the limits of a turn permit them.

The list is built once per kind of request in a turn; then slots are popped. A slot that the limits refuse when it is
popped is lost for this list (matchmaker.cpp, MatchListType; docs/htcondor.md 3.8). Limits read only the weight, the
preempt state and the holder's group of a slot: its class. Their use only grows: if they refuse one slot, they refuse
its class. The first slot of a list was tested when the list was built, and is not tested again: a slot that prefers a
job may be taken once even if the limit is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.free_slots import SlotClasses, Taken
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.parts import PartsOnList
from fairq.engine.negotiation.preemption import NONE, PRIO, PreemptState

InTime = Callable[[int], int]
"""Returns how many of so many matches in a row are made before the time of a turn is over."""


class Candidates(Protocol):
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
        """Return the best candidate that is still on the list, whatever the limits say by now; it stays there."""


class MatchList:
    """Candidates for one kind of request.

    Args:
        pieces: the slots in their order, piece by piece.
        numbers: the class of every slot of the pool; *classes* tells of each.
        listed: the classes that are looked at.
        all_listed: whether there are no others on the pieces.
        allowed: per slot, whether it may be taken if somebody uses it; None: only slots of nobody are looked at.
        taken: the slots that are gone.
        limits: as they stand now they decide what is on the list; they are followed as they are used up.
        refused: whether they have kept any slot off the pieces; None: the pieces have those slots, too. (Of a list that
            is sorted as a whole, it is not known which slots these are.)
        parts: those of divided slots on the list; None: there are none.
    """

    __slots__ = (
        *("_all_open", "_allowed", "_at", "_classes", "_is_sorted", "_left", "_limits", "_new", "_numbers", "_on_list"),
        *("_open", "_parts", "_pieces", "_refused_at_first", "_rows", "_size", "_start", "_taken"),
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
        taken: Taken,
        limits: Limits,
        refused: bool | None = None,
        parts: PartsOnList | None = None,
    ) -> None:
        self._pieces, self._numbers, self._classes = pieces, numbers, classes
        self._left, self._all_open, self._allowed = set(listed), all_listed, allowed
        self._open: NDArray[np.bool_] | None = None
        self._taken, self._limits = taken, limits
        self._start = limits.used, limits.used_unclaimed
        self._is_sorted = refused is not None
        self._on_list = set(listed) if self._is_sorted else None
        if limits.caps is not None and not self._is_sorted:
            # What caps permit does not follow from what this turn has used.
            self._on_list = {number for number in sorted(listed) if self._permits_on_list(number)}
        self._rows = np.empty(0, np.int32)
        self._size = self._at = 0
        self._new = True
        self._parts = parts
        if parts is not None:
            self._left.add(classes.divided)
        self._refused_at_first = self.refused_by_limit = self.refused_free = bool(refused)

    @property
    def refused_at_first(self) -> bool:
        """Whether the limits kept any slot off the list when it was built; of parts: by now."""
        return self._refused_at_first or (self._parts is not None and self.refused_by_limit)

    def keeps_off_at_first(self) -> None:
        """Note that the limits kept a slot off the list when it was built."""
        self._refused_at_first = True

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit: the slot and its preempt state; None at the end."""
        found = self.pop_many(1)
        return None if found is None else (found[0][0], found[1])

    def pop_many(self, most: int, in_time: InTime = int) -> tuple[list[int], PreemptState] | None:
        """Take the best candidates of one class in a row, at most so many; more than one only if nobody uses them."""
        limits, parts = self._limits, self._parts
        if parts is not None and (row := self._propose_further(parts)) is not None:
            return [row], NONE
        while self._seek():
            row = self._rows.item(self._at)
            number = self._numbers.item(row)
            if parts is not None and number == self._classes.divided:
                self._at += 1
                if self._permits_price(parts.price(row)):
                    self._new = False
                    parts.propose(row)
                    return [row], NONE
                continue
            state, cost, freed = self._classes.of(number)
            free_first = limits.free_first and not self._is_sorted and self.refused_free
            is_listed = self._is_on_list(number) and not (state == PRIO and free_first)
            if is_listed and (self._new or limits.permit_popped(cost, state, freed)):
                count = 1
                if most > 1 and state == NONE:
                    count = in_time(limits.in_a_row(cost, most, first_is_tested=self._new))
                self._new = False
                if count > 1:
                    return self._run(number, count), state
                self._at += 1
                return [row], state
            self.refused_by_limit = True
            self.refused_free |= state == NONE or self._is_sorted
            self._close(number)
        if parts is None or (self.refused_free and limits.free_first):
            return None
        made = parts.make_room(self._permits_room)
        return None if made is None else ([made[0]], made[1])

    def pass_over(self, slot: int) -> None:
        """Leave out a slot that was popped and not taken: popping did that already."""
        if self._parts is not None:
            self._parts.pass_over(slot)

    def next(self) -> tuple[int, PreemptState] | None:
        """Return the best candidate that is still on the list, whatever the limits say by now; it stays there."""
        while self._seek():
            row = self._rows.item(self._at)
            number = self._numbers.item(row)
            if number == self._classes.divided:
                return row, NONE
            if self._is_on_list(number):
                return row, self._classes.of(number).state
            self._close(number)
        return None

    def _propose_further(self, parts: PartsOnList) -> int | None:
        """Propose the next part of the slot that is filled before others, if the limits permit its price."""
        row = parts.filling()
        if row is None:
            return None
        if self._permits_price(parts.price(row)):
            parts.fill()
            return row
        parts.stop_filling()
        return None

    def _permits_price(self, price: float) -> bool:
        """Whether the limits permit a match of a part, now and when the list was built."""
        limits = self._limits
        if limits.permit_on_list(price, NONE, (), *self._start) and limits.permit_popped(price, NONE, ()):
            return True
        self.refused_by_limit = self.refused_free = True
        return False

    def _permits_room(self, cost: float, state: PreemptState, victims: Collection[int]) -> bool:
        """The same of a match for which the slots *victims* make room."""
        freed = self._classes.freed(self._numbers, victims)
        limits = self._limits
        permits = limits.permit_popped(cost, state, freed) and limits.permit_on_list(cost, state, freed, *self._start)
        self.refused_by_limit |= not permits
        self.refused_free |= not permits
        return permits

    def _is_on_list(self, number: int) -> bool:
        """Whether the limits let a class onto the list, as they stood when it was built."""
        return self._permits_on_list(number) if self._on_list is None else number in self._on_list

    def _permits_on_list(self, number: int) -> bool:
        return self._classes.is_permitted(number, self._limits, self._start)

    def _close(self, number: int) -> None:
        """Leave out all slots of a class."""
        self._open_classes()[number] = self._all_open = False
        self._left.discard(number)

    def _open_classes(self) -> NDArray[np.bool_]:
        if self._open is None:
            self._open = np.zeros(len(self._classes), np.bool_)
            self._open[list(self._left)] = True
        return self._open

    def _run(self, number: int, most: int) -> list[int]:
        """Take slots from the next one on, at most so many, up to the first open one of another class."""
        found: list[int] = []
        while len(found) < most and self._on_piece():
            rows = self._rows[self._at : self._at + most + 8]
            places = np.flatnonzero(self._is_open(rows))
            stop = len(places)
            if len(self._left) > 1:
                others = np.flatnonzero(self._numbers[rows[places]] != number)
                stop = int(others[0]) if len(others) else stop
            stop = min(stop, most - len(found))
            found += rows[places[:stop]].tolist()
            if stop < len(places):
                self._at += int(places[stop])
                break
            self._at += len(rows)
        return found

    def _is_open(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        is_open: NDArray[np.bool_] = ~self._taken.marks[rows]
        if not self._all_open:
            is_open &= self._open_classes()[self._numbers[rows]]
        if self._allowed is not None:
            is_open &= self._allowed[rows]
        return is_open

    def _on_piece(self) -> bool:
        """Whether a piece has further slots."""
        while self._at >= self._size:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._rows, self._size, self._at = piece, len(piece), 0
        return True

    def _seek(self) -> bool:
        """Go on to the next open slot; whether there is one."""
        if not self._left:
            return False
        flags, chunk = self._taken.flags, 32
        while self._on_piece():
            row = self._rows.item(self._at)
            may_be = self._all_open or self._numbers.item(row) in self._left
            if may_be and not flags[row] and (self._allowed is None or self._allowed.item(row)):
                return True
            is_open = self._is_open(self._rows[self._at : self._at + chunk])
            place = int(is_open.argmax())
            if is_open.item(place):
                self._at += place
                return True
            self._at += chunk
            chunk *= 8
        return False
