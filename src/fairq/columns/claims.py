"""All claims by column: a large pool has a hundred thousand that differ only in slot and job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Claim


class ClaimTable(Mapping[int, Claim]):
    """Claims in the order of their slots, and the claim on each slot by its number. A claim is made when it is read.

    Args:
        slots: the numbers of the slots, ascending.
        terms: per claim, the place in *alike* of what it has in common with others.
        alike: claims with all fields but slot and job, which are those of no claim.
        schedds, clusters, procs: per claim, its job.
    """

    def __init__(
        self,
        slots: NDArray[np.int64],
        terms: NDArray[np.intp],
        alike: Sequence[Claim],
        schedds: Sequence[str | None],
        clusters: Sequence[int | None],
        procs: Sequence[int | None],
    ) -> None:
        self.slots = slots
        self.terms = terms
        self.alike = alike
        self.schedds = schedds
        self.clusters = clusters
        self.procs = procs

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[int]:
        return iter(self.slots.tolist())

    def __getitem__(self, slot: int) -> Claim:
        place = int(self.slots.searchsorted(slot))
        if place == len(self) or self.slots[place] != slot:
            raise KeyError(slot)
        return self.at(place)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClaimTable):
            return NotImplemented
        jobs, of_other = ((of.schedds, of.clusters, of.procs) for of in (self, other))
        if not np.array_equal(self.slots, other.slots) or jobs != of_other:
            return False
        pairs = set(zip(self.terms.tolist(), other.terms.tolist(), strict=True))
        return all(self.alike[one] == other.alike[another] for one, another in pairs)

    __hash__ = None  # type: ignore[assignment]

    def at(self, place: int) -> Claim:
        """Return the claim at *place* of the order."""
        return replace(
            self.alike[int(self.terms[place])],
            slot_id=int(self.slots[place]),
            schedd=self.schedds[place],
            cluster=self.clusters[place],
            proc=self.procs[place],
        )

    def weights_in_use(self) -> dict[tuple[str, str], float]:
        """Return the slot weight that the jobs in the queue of each submitter at each schedd use, added up in order."""
        schedds = {schedd: number for number, schedd in enumerate(dict.fromkeys(self.schedds))}
        at: NDArray[np.intp] | int = 0
        if len(schedds) > 1:
            at = np.fromiter(map(schedds.__getitem__, self.schedds), np.intp, len(self))
        places = [(one.submitter, schedd or "") for one in self.alike for schedd in schedds]
        numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
        number_of = np.array([numbers[place] for place in places], np.intp)
        found = number_of[(self.terms * len(schedds) + at)[self.queued]] if len(self) else number_of
        weights = np.array([one.slot_weight for one in self.alike], np.float64)[self.terms[self.queued]]
        sums = np.bincount(found, weights, len(numbers)).tolist()
        return {place: sums[number] for place, number in numbers.items()}

    @cached_property
    def queued(self) -> NDArray[np.bool_]:
        """Per claim, whether its job is in the queue."""
        return np.array([cluster is not None for cluster in self.clusters], np.bool_)

    def without(self, slot: int) -> ClaimTable:
        """Return the others than the claim on *slot*."""
        is_left = self.slots != slot
        return ClaimTable(
            self.slots[is_left],
            self.terms[is_left],
            self.alike,
            list(compress(self.schedds, is_left)),
            list(compress(self.clusters, is_left)),
            list(compress(self.procs, is_left)),
        )
