"""The slots that are left: which, of which weight, and of which class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.distinct import distinct
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.pool import ReservedSlots
from fairq.engine.negotiation.preemption import NONE, PREEMPT_STATES, PreemptState
from fairq.engine.quotas.enforcement import Freed
from fairq.engine.weights import tolerance

if TYPE_CHECKING:
    from fairq.engine.negotiation.partitionable import Partitions


class Taken:
    """Which slots are no candidates, or not any more; *left* counts the others.

    `flags` and `marks` are the same bytes: one slot is read faster from the former, many from the latter.
    """

    def __init__(self, candidates: NDArray[np.bool_]) -> None:
        self.flags = bytearray(np.logical_not(candidates).tobytes())
        self.marks: NDArray[np.bool_] = np.frombuffer(self.flags, np.bool_)
        self.left = int(np.count_nonzero(candidates))
        self.used_up: set[int] = set()

    def take(self, slots: Sequence[int]) -> None:
        """Take these slots, all of them different, for the rest of the cycle."""
        for slot in slots:
            self.flags[slot] = 1
        self.left -= len(slots)

    def first_free(self, rows: NDArray[np.int32], start: int) -> int:
        """Return the first place from *start* on whose slot is free, or the length of *rows*."""
        marks, size, chunk = self.marks, len(rows), 64
        if start < size and not self.flags[rows.item(start)]:
            return start
        while start < size:
            taken = marks[rows[start : start + chunk]]
            place = int(taken.argmin())
            if not taken[place]:
                return start + place
            start += chunk
            chunk *= 4
        return size

    def use_up(self, slots: Sequence[int]) -> None:
        """Count these divided slots as gone: only a job that requests no core can still have a part of them."""
        self.used_up.update(slots)
        self.left -= len(slots)


class FreeWeight:
    """The weight that is still free, over one cycle.

    Args:
        weights: the weight of each slot in the pie; 0 if it does not count.
        free: the candidates that nobody uses.
        reserved: slots that only some submitters may use.
    """

    def __init__(
        self, weights: NDArray[np.float64], free: NDArray[np.bool_], reserved: Sequence[ReservedSlots] = ()
    ) -> None:
        self._weights = weights
        left = np.where(free, weights, 0.0)
        self._left: list[float] = left.tolist()
        self.total = float(left.sum())
        self._reserved = reserved

    def for_all(self) -> float:
        """Return the weight to divide among all submitters, without that of reserved slots."""
        left = self.total
        for weight, _ in self.reserved():
            left -= weight
        return max(0.0, left)

    def reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of its slots that is still free, and who may use it."""
        return [(sum(self._left[row] for row in one.rows), one.admits) for one in self._reserved]

    def all_reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of all its slots in the pie, and who may use them."""
        return [(float(self._weights[list(one.rows)].sum()), one.admits) for one in self._reserved]

    def take_all(self, slots: Iterable[int]) -> None:
        """Take all the rest of each of these slots, in their order."""
        weights, total = self._left, self.total
        for slot in slots:
            total -= weights[slot]
            weights[slot] = 0.0
            total = total if total > 0 else 0.0
        self.total = total

    def take(self, slot: int, weight: float | None = None) -> None:
        """Take *weight* of a slot, or all its rest; a negative weight is given back."""
        left = self._left[slot]
        taken = left if weight is None or weight > left else weight
        self._left[slot] = left - taken
        total = self.total - taken
        self.total = total if total > 0 else 0.0


class FreeResources:
    """The free weight of every resource: with dominant weights, a match takes some of each.

    What is divided is that of the scarcest resource: so much can be given out, whatever the jobs take. A resource
    counts as long as somebody can take it: a job that asks for it, or any job, with a slot that is not divided.

    Args:
        rows: the weight of every slot in the pie, a row for each resource.
        free, reserved: as of `FreeWeight`.
        partitions: the divided slots; None: there are none.
        asked: returns which resources the jobs ask for that may still find a slot.
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        free: NDArray[np.bool_],
        reserved: Sequence[ReservedSlots],
        partitions: Partitions | None,
        asked: Callable[[], NDArray[np.bool_]],
    ) -> None:
        self._weights, self._reserved, self._partitions, self._asked = rows, reserved, partitions, asked
        self._left: NDArray[np.float64] = np.where(free, rows, 0.0)
        self._counted: NDArray[np.bool_] = rows.max(axis=0) > 0
        self._nothing = tolerance(float(rows.sum(axis=1).max()))
        self._undivided = np.ones(len(free), np.bool_)
        if partitions is not None:
            self._undivided[partitions.rows] = False
        self._taken: list[int] = []
        self._carved: list[int] = []
        """Slots of which something was taken since the last look."""

    @property
    def total(self) -> float:
        """The free weight of the resource of which most is left."""
        left = self._rows().sum(axis=1)
        return float(left.max()) if left.max() > self._nothing else 0.0

    def for_all(self) -> float:
        """Return the weight to divide among all submitters, without that of reserved slots."""
        rows = self._rows()
        return self._scarcest(rows.sum(axis=1) - sum(rows[:, one.rows].sum(axis=1) for one in self._reserved))

    def reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of its slots that is still free, and who may use it."""
        rows = self._rows()
        return [(self._scarcest(rows[:, one.rows].sum(axis=1)), one.admits) for one in self._reserved]

    def all_reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of all its slots in the pie, and who may use them."""
        return [(float(self._weights[:, one.rows].sum(axis=1).min()), one.admits) for one in self._reserved]

    def take_all(self, slots: Iterable[int]) -> None:
        """Take all the rest of each of these slots."""
        self._taken.extend(slots)

    def take(self, slot: int, weight: float | None = None) -> None:
        """Take what a match took of a divided slot, or without a *weight* all its rest."""
        (self._taken if weight is None or not self._counted[slot] else self._carved).append(slot)

    def _rows(self) -> NDArray[np.float64]:
        """The free weight of each resource in every slot."""
        if self._carved and self._partitions is not None:
            carved = distinct(self._carved)
            self._left[:, carved] = self._partitions.weights_left(carved)
        self._left[:, self._taken] = 0.0
        self._carved, self._taken = [], []
        return self._left

    def _scarcest(self, left: NDArray[np.float64]) -> float:
        can_be_taken = self._asked() | self._left[:, self._undivided].any(axis=1)
        found = left[(left > self._nothing) & can_be_taken]
        return float(found.min()) if len(found) else 0.0


class SlotClass(NamedTuple):
    """What the limits read of a slot: its preempt state, its weight, and what a match *freed*: preempts."""

    state: PreemptState
    cost: float
    freed: Freed


class SlotClasses:
    """The classes of a pool's slots, by number.

    They are ordered by state, then weight, then the number of the holder's group, where hard caps read it (*groups*,
    one per slot; None: no cap does).
    """

    def __init__(self, weights: NDArray[np.float64], groups: NDArray[np.int32] | None) -> None:
        self._weights, numbers = np.unique(weights, return_inverse=True)
        self._groups = 1 if groups is None else int(groups.max(initial=-1)) + 2
        self._of_state = len(self._weights) * self._groups
        self._free = (numbers.reshape(-1) * self._groups).astype(np.int32)
        self._held = self._free if groups is None else self._free + np.int32(1) + groups
        self.free = self._free + np.int32(NONE * self._of_state)
        """Per slot its class if nobody uses it."""
        self.divided = len(PREEMPT_STATES) * self._of_state
        """The class of all slots that are divided: their price changes."""
        self._own = 0
        self._known: dict[int, SlotClass] = {}

    def __len__(self) -> int:
        return self.divided + 1 + self._own

    def of(self, number: int) -> SlotClass:
        """Return what the slots of a class have in common."""
        found = self._known.get(number)
        if found is None:
            state, rest = divmod(number, self._of_state)
            weight, group = divmod(rest, self._groups)
            cost = float(self._weights[weight])
            freed = ((group - 1, cost),) if state != NONE and self._groups > 1 else ()
            found = self._known[number] = SlotClass(PREEMPT_STATES[state], cost, freed)
        return found

    def is_permitted(self, number: int, limits: Limits, used: tuple[float, float]) -> bool:
        """Return whether *limits* let a class onto a list that is built when so much is *used* (`Limits`)."""
        state, cost, freed = self.of(number)
        return limits.permit_on_list(cost, state, freed, *used)

    def in_state(self, state: NDArray[np.int8]) -> NDArray[np.int32]:
        """Return the class of every slot in these states."""
        of_holder = np.where(state == NONE, self._free, self._held)
        classes: NDArray[np.int32] = of_holder + state * np.int32(self._of_state)
        return classes

    def freed(self, numbers: NDArray[np.int32], slots: Iterable[int]) -> Freed:
        """Return what a match that preempts these *slots* frees; *numbers* are the classes of all slots."""
        return [one for slot in slots for one in self.of(numbers.item(slot)).freed]

    def among(self, numbers: NDArray[np.int32], states: Collection[PreemptState]) -> set[int]:
        """Return those of the classes *numbers* that have one of these states."""
        present = np.flatnonzero(np.bincount(numbers, minlength=len(self))).tolist() if len(numbers) else ()
        return {number for number in present if number != self.divided and number // self._of_state in states}

    def with_own(self, own: Sequence[SlotClass]) -> SlotClasses:
        """Return these classes and further ones, numbered from their number on."""
        more = copy(self)
        more._known = self._known | {len(self) + place: one for place, one in enumerate(own)}
        more._own = len(own)
        return more
