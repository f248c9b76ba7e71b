"""The charges of stored claims by column: a cycle changes few of a hundred thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from operator import is_not
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairq.columns.claims import ClaimTable
from fairq.engine.accounting.charges import SUBMITTER_AND_WEIGHT, WEIGHT, Charges, Key, SlotCharge, SlotKey
from fairq.engine.slot_names import SlotNames
from fairq.engine.sums import summed

_NOBODY = -1


class ClaimCharges(Charges):
    """The charges of stored claims in the order of their slots, then all others.

    Args:
        slots: the numbers of the slots, ascending.
        codes: per slot, the index of its charge in *distinct*; -1: it is not charged.
        distinct: charges that several slots may share.
        others: the charges of all other slots.
    """

    def __init__(
        self,
        slots: NDArray[np.int64],
        codes: NDArray[np.intp],
        distinct: Iterable[SlotCharge],
        others: dict[SlotKey, SlotCharge] | None = None,
    ) -> None:
        self._slots, self._codes, self._distinct = slots, codes, list(distinct)
        self._others = others or {}

    def copy(self) -> Self:
        """Return a copy that can be changed independently."""
        return type(self)(self._slots, self._codes.copy(), self._distinct, dict(self._others))

    def __getitem__(self, slot: SlotKey) -> SlotCharge:
        row = self._row(slot)
        return self._others[slot] if row is None else self._distinct[self._codes[row]]

    def __setitem__(self, slot: SlotKey, charge: SlotCharge) -> None:
        row = self._row(slot)
        if row is None:
            self._others[slot] = charge
        else:
            self._codes[row] = len(self._distinct)
            self._distinct.append(charge)

    def __delitem__(self, slot: SlotKey) -> None:
        row = self._row(slot)
        if row is None:
            del self._others[slot]
        else:
            self._codes[row] = _NOBODY

    def __contains__(self, slot: object) -> bool:
        return slot in self._others or self._row(slot) is not None

    def __iter__(self) -> Iterator[SlotKey]:
        return chain(self._slots[self._codes != _NOBODY].tolist(), self._others)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._codes != _NOBODY)) + len(self._others)

    def _row(self, slot: object) -> int | None:
        """Return the row of a slot in the columns, None if it is not charged there."""
        if not len(self._slots) or not isinstance(slot, int):
            return None
        row = int(self._slots.searchsorted(slot))
        is_charged = row < len(self._slots) and self._slots[row] == slot and self._codes[row] != _NOBODY
        return row if is_charged else None

    def _codes_of(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the index in `_distinct` of each slot's charge; -1 if it is not charged in the columns."""
        if not len(self._slots):
            return np.full(len(slots), _NOBODY)
        rows = np.minimum(self._slots.searchsorted(slots), len(self._slots) - 1)
        return np.where(self._slots[rows] == slots, self._codes[rows], _NOBODY)

    def add(self, slots: Iterable[SlotKey], charge: SlotCharge) -> None:
        """Charge *slots* that are not charged yet."""
        self._others.update(dict.fromkeys(slots, charge))

    def each(self) -> Iterable[SlotCharge]:
        """Return the charge of every slot."""
        codes = self._codes[self._codes != _NOBODY]
        return chain(map(self._distinct.__getitem__, codes.tolist()), self._others.values())

    def kinds(self) -> Iterable[SlotCharge]:
        """Return every different charge at least once."""
        return chain((self._distinct[code] for code in self._counts()), self._others.values())

    def _counts(self) -> dict[int, int]:
        """Return the number of slots in the columns by index in `_distinct`, in the order of their first slots."""
        codes = self._codes[self._codes != _NOBODY]
        first = np.full(len(self._distinct), len(codes))
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # NumPy keeps the last of several assignments
        counts = np.bincount(codes, minlength=len(first))
        in_order = np.argsort(first)[: np.count_nonzero(counts)]
        return dict(zip(in_order.tolist(), counts[in_order].tolist(), strict=True))

    def total_weight(self) -> float:
        """Return the slot weights, added up in order."""
        weights = np.array([charge.slot_weight for charge in self._distinct], np.float64)
        column_weights: list[float] = weights[self._codes[self._codes != _NOBODY]].tolist()
        return sum(chain(column_weights, map(WEIGHT, self._others.values())))

    def used(self) -> dict[str, tuple[int, float]]:
        """Return by submitter the number of its slots, and their weights, added up in order."""
        uses: Counter[tuple[str, float]] = Counter()
        for code, count in self._counts().items():
            uses[SUBMITTER_AND_WEIGHT(self._distinct[code])] += count
        uses.update(map(SUBMITTER_AND_WEIGHT, self._others.values()))
        return summed(uses, map(SUBMITTER_AND_WEIGHT, self.each()))

    def any_of(self, slots: Sequence[SlotKey]) -> bool:
        """Return whether any of *slots* is charged."""
        if not self._others.keys().isdisjoint(slots):
            return True
        return bool((self._codes_of(np.asarray(slots, np.int64)) != _NOBODY).any())

    def missing(self, slots: Iterable[Key]) -> list[Key]:
        """Return those of *slots* that are not charged."""
        numbers = np.asarray(slots, np.int64)
        uncharged = numbers[self._codes_of(numbers) == _NOBODY]
        return [slot for slot in uncharged.tolist() if slot not in self._others]

    def changed(self, former: Self) -> dict[SlotKey, SlotCharge]:
        """Return the charges that were added or replaced since this was copied from *former*."""
        rows = np.flatnonzero((self._codes != former._codes) & (self._codes != _NOBODY))
        slots, codes = self._slots[rows].tolist(), self._codes[rows].tolist()
        others = self._others
        differs = map(is_not, map(former._others.get, others), others.values())
        return dict(
            chain(zip(slots, map(self._distinct.__getitem__, codes), strict=True), compress(others.items(), differs))
        )

    def compare(self, keys: Sequence[SlotKey], users: Sequence[str | None]) -> tuple[list[int], list[SlotKey]]:
        """Compare as `Charges` does, by column."""
        names = SlotNames.of(users)
        codes = {name: code for code, name in enumerate(names.distinct)}
        submitter_codes = np.array([codes.get(charge.submitter, len(codes)) for charge in self._distinct] + [_NOBODY])
        charged = submitter_codes[self._codes_of(np.asarray(keys, np.int64))]
        if self._others:
            row_by_slot = {slot: row for row, slot in enumerate(keys)}
            for slot in self._others.keys() & row_by_slot.keys():
                charged[row_by_slot[slot]] = codes.get(self._others[slot].submitter, len(codes))
        differing = np.flatnonzero(charged != names.codes)
        unused = {keys[row] for row in differing[charged[differing] != _NOBODY].tolist()}
        return differing.tolist(), self._unused_charges(unused, keys, int(np.count_nonzero(charged != _NOBODY)))


def charges_in(claims: ClaimTable) -> ClaimCharges:
    """Return the charges of stored *claims*, as `charges_of` does."""
    distinct = [SlotCharge(claim.submitter, claim.slot_weight, claim.start_time) for claim in claims.distinct]
    charged = np.array([claim.charged for claim in claims.distinct], np.bool_)
    return ClaimCharges(claims.slots, np.where(charged[claims.codes], claims.codes, _NOBODY), distinct)
