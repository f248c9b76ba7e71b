"""What a cycle decided, and the record of why: data for the state, the table and the explanation."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad.budget import Overrun
from fairq.engine.negotiation.budgets import Budget
from fairq.engine.negotiation.matches import Match, Matches
from fairq.engine.negotiation.rejections import Rejections

if TYPE_CHECKING:
    from fairq.engine.quotas.record import GroupFigures, GroupTurn
    from fairq.engine.quotas.tree import Problem


class StopReason(StrEnum):
    """Why a submitter got no more in this cycle."""

    NO_MORE_JOBS = "no more jobs"
    LIMIT = "submitter limit reached"
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
    any more, or not as they were, when the decision was to be stored.
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
