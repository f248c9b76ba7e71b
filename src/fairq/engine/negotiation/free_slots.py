"""The slots that are left in a cycle: their marks, their weight, and their classes."""

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


class TakenSlots:
    """The slots that are not candidates, or no longer; *left* is the number of the others.

    `flags` and `marks` are the same bytes: `flags` is faster to read for one slot, `marks` for many.
    """

    def __init__(self, candidates: NDArray[np.bool_]) -> None:
        self.flags = bytearray(np.logical_not(candidates).tobytes())
        self.marks: NDArray[np.bool_] = np.frombuffer(self.flags, np.bool_)
        self.left = int(np.count_nonzero(candidates))
        self.used_up: set[int] = set()

    def take(self, slots: Sequence[int]) -> None:
        """Take different *slots* for the rest of the cycle."""
        for slot in slots:
            self.flags[slot] = 1
        self.left -= len(slots)

    def first_free(self, rows: NDArray[np.int32], start: int) -> int:
        """Return the first index in *rows* from *start* on whose slot is free, or the length of *rows*."""
        marks, size, chunk = self.marks, len(rows), 64
        if start < size and not self.flags[rows.item(start)]:
            return start
        while start < size:
            taken = marks[rows[start : start + chunk]]
            index = int(taken.argmin())
            if not taken[index]:
                return start + index
            start += chunk
            chunk *= 4
        return size

    def use_up(self, slots: Sequence[int]) -> None:
        """Count divided *slots* as taken: only a job that requests no core could still get a part of them."""
        self.used_up.update(slots)
        self.left -= len(slots)


class FreeWeight:
    """The slot weight that is still free in a cycle.

    Args:
        weights: the weight of each slot in the pie; 0 if it does not count.
        free: per slot, whether it is a candidate and free.
        reserved: slots that only some submitters may use.
    """

    def __init__(
        self, weights: NDArray[np.float64], free: NDArray[np.bool_], reserved: Sequence[ReservedSlots] = ()
    ) -> None:
        self._weights = weights
        free_weights = np.where(free, weights, 0.0)
        self._free_weights: list[float] = free_weights.tolist()
        self.total = float(free_weights.sum())
        self._reserved = reserved

    def for_all(self) -> float:
        """Return the weight to divide among all submitters, without that of reserved slots."""
        weight_for_all = self.total
        for weight, _ in self.reserved():
            weight_for_all -= weight
        return max(0.0, weight_for_all)

    def reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of its slots that is still free, and who may use it."""
        return [(sum(self._free_weights[row] for row in slots.rows), slots.admits) for slots in self._reserved]

    def all_reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of all its slots in the pie, and who may use them."""
        return [
            (float(self._weights[list(reservation.rows)].sum()), reservation.admits) for reservation in self._reserved
        ]

    def take_all(self, slots: Iterable[int]) -> None:
        """Take all free weight of each of *slots*, in their order."""
        weights, total = self._free_weights, self.total
        for slot in slots:
            total -= weights[slot]
            weights[slot] = 0.0
            total = total if total > 0 else 0.0
        self.total = total

    def take(self, slot: int, weight: float | None = None) -> None:
        """Take *weight* of a slot, or all its free weight; a negative weight is returned to it."""
        free = self._free_weights[slot]
        used = free if weight is None or weight > free else weight
        self._free_weights[slot] = free - used
        total = self.total - used
        self.total = total if total > 0 else 0.0


class FreeResources:
    """The free weight of every resource: with dominant weights, a match takes some of each.

    The weight to divide is that of the scarcest resource, which can be dealt whatever the jobs take. A resource counts
    while a job can take it: a job that requests it, or any job that gets an undivided slot.

    Args:
        rows: the weight of every slot in the pie, a row for each resource.
        free, reserved: as in `FreeWeight`.
        partitions: the divided slots; None: there are none.
        requested: returns which resources are requested by jobs that may still find a slot.
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        free: NDArray[np.bool_],
        reserved: Sequence[ReservedSlots],
        partitions: Partitions | None,
        requested: Callable[[], NDArray[np.bool_]],
    ) -> None:
        self._weights, self._reserved, self._partitions, self._requested = rows, reserved, partitions, requested
        self._free_weights: NDArray[np.float64] = np.where(free, rows, 0.0)
        self._counted: NDArray[np.bool_] = rows.max(axis=0) > 0
        self._negligible = tolerance(float(rows.sum(axis=1).max()))
        self._undivided = np.ones(len(free), np.bool_)
        if partitions is not None:
            self._undivided[partitions.rows] = False
        self._taken: list[int] = []
        self._carved: list[int] = []
        """The slots of which a part was taken since `_rows` was called."""

    @property
    def total(self) -> float:
        """The free weight of the resource with the most free weight."""
        free = self._rows().sum(axis=1)
        return float(free.max()) if free.max() > self._negligible else 0.0

    def for_all(self) -> float:
        """Return the weight to divide among all submitters, without that of reserved slots."""
        rows = self._rows()
        return self._scarcest(
            rows.sum(axis=1) - sum(rows[:, reservation.rows].sum(axis=1) for reservation in self._reserved)
        )

    def reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of its slots that is still free, and who may use it."""
        rows = self._rows()
        return [
            (self._scarcest(rows[:, reservation.rows].sum(axis=1)), reservation.admits)
            for reservation in self._reserved
        ]

    def all_reserved(self) -> list[tuple[float, Callable[[str], bool]]]:
        """Return for each reservation the weight of all its slots in the pie, and who may use them."""
        return [
            (float(self._weights[:, reservation.rows].sum(axis=1).min()), reservation.admits)
            for reservation in self._reserved
        ]

    def take_all(self, slots: Iterable[int]) -> None:
        """Take all free weight of each of *slots*."""
        self._taken.extend(slots)

    def take(self, slot: int, weight: float | None = None) -> None:
        """Take what a match took of a divided slot, or without *weight* all its free weight."""
        (self._taken if weight is None or not self._counted[slot] else self._carved).append(slot)

    def _rows(self) -> NDArray[np.float64]:
        """Return the free weight of each resource in every slot."""
        if self._carved and self._partitions is not None:
            carved = distinct(self._carved)
            self._free_weights[:, carved] = self._partitions.weights_left(carved)
        self._free_weights[:, self._taken] = 0.0
        self._carved, self._taken = [], []
        return self._free_weights

    def _scarcest(self, free: NDArray[np.float64]) -> float:
        can_be_taken = self._requested() | self._free_weights[:, self._undivided].any(axis=1)
        scarce = free[(free > self._negligible) & can_be_taken]
        return float(scarce.min()) if len(scarce) else 0.0


class SlotClass(NamedTuple):
    """The properties of a slot that limits depend on: preempt state, weight, and what a match preempts (*freed*)."""

    state: PreemptState
    cost: float
    freed: Freed


class SlotClasses:
    """The classes of a pool's slots, by number.

    They are ordered by state, then weight, then the number of the holder's group, if hard caps depend on it (*groups*,
    one per slot; None: they do not).
    """

    def __init__(self, weights: NDArray[np.float64], groups: NDArray[np.int32] | None) -> None:
        self._weights, numbers = np.unique(weights, return_inverse=True)
        self._groups = 1 if groups is None else int(groups.max(initial=-1)) + 2
        self._classes_per_state = len(self._weights) * self._groups
        self._free = (numbers.reshape(-1) * self._groups).astype(np.int32)
        self._held = self._free if groups is None else self._free + np.int32(1) + groups
        self.free = self._free + np.int32(NONE * self._classes_per_state)
        """Per slot, its class if it is free."""
        self.divided = len(PREEMPT_STATES) * self._classes_per_state
        """The class of all slots that are divided; their price changes."""
        self._further = 0
        self._by_number: dict[int, SlotClass] = {}

    def __len__(self) -> int:
        return self.divided + 1 + self._further

    def slot_class(self, number: int) -> SlotClass:
        """Return the common properties of the slots of a class."""
        slot_class = self._by_number.get(number)
        if slot_class is None:
            state, class_in_state = divmod(number, self._classes_per_state)
            weight, group = divmod(class_in_state, self._groups)
            cost = float(self._weights[weight])
            freed = ((group - 1, cost),) if state != NONE and self._groups > 1 else ()
            slot_class = self._by_number[number] = SlotClass(PREEMPT_STATES[state], cost, freed)
        return slot_class

    def is_permitted(self, number: int, limits: Limits, used: tuple[float, float]) -> bool:
        """Return whether *limits* permit a class on a list that was built when *used* was in use (`Limits`)."""
        state, cost, freed = self.slot_class(number)
        return limits.permit_on_list(cost, state, freed, *used)

    def in_state(self, state: NDArray[np.int8]) -> NDArray[np.int32]:
        """Return the class of every slot, given its *state*."""
        of_holder = np.where(state == NONE, self._free, self._held)
        classes: NDArray[np.int32] = of_holder + state * np.int32(self._classes_per_state)
        return classes

    def freed(self, numbers: NDArray[np.int32], slots: Iterable[int]) -> Freed:
        """Return what a match that preempts these *slots* frees; *numbers* are the classes of all slots."""
        return [group_and_weight for slot in slots for group_and_weight in self.slot_class(numbers.item(slot)).freed]

    def among(self, numbers: NDArray[np.int32], states: Collection[PreemptState]) -> set[int]:
        """Return the different classes in *numbers* that have one of *states*."""
        present = np.flatnonzero(np.bincount(numbers, minlength=len(self))).tolist() if len(numbers) else ()
        return {number for number in present if number != self.divided and number // self._classes_per_state in states}

    def with_further(self, further: Sequence[SlotClass]) -> SlotClasses:
        """Return these classes with *further* ones appended."""
        classes = copy(self)
        classes._by_number = self._by_number | {
            len(self) + index: slot_class for index, slot_class in enumerate(further)
        }
        classes._further = len(further)
        return classes
