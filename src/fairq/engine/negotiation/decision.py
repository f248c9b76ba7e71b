"""What a cycle decided, and the record of why: data for the state, the table and the explanation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, overload

from msgspec import Struct, field

from fairq.engine.accounting.charges import SlotKey
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad.budget import Overrun
from fairq.engine.dominance import DominantResources
from fairq.engine.negotiation.budgets import Budget
from fairq.engine.negotiation.pieces import Carving
from fairq.engine.negotiation.rejections import Rejections

if TYPE_CHECKING:
    from fairq.engine.quotas.record import GroupFigures, GroupTurn
    from fairq.engine.quotas.tree import Problem


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


class StopReason(StrEnum):
    """Why a submitter got no more in this cycle."""

    NO_MORE_JOBS = "no more jobs"
    LIMIT = "submitter limit reached"
    PREEMPTIONS = "limit of preemptions reached"
    QUOTA = "group quota reached"
    CEILING = "ceiling reached"
    IN_USE = "suitable slots are in use"
    NO_MATCH = "no slot matches the jobs left"
    NO_SLOTS = "no slots left"
    NO_POOL = "the pool has no slots"
    UNUSABLE = "all slots are draining or offline"
    NO_IDLE_JOBS = "no idle jobs"
    CONCURRENCY_LIMIT = "concurrency limit reached"
    TIME = "time budget used up"
    SCHEDD = "MaxJobsRunning of the schedd reached"
    SUBMITTER_CONSTRAINT = "kept out by negotiator_submitter_constraint"
    JOB_CONSTRAINT = "jobs left are kept out by negotiator_job_constraint"


class LimitFigures(Struct, frozen=True):
    """How much of a concurrency limit was in use before the cycle and is after it, and the most there may be."""

    name: str
    in_use_before: float
    in_use: float
    maximum: float


class SubmitterDecision(Struct):
    """What one submitter asked for, was entitled to and got in a pie.

    Weights are in slot weight. *share* (0 to 1) and *limit* are as the accountant publishes them (SubmitterShare,
    SubmitterLimit): those of the pie's first spin, or with slices cut from what is free those of the last one that
    the submitter took part in; that limit includes what it has. *slices* are what it might take in every spin.
    *group* is the accounting group of the submitter; *quota_group* the one whose quota the limit came from, if that
    stopped it; *time_budget* the budget that was used up, if that stopped it.
    """

    submitter: str
    schedd: str
    effective_priority: float
    idle: int
    running: int
    used_before: float
    ceiling: int
    floor: int
    share: float = 0.0
    limit: float = 0.0
    slices: list[float] = field(default_factory=list)
    matched: int = 0
    matched_weight: float = 0.0
    rejected: int = 0
    stopped: StopReason = StopReason.NO_IDLE_JOBS
    group: str = ROOT_GROUP
    quota_group: str | None = None
    time_budget: Budget | None = None


class CycleDecision(Struct):
    """All that a cycle decided. *pie* is the weight of all slots, *min_slot_weight* the smallest of them.

    With groups, *groups* are their turns in order, over *rounds* rounds of allocation; *quotas* the figures of
    every group, and *round_robin_times* when each was last dealt a remainder (seconds since 1970), which the
    next cycle wants to know. *problems* are what is odd about the groups configured. *overruns* are the expressions
    that took longer than their budget. *dropped* are matches that were taken back, since their jobs were not there
    any more, or not as they were, when the decision was to be stored. *dominant* has the dominant resources, if weights
    are dominant.
    """

    rules: str
    time: int
    slots: int
    candidates: int
    pie: float
    min_slot_weight: float
    spins: int = 0
    matches: Matches = field(default_factory=Matches)
    rejections: Rejections = field(default_factory=Rejections)
    submitters: list[SubmitterDecision] = field(default_factory=list)
    rounds: int = 0
    groups: list[GroupTurn] = field(default_factory=list)
    quotas: list[GroupFigures] = field(default_factory=list)
    round_robin_times: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    limits: list[LimitFigures] = field(default_factory=list)
    time_budgets_used_up: list[Budget] = field(default_factory=list)
    overruns: list[Overrun] = field(default_factory=list)
    dropped: list[Match] = field(default_factory=list)
    dominant: DominantResources | None = None
