"""The matches of a cycle in the order made: matches in a row that differ only in job and slot are one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, overload

from msgspec import Struct

from fairq.engine.accounting.charges import SlotKey
from fairq.engine.negotiation.carving import Carving


class MatchReason(StrEnum):
    """For which reason a slot became a candidate (HTCondor 8 manual, "Negotiation")."""

    NO_PREEMPTION = "no-preemption"
    RANK = "rank"
    PRIORITY = "priority"


class ProcRange(NamedTuple):
    """Jobs of one cluster: its number, the first and the last proc."""

    cluster: int
    first: int
    last: int


class Match(Struct, frozen=True):
    """One match, in the order made.

    *request* is the first job of the request when the turn began, *slot* an index into the pool, *cost* its
    weight, *machine_rank* how the slot ranks the job, *preempted* who had the slot. *carving* is what was taken
    of a partitionable slot, and *key* what the accountant charges the use under. *concurrency_limits* is what
    the job uses there. *group* is the one whose turn it was, *autoregroup* whether that was the second chance.
    *evicted* are the dynamic slots preempted to make room on a partitionable slot that is matched as a whole.
    """

    submitter: str
    schedd: str
    cluster: int
    proc: int
    request: tuple[int, int]
    slot: int
    cost: float
    machine_rank: float
    group: str
    reason: MatchReason
    preempted: str | None
    carving: Carving | None = None
    key: SlotKey | None = None
    concurrency_limits: str | None = None
    autoregroup: bool = False
    evicted: tuple[int, ...] | None = None

    @property
    def makes_room(self) -> bool:
        """Whether its victims are dynamic slots, which end to make room for it."""
        return self.carving is not None or self.evicted is not None

    @property
    def victims(self) -> tuple[int, ...]:
        """The slots that are taken from somebody: that of the match, or dynamic ones that make room for it."""
        if self.preempted is None:
            return ()
        if self.evicted is not None:
            return self.evicted
        return (self.slot,) if self.carving is None else self.carving.victims


class AlikeMatches(Struct, frozen=True):
    """Matches in a row with whole slots that nobody used, without concurrency limits: as so many times `Match`.

    *slots* and *keys* are those of the jobs in order. *ranks* has how each slot of the pool ranks any job. A *request*
    of None: each job is a request of its own.
    """

    submitter: str
    schedd: str
    jobs: list[ProcRange]
    request: tuple[int, int] | None
    slots: list[int]
    keys: list[SlotKey]
    cost: float
    ranks: Sequence[float]
    group: str
    autoregroup: bool

    def each(self) -> Iterator[Match]:
        """Yield every one of them."""
        name, schedd, request, cost, ranks = self.submitter, self.schedd, self.request, self.cost, self.ranks
        group, autoregroup, reason = self.group, self.autoregroup, MatchReason.NO_PREEMPTION
        jobs = ((cluster, proc) for cluster, first, last in self.jobs for proc in range(first, last + 1))
        for job, slot, key in zip(jobs, self.slots, self.keys, strict=True):
            # By place: by name, it takes three times as long.
            yield Match(
                name,
                schedd,
                *job,
                request or job,
                slot,
                cost,
                ranks[slot],
                group,
                reason,
                None,
                None,
                key,
                None,
                autoregroup,
            )


class Matches(Sequence[Match]):
    """All matches of a cycle. *steps* are the same, with alike ones in a row as one: what reads them costs less."""

    def __init__(self, matches: Iterable[Match] = ()) -> None:
        self.steps: list[Match | AlikeMatches] = list(matches)
        self._length = len(self.steps)
        self._each: list[Match] = []

    @property
    def single(self) -> Iterator[Match]:
        """The matches that were made one by one; all that preempt, carve or use concurrency limits are among them."""
        return (step for step in self.steps if isinstance(step, Match))

    @property
    def alike(self) -> Iterator[AlikeMatches]:
        """The others."""
        return (step for step in self.steps if isinstance(step, AlikeMatches))

    def append(self, match: Match) -> None:
        """Add a match."""
        self.steps.append(match)
        self._length += 1

    def extend(self, alike: AlikeMatches) -> None:
        """Add alike matches in a row."""
        self.steps.append(alike)
        self._length += len(alike.slots)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Match]:
        return iter(self._all())

    @overload
    def __getitem__(self, place: int) -> Match: ...
    @overload
    def __getitem__(self, place: slice) -> list[Match]: ...
    def __getitem__(self, place: int | slice) -> Match | list[Match]:
        return self._all()[place]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Matches({self._all()!r})"

    def _all(self) -> list[Match]:
        if len(self._each) != self._length:
            self._each = [
                match for step in self.steps for match in (step.each() if isinstance(step, AlikeMatches) else (step,))
            ]
        return self._each
