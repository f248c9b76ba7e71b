"""All claims by column: a large pool has a hundred thousand claims that differ only in slot and job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Claim


class ClaimTable(Mapping[int, Claim]):
    """A mapping from slot number to its claim, in the order of slots. A claim is built when it is read.

    Args:
        slots: the numbers of the slots, ascending.
        codes: per claim, the index in *distinct* of its other fields.
        distinct: claims whose fields of slot and job are not used.
        schedds, clusters, procs: per claim, its job.
    """

    def __init__(
        self,
        slots: NDArray[np.int64],
        codes: NDArray[np.intp],
        distinct: Sequence[Claim],
        schedds: Sequence[str | None],
        clusters: Sequence[int | None],
        procs: Sequence[int | None],
    ) -> None:
        self.slots = slots
        self.codes = codes
        self.distinct = distinct
        self.schedds = schedds
        self.clusters = clusters
        self.procs = procs

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[int]:
        return iter(self.slots.tolist())

    def __getitem__(self, slot: int) -> Claim:
        row = int(self.slots.searchsorted(slot))
        if row == len(self) or self.slots[row] != slot:
            raise KeyError(slot)
        return self.at(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClaimTable):
            return NotImplemented
        jobs, other_jobs = ((table.schedds, table.clusters, table.procs) for table in (self, other))
        if not np.array_equal(self.slots, other.slots) or jobs != other_jobs:
            return False
        pairs = set(zip(self.codes.tolist(), other.codes.tolist(), strict=True))
        return all(self.distinct[code] == other.distinct[other_code] for code, other_code in pairs)

    __hash__ = None  # type: ignore[assignment]

    def at(self, row: int) -> Claim:
        """Return the claim at *row*, in the order of slots."""
        return replace(
            self.distinct[int(self.codes[row])],
            slot_id=int(self.slots[row]),
            schedd=self.schedds[row],
            cluster=self.clusters[row],
            proc=self.procs[row],
        )

    def weights_in_use(self) -> dict[tuple[str, str], float]:
        """Return the slot weight used by queued jobs, by submitter and schedd, added up in order."""
        schedds = {schedd: number for number, schedd in enumerate(dict.fromkeys(self.schedds))}
        schedd_codes: NDArray[np.intp] | int = 0
        if len(schedds) > 1:
            schedd_codes = np.fromiter(map(schedds.__getitem__, self.schedds), np.intp, len(self))
        pairs = [(claim.submitter, schedd or "") for claim in self.distinct for schedd in schedds]
        pair_codes = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
        code_by_row = np.array([pair_codes[pair] for pair in pairs], np.intp)
        codes = code_by_row[(self.codes * len(schedds) + schedd_codes)[self.queued]] if len(self) else code_by_row
        weights = np.array([claim.slot_weight for claim in self.distinct], np.float64)[self.codes[self.queued]]
        sums = np.bincount(codes, weights, len(pair_codes)).tolist()
        return {pair: sums[number] for pair, number in pair_codes.items()}

    @cached_property
    def queued(self) -> NDArray[np.bool_]:
        """Per claim, whether its job is in the queue."""
        return np.array([cluster is not None for cluster in self.clusters], np.bool_)

    def without(self, slot: int) -> ClaimTable:
        """Return all claims except the one on *slot*."""
        is_other = self.slots != slot
        return ClaimTable(
            self.slots[is_other],
            self.codes[is_other],
            self.distinct,
            list(compress(self.schedds, is_other)),
            list(compress(self.clusters, is_other)),
            list(compress(self.procs, is_other)),
        )
