"""The decision of a cycle and its reasons, for the state, the tables and the explanation."""

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
    """The reason why a slot became a candidate (HTCondor 8 manual, "Negotiation")."""

    NO_PREEMPTION = "no-preemption"
    RANK = "rank"
    PRIORITY = "priority"


class ProcRange(NamedTuple):
    """Jobs of one cluster: the cluster, the first and the last proc."""

    cluster: int
    first: int
    last: int


class Match(Struct, frozen=True):
    """One match, in the order made.

    Args:
        request: the first job of the request when the turn began.
        slot: its index in the pool. *cost*: its weight. *machine_rank*: its Rank for the job.
        group: the group whose turn it was. *autoregroup*: whether that was the second chance.
        preempted: the submitter whose job was preempted, None without preemption.
        carving: what was taken of a partitionable slot.
        key: the accountant's key of the charge.
        concurrency_limits: the limits that the job uses there.
        evicted: the dynamic slots preempted to make room on a partitionable slot that is matched as a whole.
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
        """Whether its victims are dynamic slots that are preempted to make room for it."""
        return self.carving is not None or self.evicted is not None

    @property
    def victims(self) -> tuple[int, ...]:
        """The slots whose jobs are preempted: that of the match, or dynamic slots that make room for it."""
        if self.preempted is None:
            return ()
        if self.evicted is not None:
            return self.evicted
        return (self.slot,) if self.carving is None else self.carving.victims


class AlikeMatches(Struct, frozen=True):
    """Consecutive matches with free, undivided slots, without concurrency limits; equivalent to a `Match` for each.

    *slots* and *keys* are those of the jobs in order. *ranks* is the Rank of each slot of the pool for any job. With
    *request* None, each job is a request of its own.
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
        """Yield a `Match` for each job."""
        name, schedd, request, cost, ranks = self.submitter, self.schedd, self.request, self.cost, self.ranks
        group, autoregroup, reason = self.group, self.autoregroup, MatchReason.NO_PREEMPTION
        jobs = ((cluster, proc) for cluster, first, last in self.jobs for proc in range(first, last + 1))
        for job, slot, key in zip(jobs, self.slots, self.keys, strict=True):
            # Positional arguments: keywords take three times as long.
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
    """All matches of a cycle. *steps* are single and `AlikeMatches` in order, which are cheaper to read."""

    def __init__(self, matches: Iterable[Match] = ()) -> None:
        self.steps: list[Match | AlikeMatches] = list(matches)
        self._length = len(self.steps)
        self._each: list[Match] = []

    @property
    def single(self) -> Iterator[Match]:
        """The matches made one by one; all that preempt, carve or use concurrency limits are among them."""
        return (step for step in self.steps if isinstance(step, Match))

    @property
    def alike(self) -> Iterator[AlikeMatches]:
        """The matches made in a row."""
        return (step for step in self.steps if isinstance(step, AlikeMatches))

    def append(self, match: Match) -> None:
        """Add a match."""
        self.steps.append(match)
        self._length += 1

    def extend(self, alike: AlikeMatches) -> None:
        """Add matches made in a row."""
        self.steps.append(alike)
        self._length += len(alike.slots)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Match]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> list[Match]: ...
    def __getitem__(self, index: int | slice) -> Match | list[Match]:
        return self._all()[index]

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
    """Why a submitter got no further slot in this cycle."""

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
    """The use of a concurrency limit before and after the cycle, and its maximum."""

    name: str
    in_use_before: float
    in_use: float
    maximum: float


class SubmitterDecision(Struct):
    """The demand of one submitter, its limits and its matches in a cycle.

    Weights are in slot weight. *share* (0 to 1) and *limit* are as the accountant publishes them (SubmitterShare,
    SubmitterLimit): those of the pie's first spin, or with slices cut from free weight those of the last spin that the
    submitter took part in; that limit includes its use. *slices* are the slices of all spins. *group* is the
    submitter's accounting group; *quota_group* is the group whose quota stopped it, *time_budget* the budget that
    stopped it, if one did.
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
    """All decisions of a cycle. *pie* is the weight of all slots, *min_slot_weight* the smallest weight of a match.

    With groups, *groups* are their turns in order, over *rounds* rounds of allocation; *quotas* are the figures of
    every group; *round_robin_times* is when each last got a remainder (seconds since 1970), an input of the next
    cycle. *problems* are problems of the configured groups. *overruns* are the expressions that exceeded their budget.
    *dropped* are matches that were dropped because their jobs had changed or were gone when the decision was stored.
    *dominant* has the dominant resources, if weights are dominant.
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
