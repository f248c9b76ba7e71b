"""The rejections of a cycle in their order, and their reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain
from typing import overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.accounting.identity import ROOT_GROUP


class RejectReason(StrEnum):
    """Why a request got no slot, in the negotiator's own words (matchmaker.cpp, negotiate)."""

    CONCURRENCY_LIMIT = "concurrency limit reached"
    PREEMPTION_POLICY = "PREEMPTION_REQUIREMENTS == False"
    SUBMITTER_LIMIT = "submitter limit exceeded"
    NO_MATCH = "no match found"


OF_MANY = (RejectReason.NO_MATCH, RejectReason.PREEMPTION_POLICY, RejectReason.SUBMITTER_LIMIT)
"""Why requests that are refused together got none: of each, the place of its reason here is told."""

NO_MATCH, POLICY, LIMIT = range(len(OF_MANY))


class Rejection(Struct, frozen=True):
    """One request that was offered in vain; *request* is its first job when the turn began.

    *group* is the group whose turn it was. *quota_group* is set where a limit stood in the way that came from
    a group's quota: it is the group up the tree whose quota it was. *limits* are the concurrency limits that
    were used up, if that was the reason.
    """

    submitter: str
    schedd: str
    request: tuple[int, int]
    reason: RejectReason
    group: str = ROOT_GROUP
    quota_group: str | None = None
    limits: tuple[str, ...] = ()


class RejectedMany(Struct, frozen=True):
    """Requests of one submitter that were offered one after the other in vain, as so many times `Rejection`.

    Args:
        clusters, procs: their first jobs.
        why: the place in `OF_MANY` of each one's reason.
        quota_group: that of those that a limit kept from a slot.
        beyond: whether the limit was used up, so that it kept all of them from slots.
    """

    submitter: str
    schedd: str
    clusters: NDArray[np.int64]
    procs: NDArray[np.int64]
    why: NDArray[np.uint8]
    group: str
    quota_group: str | None
    beyond: bool

    def each(self) -> Iterator[Rejection]:
        """Yield them one by one."""
        for cluster, proc, why in zip(self.clusters.tolist(), self.procs.tolist(), self.why.tolist(), strict=True):
            yield Rejection(
                self.submitter,
                self.schedd,
                (cluster, proc),
                OF_MANY[why],
                self.group,
                self.quota_group if self.beyond or why == LIMIT else None,
            )


class Rejections(Sequence[Rejection]):
    """All rejections of a cycle; `entries` are they as they were made."""

    def __init__(self) -> None:
        self.entries: list[Rejection | RejectedMany] = []

    def append(self, entry: Rejection | RejectedMany) -> None:
        """Add one rejection, or many."""
        self.entries.append(entry)

    def of(self, submitter: str, schedd: str) -> Rejections:
        """Return those of one submitter, without a look at each of the others."""
        found = Rejections()
        found.entries = [entry for entry in self.entries if (entry.submitter, entry.schedd) == (submitter, schedd)]
        return found

    def __len__(self) -> int:
        return sum(len(entry.clusters) if isinstance(entry, RejectedMany) else 1 for entry in self.entries)

    def __iter__(self) -> Iterator[Rejection]:
        return chain.from_iterable(of.each() if isinstance(of, RejectedMany) else (of,) for of in self.entries)

    def __reversed__(self) -> Iterator[Rejection]:
        for entry in reversed(self.entries):
            yield from reversed(list(entry.each())) if isinstance(entry, RejectedMany) else (entry,)

    @overload
    def __getitem__(self, place: int) -> Rejection: ...
    @overload
    def __getitem__(self, place: slice) -> list[Rejection]: ...
    def __getitem__(self, place: int | slice) -> Rejection | list[Rejection]:
        return list(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
