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
"""The key of a charge: the slot's number in the pool; for a piece carved in this cycle (number, count of matches)."""

Key = TypeVar("Key", bound=SlotKey)


class SlotCharge(Struct, frozen=True):
    """A slot that *submitter* is charged for, with *slot_weight*, since *start_time* (seconds since 1970)."""

    submitter: str
    slot_weight: float
    start_time: int


SUBMITTER_AND_WEIGHT = attrgetter("submitter", "slot_weight")
"""Reads the submitter and the slot weight of a charge."""

WEIGHT = attrgetter("slot_weight")
START = attrgetter("start_time")


class Charges(MutableMapping[SlotKey, SlotCharge]):
    """The charges by slot, in the order in which they were made."""

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that can be changed independently."""

    @abstractmethod
    def add(self, slots: Iterable[SlotKey], charge: SlotCharge) -> None:
        """Charge *slots* that are not charged yet."""

    def each(self) -> Iterable[SlotCharge]:
        """Return the charge of every slot."""
        return self.values()

    def kinds(self) -> Iterable[SlotCharge]:
        """Return every different charge at least once."""
        return self.values()

    def total_weight(self) -> float:
        """Return the slot weights, added up in order."""
        return cast(float, sum(map(WEIGHT, self.each())))

    def used(self) -> dict[str, tuple[int, float]]:
        """Return by submitter the number of its slots, and their weights, added up in order."""
        uses = list(map(SUBMITTER_AND_WEIGHT, self.each()))
        return summed(Counter(uses), uses)

    def any_of(self, slots: Sequence[SlotKey]) -> bool:
        """Return whether any of *slots* is charged."""
        return not self.keys().isdisjoint(slots)

    def missing(self, slots: Iterable[Key]) -> list[Key]:
        """Return those of *slots* that are not charged."""
        return [slot for slot in slots if slot not in self]

    def changed(self, former: Self) -> dict[SlotKey, SlotCharge]:
        """Return the charges that were added or replaced since this was copied from *former*."""
        return {slot: charge for slot, charge in self.items() if former.get(slot) is not charge}

    def compare(self, keys: Sequence[SlotKey], users: Sequence[str | None]) -> tuple[list[int], list[SlotKey]]:
        """Compare the submitters charged for the slots *keys* with the *users* of these slots; None is nobody.

        Return the rows in *keys* where they differ, and the charged slots that their submitter no longer uses.
        """
        submitters = dict(zip(self, map(attrgetter("submitter"), self.each()), strict=True))
        charged = list(map(submitters.get, keys))
        rows = list(compress(count(), map(ne, users, charged)))
        unused = {keys[row] for row in rows if charged[row] is not None}
        return rows, self._unused_charges(unused, keys, len(charged) - charged.count(None))

    def _unused_charges(self, unused: set[SlotKey], keys: Sequence[SlotKey], charged_count: int) -> list[SlotKey]:
        """Return in order the slots *unused* and the charged slots that are not in *keys*.

        *charged_count* is the number of *keys* that are charged.
        """
        if len(self) > charged_count:
            unused |= self.keys() - set(keys)
        return [slot for slot in self if slot in unused] if unused else []


class SingleCharges(dict[SlotKey, SlotCharge], Charges):
    """Charges one by one."""

    def copy(self) -> Self:
        """Return a copy that can be changed independently."""
        return type(self)(self)

    def add(self, slots: Iterable[SlotKey], charge: SlotCharge) -> None:
        """Charge *slots* that are not charged yet."""
        self.update(dict.fromkeys(slots, charge))


def charges_of(claims: Iterable[Claim]) -> SingleCharges:
    """Return the charges of the stored *claims* by slot id; claims that are not charged are left out."""
    return SingleCharges(
        (claim.slot_id, SlotCharge(claim.submitter, claim.slot_weight, claim.start_time))
        for claim in claims
        if claim.charged
    )
