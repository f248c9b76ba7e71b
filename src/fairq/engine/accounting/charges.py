"""The slots that are charged to submitters."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, MutableMapping, Sequence
from itertools import compress, count
from operator import attrgetter, ne
from typing import Self, TypeVar, cast

from msgspec import Struct

from fairq.common.records import Claim
from fairq.engine.sums import summed

SlotKey = Hashable
"""What a slot is charged under: its number in the pool; of a piece carved in this cycle (number, count of matches)."""

Key = TypeVar("Key", bound=SlotKey)


class SlotCharge(Struct, frozen=True):
    """A slot that *submitter* is charged for, with *slot_weight*, since *start_time* (seconds since 1970)."""

    submitter: str
    slot_weight: float
    start_time: int


USE = attrgetter("submitter", "slot_weight")
"""Who is charged for a slot, with which weight."""

WEIGHT = attrgetter("slot_weight")
START = attrgetter("start_time")


class Charges(MutableMapping[SlotKey, SlotCharge]):
    """The charges by slot, in the order in which they were made."""

    @abstractmethod
    def copy(self) -> Self:
        """Return the same charges, which can be changed by themselves."""

    @abstractmethod
    def add(self, slots: Iterable[SlotKey], charge: SlotCharge) -> None:
        """Charge *slots* that are not charged yet."""

    def each(self) -> Iterable[SlotCharge]:
        """Return the charge of every slot."""
        return self.values()

    def kinds(self) -> Iterable[SlotCharge]:
        """Return the charges, those that are equal perhaps only once."""
        return self.values()

    def total_weight(self) -> float:
        """Return the slot weights, added up in order."""
        return cast(float, sum(map(WEIGHT, self.each())))

    def used(self) -> dict[str, tuple[int, float]]:
        """Return by submitter how many slots there are, and their weights, added up in order."""
        uses = list(map(USE, self.each()))
        return summed(Counter(uses), uses)

    def any_of(self, slots: Sequence[SlotKey]) -> bool:
        """Tell whether any of *slots* is charged."""
        return not self.keys().isdisjoint(slots)

    def missing(self, slots: Iterable[Key]) -> list[Key]:
        """Return those of *slots* that are not charged."""
        return [slot for slot in slots if slot not in self]

    def changed(self, former: Self) -> dict[SlotKey, SlotCharge]:
        """Return those that are not the same as in *former*, of which this was a copy."""
        return {slot: charge for slot, charge in self.items() if former.get(slot) is not charge}

    def compared(self, keys: Sequence[SlotKey], users: Sequence[str | None]) -> tuple[list[int], list[SlotKey]]:
        """Compare the submitters charged with the *users* of the slots *keys*; None is nobody.

        Returns the places in *keys* where they differ, and the slots that who is charged for them does not use.
        """
        submitters = dict(zip(self, map(attrgetter("submitter"), self.each()), strict=True))
        charged = list(map(submitters.get, keys))
        places = list(compress(count(), map(ne, users, charged)))
        unused = {keys[place] for place in places if charged[place] is not None}
        return places, self._given_up(unused, keys, len(charged) - charged.count(None))

    def _given_up(self, unused: set[SlotKey], keys: Sequence[SlotKey], there: int) -> list[SlotKey]:
        """Return in order the slots *unused* and those that are not among *keys*, of which so many are charged."""
        if len(self) > there:
            unused |= self.keys() - set(keys)
        return [slot for slot in self if slot in unused] if unused else []


class SingleCharges(dict[SlotKey, SlotCharge], Charges):
    """Charges one by one."""

    def copy(self) -> Self:
        """Return the same charges, which can be changed by themselves."""
        return type(self)(self)

    def add(self, slots: Iterable[SlotKey], charge: SlotCharge) -> None:
        """Charge *slots* that are not charged yet."""
        self.update(dict.fromkeys(slots, charge))


def charges_of(claims: Iterable[Claim]) -> SingleCharges:
    """Return the charges that the stored *claims* stand for, by slot id; some are not charged."""
    return SingleCharges(
        (claim.slot_id, SlotCharge(claim.submitter, claim.slot_weight, claim.start_time))
        for claim in claims
        if claim.charged
    )
