"""The charges that stored claims stand for, by column: of a hundred thousand, a cycle changes few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from operator import is_not
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairq.columns.claims import ClaimTable
from fairq.engine.accounting.charges import USE, WEIGHT, Charges, Key, SlotCharge, SlotKey
from fairq.engine.slot_names import SlotNames
from fairq.engine.sums import summed

_NOBODY = -1


class ClaimCharges(Charges):
    """Those of claims that are as they were, in the order of their slots; then all others.

    Args:
        slots: the numbers of slots, ascending.
        terms: per slot, the place of its charge in *alike*; -1: the claim is not charged, or no more.
        alike: charges that several slots may have.
        others: the charges of further slots.
    """

    def __init__(
        self,
        slots: NDArray[np.int64],
        terms: NDArray[np.intp],
        alike: Iterable[SlotCharge],
        others: dict[SlotKey, SlotCharge] | None = None,
    ) -> None:
        self._slots, self._terms, self._alike = slots, terms, list(alike)
        self._others = others or {}

    def copy(self) -> Self:
        """Return the same charges, which can be changed by themselves."""
        return type(self)(self._slots, self._terms.copy(), self._alike, dict(self._others))

    def __getitem__(self, slot: SlotKey) -> SlotCharge:
        place = self._place(slot)
        return self._others[slot] if place is None else self._alike[self._terms[place]]

    def __setitem__(self, slot: SlotKey, charge: SlotCharge) -> None:
        place = self._place(slot)
        if place is None:
            self._others[slot] = charge
        else:
            self._terms[place] = len(self._alike)
            self._alike.append(charge)

    def __delitem__(self, slot: SlotKey) -> None:
        place = self._place(slot)
        if place is None:
            del self._others[slot]
        else:
            self._terms[place] = _NOBODY

    def __contains__(self, slot: object) -> bool:
        return slot in self._others or self._place(slot) is not None

    def __iter__(self) -> Iterator[SlotKey]:
        return chain(self._slots[self._terms != _NOBODY].tolist(), self._others)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._terms != _NOBODY)) + len(self._others)

    def _place(self, slot: object) -> int | None:
        """The place of a slot in the columns; None if it is not charged there."""
        if not len(self._slots) or not isinstance(slot, int):
            return None
        place = int(self._slots.searchsorted(slot))
        is_there = place < len(self._slots) and self._slots[place] == slot and self._terms[place] != _NOBODY
        return place if is_there else None

    def _terms_of(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the places of the charges of *slots* in `_alike`, as far as they are in the columns; else -1."""
        if not len(self._slots):
            return np.full(len(slots), _NOBODY)
        places = np.minimum(self._slots.searchsorted(slots), len(self._slots) - 1)
        return np.where(self._slots[places] == slots, self._terms[places], _NOBODY)

    def add(self, slots: Iterable[SlotKey], charge: SlotCharge) -> None:
        """Charge *slots* that are not charged yet."""
        self._others.update(dict.fromkeys(slots, charge))

    def each(self) -> Iterable[SlotCharge]:
        """Return the charge of every slot."""
        terms = self._terms[self._terms != _NOBODY]
        return chain(map(self._alike.__getitem__, terms.tolist()), self._others.values())

    def kinds(self) -> Iterable[SlotCharge]:
        """Return the charges, those that are equal perhaps only once."""
        return chain((self._alike[term] for term in self._times()), self._others.values())

    def _times(self) -> dict[int, int]:
        """How many slots of the columns have each of the charges in `_alike`, in the order of the first ones."""
        terms = self._terms[self._terms != _NOBODY]
        first = np.full(len(self._alike), len(terms))
        first[terms[::-1]] = np.arange(len(terms))[::-1]  # of several, the last one is kept
        times = np.bincount(terms, minlength=len(first))
        in_order = np.argsort(first)[: np.count_nonzero(times)]
        return dict(zip(in_order.tolist(), times[in_order].tolist(), strict=True))

    def total_weight(self) -> float:
        """Return the slot weights, added up in order."""
        weights = np.array([charge.slot_weight for charge in self._alike], np.float64)
        of_columns: list[float] = weights[self._terms[self._terms != _NOBODY]].tolist()
        return sum(chain(of_columns, map(WEIGHT, self._others.values())))

    def used(self) -> dict[str, tuple[int, float]]:
        """Return by submitter how many slots there are, and their weights, added up in order."""
        uses: Counter[tuple[str, float]] = Counter()
        for term, times in self._times().items():
            uses[USE(self._alike[term])] += times
        uses.update(map(USE, self._others.values()))
        return summed(uses, map(USE, self.each()))

    def any_of(self, slots: Sequence[SlotKey]) -> bool:
        """Tell whether any of *slots* is charged."""
        if not self._others.keys().isdisjoint(slots):
            return True
        return len(self._slots) > 0 and bool((self._terms_of(np.asarray(slots, np.int64)) != _NOBODY).any())

    def missing(self, slots: Iterable[Key]) -> list[Key]:
        """Return those of *slots* that are not charged."""
        numbers = np.asarray(slots, np.int64)
        left = numbers[self._terms_of(numbers) == _NOBODY]
        return [slot for slot in left.tolist() if slot not in self._others]

    def changed(self, former: Self) -> dict[SlotKey, SlotCharge]:
        """Return those that are not the same as in *former*, of which this was a copy."""
        places = np.flatnonzero((self._terms != former._terms) & (self._terms != _NOBODY))
        slots, terms = self._slots[places].tolist(), self._terms[places].tolist()
        others = self._others
        differs = map(is_not, map(former._others.get, others), others.values())
        return dict(
            chain(zip(slots, map(self._alike.__getitem__, terms), strict=True), compress(others.items(), differs))
        )

    def compared(self, keys: Sequence[SlotKey], users: Sequence[str | None]) -> tuple[list[int], list[SlotKey]]:
        """Compare as `Charges` does, by column."""
        names = SlotNames.of(users)
        codes = {name: code for code, name in enumerate(names.distinct)}
        of_alike = np.array([codes.get(charge.submitter, len(codes)) for charge in self._alike] + [_NOBODY])
        charged = of_alike[self._terms_of(np.asarray(keys, np.int64))]
        if self._others:
            rows = {slot: row for row, slot in enumerate(keys)}
            for slot in self._others.keys() & rows.keys():
                charged[rows[slot]] = codes.get(self._others[slot].submitter, len(codes))
        places = np.flatnonzero(charged != names.codes)
        unused = {keys[place] for place in places[charged[places] != _NOBODY].tolist()}
        return places.tolist(), self._given_up(unused, keys, int(np.count_nonzero(charged != _NOBODY)))


def charges_in(claims: ClaimTable) -> ClaimCharges:
    """Return the charges that stored *claims* stand for, as `charges_of`."""
    alike = [SlotCharge(one.submitter, one.slot_weight, one.start_time) for one in claims.alike]
    charged = np.array([one.charged for one in claims.alike], np.bool_)
    return ClaimCharges(claims.slots, np.where(charged[claims.terms], claims.terms, _NOBODY), alike)
