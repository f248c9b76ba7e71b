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
"""The reasons of requests that are refused together, which store the index of their reason here."""

NO_MATCH, POLICY, LIMIT = range(len(OF_MANY))


class Rejection(Struct, frozen=True):
    """A request that got no slot; *request* is its first job when the turn began.

    *group* is the group whose turn it was. *quota_group* is set if a group's quota set the limit that refused the
    request: it is that group, which may be above *group*. *limits* are the concurrency limits that were used up, if
    that was the reason.
    """

    submitter: str
    schedd: str
    request: tuple[int, int]
    reason: RejectReason
    group: str = ROOT_GROUP
    quota_group: str | None = None
    limits: tuple[str, ...] = ()


class RejectedMany(Struct, frozen=True):
    """Consecutive requests of one submitter that got no slot; equivalent to a `Rejection` for each.

    Args:
        clusters, procs: their first jobs.
        why: for each, the index of its reason in `OF_MANY`.
        quota_group: the quota group of the requests that the limit refused.
        beyond: whether the limit was used up, so that it refused all of them.
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
        """Yield a `Rejection` for each request."""
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
    """All rejections of a cycle; `entries` are the single and bulk rejections in order."""

    def __init__(self) -> None:
        self.entries: list[Rejection | RejectedMany] = []

    def append(self, entry: Rejection | RejectedMany) -> None:
        """Add one rejection, or several in one entry."""
        self.entries.append(entry)

    def of_submitter(self, submitter: str, schedd: str) -> Rejections:
        """Return the rejections of one submitter at one schedd, without expanding the others."""
        rejections = Rejections()
        rejections.entries = [entry for entry in self.entries if (entry.submitter, entry.schedd) == (submitter, schedd)]
        return rejections

    def __len__(self) -> int:
        return sum(len(entry.clusters) if isinstance(entry, RejectedMany) else 1 for entry in self.entries)

    def __iter__(self) -> Iterator[Rejection]:
        return chain.from_iterable(
            entry.each() if isinstance(entry, RejectedMany) else (entry,) for entry in self.entries
        )

    def __reversed__(self) -> Iterator[Rejection]:
        for entry in reversed(self.entries):
            yield from reversed(list(entry.each())) if isinstance(entry, RejectedMany) else (entry,)

    @overload
    def __getitem__(self, index: int) -> Rejection: ...
    @overload
    def __getitem__(self, index: slice) -> list[Rejection]: ...
    def __getitem__(self, index: int | slice) -> Rejection | list[Rejection]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
