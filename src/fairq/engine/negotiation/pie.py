"""One pie: slots dealt out among submitters by the ratio of their effective priorities, spin after spin.

docs/htcondor.md 3.2; matchmaker.cpp, negotiateWithGroup, calculateSubmitterLimit, calculatePieLeft,
calculateNormalizationFactor.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.matchlist import Limits
from fairq.engine.negotiation.requests import JobQueue
from fairq.engine.negotiation.turn import TurnEnd

UNLIMITED = sys.float_info.max


@dataclass(slots=True, eq=False)
class Contender:
    """One submitter at one schedd in a cycle: its queue and the record of what it got.

    With global job priorities there may be several, one for each range of priorities; *job_priority* is the
    highest of the range.
    """

    name: str
    schedd: str
    queue: JobQueue
    decision: SubmitterDecision
    starvation: float = 0.0
    job_priority: int | None = None

    @property
    def turn_order(self) -> tuple[float, float, float, str, str]:
        """Less is earlier in a spin (docs/htcondor.md 2.6)."""
        priority = -math.inf if self.job_priority is None else self.job_priority
        return self.effective_priority, -priority, self.starvation, self.name, self.schedd

    @property
    def effective_priority(self) -> float:
        """As at the cycle's start; it decides shares and order for the whole cycle."""
        return self.decision.effective_priority

    def pass_over(self, quota_group: str | None) -> None:
        """Note that it gets no turn, since a group's quota is used up."""
        if self.decision.idle:
            self.decision.stopped = StopReason.QUOTA
            self.decision.quota_group = quota_group


@dataclass(frozen=True, slots=True)
class PieQuota:
    """How a group's quota bounds a pie; the default is the pie of everybody, where there are no groups.

    Args:
        limit: the most the pie may have, in slot weight; None: as much as there is.
        group: the group that negotiates.
        charged: whether what the group has in use counts against the limit.
        caps_preemption: what is left of the limit also bounds matches that preempt, and is counted anew at
            every turn (the flat scheme).
        stopper: the group whose quota it is: the one that negotiates, or one above it.
        leftovers: whether it is dealt again, since others left something over.
    """

    limit: float | None = None
    group: str = ROOT_GROUP
    charged: bool = False
    caps_preemption: bool = False
    stopper: str | None = None
    leftovers: bool = False


@dataclass(frozen=True, slots=True)
class PieRules:
    """What binds a pie, besides the submitters' own limits.

    Args:
        total: the weight of all slots of the pool, busy ones too.
        min_slot_weight: the smallest weight of any slot.
        consider_preemption, ignore_user_priorities: as in the policy.
        quota: how a group's quota bounds it.
        floor_round: deal out no more than the submitters' floors.
        floor_counts_usage: whether what a submitter holds already counts towards its floor.
        settled_preemption: as in the policy.
    """

    total: float
    min_slot_weight: float
    consider_preemption: bool
    ignore_user_priorities: bool
    quota: PieQuota = PieQuota()
    floor_round: bool = False
    floor_counts_usage: bool = True
    settled_preemption: bool = False

    @property
    def size(self) -> float:
        """The weight to be dealt out: that of the pool, or the quota if it is less."""
        return self.total if self.quota.limit is None else min(self.total, self.quota.limit)

    @property
    def charged_limit(self) -> float | None:
        """The quota that the group's use counts against, None if none."""
        return self.quota.limit if self.quota.charged else None

    @property
    def quota_group(self) -> str | None:
        """The group whose quota makes the pie smaller than the pool, None if none does."""
        return self.quota.stopper if self.size < self.total else None


class Cycle(Protocol):
    """What a pie needs of the cycle around it."""

    def weighted_used(self, name: str) -> float:
        """Slot weight that a submitter or group has in use at this moment."""

    def in_order(self, contenders: Sequence[Contender]) -> list[Contender]:
        """Put them into the order of their turns."""

    def slots_left(self) -> bool:
        """Whether any candidate slot is left."""

    def negotiate(
        self, contender: Contender, limits: Limits, ignore_limit: bool, rules: PieRules
    ) -> TurnEnd:
        """Hold one submitter's turn."""

    def publish_share(self, name: str, share: float, limit: float) -> None:
        """Note a submitter's share and limit for the accountant's reports."""


class Pie:
    """Deals one pie. `spins` counts how often it went round; `contenders` are those still in it."""

    def __init__(self, cycle: Cycle, rules: PieRules, contenders: Sequence[Contender]) -> None:
        self._cycle = cycle
        self._rules = rules
        self.contenders = list(contenders)
        self.spins = 0
        self._left = 0.0
        self._size = rules.size

    def deal(self) -> None:
        """Spin until a whole spin neither hands out slots nor satisfies anybody (one spin for floors)."""
        while self._spin() and not self._rules.floor_round:
            pass

    def _spin(self) -> bool:
        """Go round once; whether another spin may bring more."""
        rules = self._rules
        first = self.spins == 0
        ignore_limit = first and rules.consider_preemption
        group_used = self._group_used()
        if not ignore_limit and self._is_used_up():
            self._pass_over(self.contenders)
            return False
        if not rules.consider_preemption:
            self.contenders = [c for c in self.contenders if c.queue.idle_jobs]
        if not self.contenders:
            return False
        shares = _Shares(self.contenders)
        self._left = self._count_up(shares, group_used)
        if not rules.consider_preemption and self._left <= 0:
            return False
        self.spins += 1
        if first:
            self.contenders = self._cycle.in_order(self.contenders)
        left_before, count_before = self._left, len(self.contenders)
        satisfied = set()
        for place, contender in enumerate(self.contenders):
            if not ignore_limit and self._is_used_up():
                self._pass_over(self.contenders[place:])
                break
            if self._turn(contender, shares, group_used, ignore_limit).satisfied:
                satisfied.add(id(contender))
        self.contenders = [c for c in self.contenders if id(c) not in satisfied]
        moved = self._left < left_before or len(self.contenders) < count_before
        return moved and bool(self.contenders) and self._cycle.slots_left()

    def _turn(self, contender: Contender, shares: _Shares, group_used: float, ignore_limit: bool) -> TurnEnd:
        rules, decision = self._rules, contender.decision
        used = self._cycle.weighted_used(contender.name)
        share = shares.of(contender)
        if rules.quota.caps_preemption:
            group_used = self._group_used()
        limit, unclaimed = self._limit(share, used, group_used)
        if rules.floor_round:
            limit = min(decision.floor - (used if rules.floor_counts_usage else 0.0), limit)
        missing, limit = limit, min(limit, self._left)
        ceiling = self._headroom(decision.ceiling, used)
        if self.spins == 1:
            decision.share, decision.limit = share, share * self._size
            self._cycle.publish_share(contender.name, share, decision.limit)
        end = self._no_turn(contender, limit, ceiling)
        if end is None:
            limits = Limits(limit, unclaimed, ceiling, self._left)
            if rules.settled_preemption:
                first_chance = not rules.quota.leftovers and decision.group == rules.quota.group
                limits.slice = missing if first_chance and self.spins == 1 else 0.0
                limits.rounds_up = used <= 0 and not self._is_used_up()
            end = self._cycle.negotiate(contender, limits, ignore_limit, rules)
            self._left = limits.pie_left
            limit -= limits.used
        decision.stopped, decision.quota_group = end.reason, None
        if end.reason is StopReason.LIMIT and rules.quota_group is not None:
            decision.quota_group = rules.quota_group
            if rules.charged_limit is not None and rules.charged_limit - self._group_used() <= max(0.0, limit):
                decision.stopped = StopReason.QUOTA
        return end

    def _pass_over(self, contenders: Sequence[Contender]) -> None:
        """Note who gets no turn since the group's quota is used up."""
        for contender in contenders:
            contender.pass_over(self._rules.quota_group)

    def _no_turn(self, contender: Contender, limit: float, ceiling: float) -> TurnEnd | None:
        """Reasons to pass over a submitter in this spin."""
        smallest = self._rules.min_slot_weight
        if not contender.queue.idle_jobs:
            return TurnEnd(True, StopReason.NO_IDLE_JOBS)
        if self.spins > 1 and (limit < smallest or self._left < smallest):
            return TurnEnd(False, StopReason.LIMIT)
        if ceiling == 0 or ceiling < smallest:
            return TurnEnd(True, StopReason.CEILING)
        return None

    def _limit(self, share: float, used: float, group_used: float) -> tuple[float, float]:
        """A submitter's limit, and the limit for slots that nobody has to leave."""
        rules = self._rules
        limit = UNLIMITED if rules.ignore_user_priorities else max(0.0, share * self._size - used)
        quota = rules.charged_limit
        unclaimed = limit if quota is None else min(limit, max(0.0, quota - group_used))
        binds_all = rules.quota.caps_preemption or not rules.consider_preemption
        return (unclaimed if binds_all else limit), unclaimed

    def _count_up(self, shares: _Shares, group_used: float) -> float:
        """The sum of all limits, by which a spin tells whether it moved; also everybody's starvation."""
        total = 0.0
        for contender in self.contenders:
            used = self._cycle.weighted_used(contender.name)
            limit, _ = self._limit(shares.of(contender), used, group_used)
            contender.starvation = used / (used + limit) if used + limit > 0 else UNLIMITED
            total += limit
        return total

    def _group_used(self) -> float:
        rules = self._rules
        return 0.0 if rules.charged_limit is None else self._cycle.weighted_used(rules.quota.group)

    def _is_used_up(self) -> bool:
        quota = self._rules.charged_limit
        return quota is not None and self._group_used() >= quota

    @staticmethod
    def _headroom(ceiling: int, used: float) -> float:
        """Slot weight left under a ceiling; usage counts in whole slots (docs/htcondor.md 3.5)."""
        return UNLIMITED if ceiling < 0 else max(0.0, float(ceiling - int(used)))


class _Shares:
    """Everybody's share of the pie, in inverse ratio of effective priorities; each name counts once."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        priorities = {contender.name: contender.effective_priority for contender in contenders}
        self._worst = max(contender.effective_priority for contender in contenders)
        self._normal = sum(self._worst / priority for priority in priorities.values())

    def of(self, contender: Contender) -> float:
        """The share of one submitter; those of distinct names sum to 1."""
        return self._worst / (contender.effective_priority * self._normal)
