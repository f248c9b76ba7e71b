"""Rounds of allocation and negotiation, until the allocations are in use or a round has no effect.

docs/htcondor.md 4.7; GroupEntry.cpp, hgq_negotiate_with_all_groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct

from fairq.engine.classad import EvaluationBudget
from fairq.engine.quotas.enforcement import enforce_caps
from fairq.engine.quotas.order import LAST, negotiation_order, sort_keys
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.engine.quotas.record import GroupTurn, SkipReason
from fairq.engine.quotas.remainders import deal_remainders
from fairq.engine.quotas.surplus import share_fairly
from fairq.engine.quotas.tree import QuotaGroup, Tree
from fairq.engine.weights import rounded

NAN_AS_INTEGER = -(2.0**31)
"""The integer that not-a-number becomes on the machines that HTCondor runs on."""


class GroupUse(Protocol):
    """The current use of groups, and whether any of their submitters still takes part."""

    def used(self, group: QuotaGroup) -> float:
        """Return the slot weight that the group's own submitters use now."""

    def subtree_used(self, group: QuotaGroup) -> float:
        """Return the slot weight that the group and all groups below it use now."""

    def has_submitters(self, group: QuotaGroup) -> bool:
        """Return whether any submitter of the group still takes part."""


class GroupPie(Struct, frozen=True):
    """A pie to divide among the submitters of a group before the rounds continue.

    Args:
        group: the group that negotiates.
        limit: the maximum of the pie in slot weight; None: no maximum.
        charged: whether the group's use counts against the limit.
        limiting_group: the group whose quota it is.
        again: whether this is a later round, over what the groups left in the first one.
    """

    group: QuotaGroup
    limit: float | None
    charged: bool
    limiting_group: QuotaGroup
    again: bool = False


class PassedOver(Struct, frozen=True):
    """A group without a turn, because the quota of *limiting_group* is used up."""

    group: QuotaGroup
    limiting_group: QuotaGroup


class Rounding(Struct, frozen=True):
    """All groups have had their turns of the first round: fractions of slots in the limits of *pies* may be rounded."""

    pies: Sequence[GroupPie]


GroupEvent = GroupPie | PassedOver | Rounding
"""What happens in the rounds, in order."""


class PoolTerms(Struct, frozen=True):
    """The pool and the settings of a cycle that the rounds depend on.

    Args:
        total: the size of the pool, in slot weight.
        now: seconds since 1970.
        consider_preemption: groups at their allocation also negotiate.
        use_slot_weights: otherwise every slot counts 1, and quotas come in whole slots.
        std_sort: groups with equal keys are in the order of ``std::sort``.
        budget: limits the evaluation of the sort expression.
    """

    total: float
    now: int
    consider_preemption: bool
    use_slot_weights: bool
    std_sort: bool
    budget: EvaluationBudget | None = None


class AllocationRounds:
    """Allocates quota, and yields the turns of groups, round by round.

    The groups of *tree* have their quota and `demand`. `turns` are all turns in order, `rounds` is the number of
    rounds so far, and `keys` has the sort keys of the last round by group name.
    """

    def __init__(self, tree: Tree, policy: QuotaPolicy, terms: PoolTerms, use: GroupUse) -> None:
        self._tree = tree
        self._policy = policy
        self._terms = terms
        self._use = use
        self._root_quota = tree.root.quota
        self._any_surplus = policy.accept_surplus or any(group.accept_surplus for group in tree.groups[1:])
        self.turns: list[GroupTurn] = []
        self.rounds = 0
        self.keys: dict[str, float] = {}

    def run(self) -> Iterator[GroupEvent]:
        """Run the rounds and yield each turn; the caller divides its pie before the rounds continue.

        Afterwards, `round_robin_time` is now for groups that were served or have no unmet demand.
        """
        groups = self._tree.groups
        for group in groups:
            group.requested = group.demand
            group.usage = self._use.used(group)
        while self.rounds < self._policy.max_rounds:
            self.rounds += 1
            self._allocate()
            yield from self._negotiate()
            for group in groups:
                group.usage = self._use.used(group)
                if group.usage < group.allocated and not self._wants_surplus(group):
                    group.requested = group.usage
                else:
                    group.requested += group.allocated
            in_use = sum(min(group.usage, group.allocated) for group in groups)
            if in_use >= sum(group.allocated for group in groups):
                break
        for group in groups:
            if group.served or group.requested <= 0:
                group.round_robin_time = self._terms.now

    def _wants_surplus(self, group: QuotaGroup) -> bool:
        """Return whether a group below its allocation would use more: what is left of it is less than a slot."""
        return self._policy.hard_caps and group.accept_surplus and self._use.has_submitters(group)

    def _allocate(self) -> None:
        root, terms = self._tree.root, self._terms
        if self._policy.regroup_keeps_quota:
            root.quota = self._root_quota
        share_fairly(self._tree)
        if not terms.use_slot_weights:
            deal_remainders(self._tree, terms.std_sort, self._policy.remainders_as_computed)
        if self._tree.regroups:
            root.quota = root.allocated = terms.total

    def _negotiate(self) -> Iterator[GroupEvent]:
        tree, rate = self._tree, self._policy.round_robin_rate
        largest_gap = 0.0
        for group in tree.groups:
            target = group.allocated if self._any_surplus else group.quota
            largest_gap = max(largest_gap, target - group.usage)
        keys = sort_keys(tree, self._policy.sort_expression, self._terms.now, self._terms.budget)
        shown = (LAST if math.isnan(key) else key for key in keys)
        self.keys = {group.name: key for group, key in zip(tree.groups, shown, strict=True)}
        pool = self._terms.total if self._policy.strict_priority else None
        order = negotiation_order(tree, keys, self._terms.std_sort, pool)
        step, progress, pies = 0, 0.0, list[GroupPie]()
        while True:
            step += 1
            progress = min(progress + rate, largest_gap)
            rounds_up = self.rounds == 1 and progress >= largest_gap
            for group in order:
                if rounds_up and group.is_root and tree.regroups:
                    # The root's pie comes last, and may hold whatever the groups left.
                    yield Rounding(pies)
                for event in self._turn(group, step, progress, largest_gap):
                    if rounds_up and isinstance(event, GroupPie):
                        pies.append(event)
                    yield event
            if progress >= largest_gap:
                break
        if rounds_up and not tree.regroups:
            yield Rounding(pies)

    def _turn(
        self, group: QuotaGroup, step: int, progress: float, largest_gap: float
    ) -> Iterator[GroupPie | PassedOver]:
        skipped = self._skip_reason(group)
        if skipped is not None:
            self._record_turn(group, step, skipped=skipped)
            if skipped is not SkipReason.NO_SUBMITTERS:
                yield PassedOver(group, group.limiting_group())
            return
        limit, limiting_group = self._limit(group, progress, largest_gap)
        handed_out = self._truncated(limit)
        charged = not (group.is_root and self._tree.regroups)
        self._record_turn(
            group,
            step,
            limit=None if math.isnan(limit) else limit,
            handed_out=handed_out,
            stopped_by=limiting_group.name,
        )
        yield GroupPie(group, handed_out, charged, limiting_group, again=self.rounds > 1)

    def _skip_reason(self, group: QuotaGroup) -> SkipReason | None:
        """Return why a group is skipped, None if it is not."""
        if group.allocated <= 0:
            return SkipReason.NOTHING_ALLOCATED
        if group.usage >= group.allocated and not self._terms.consider_preemption:
            return SkipReason.QUOTA_IN_USE
        return None if self._use.has_submitters(group) else SkipReason.NO_SUBMITTERS

    def _limit(self, group: QuotaGroup, progress: float, largest_gap: float) -> tuple[float, QuotaGroup]:
        """Return the limit of a group, current use included, and the group whose quota sets it."""
        target = max(group.allocated, group.quota)
        missing = max(0.0, target - group.usage)
        limit = target
        if missing > 0:
            limit = group.usage + missing * self._fraction(progress, largest_gap)
        if math.isnan(limit):
            return limit, group.limiting_group()
        limit = min(limit, target)
        if not self._terms.use_slot_weights:
            limit = float(math.floor(limit))
        limiting_group = None
        if self._policy.strict:
            usage = self._use.used(group) if self._policy.live_caps else group.usage
            scaled = self._policy.hard_caps
            limit, limiting_group = enforce_caps(group, limit, usage, self._use.subtree_used, scaled=scaled)
        return limit, limiting_group or group.limiting_group()

    def _fraction(self, progress: float, largest_gap: float) -> float:
        """Return the fraction of its missing allocation that a group may get in this step.

        If no group misses anything it is 1, or not-a-number with integer limits.
        """
        if largest_gap > 0:
            return progress / largest_gap
        return math.nan if self._policy.integer_limits else 1.0

    def _truncated(self, limit: float) -> float:
        if not self._policy.integer_limits:
            return rounded(limit)
        return NAN_AS_INTEGER if math.isnan(limit) else float(int(limit))

    def _record_turn(self, group: QuotaGroup, step: int, **outcome: Any) -> None:
        self.turns.append(
            GroupTurn(
                self.rounds,
                step,
                group.name,
                group.quota,
                group.allocated,
                group.usage,
                self.keys[group.name],
                **outcome,
            )
        )
