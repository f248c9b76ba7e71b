"""Who shares a pie, and the slot weight that each submitter uses or could use (docs/htcondor.md 3.9)."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad import EvaluationBudget
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.entitlement import Member, entitlements
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.snapshot import Jobs
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.policy import DemandPolicy
from fairq.records import job_count

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups


class Demands:
    """The demand of all submitters of a cycle, as of the first time that somebody asks.

    Args:
        jobs: all idle jobs.
        accountant: has the use of all submitters.
        groups: the accounting groups; None: there are none.
        policy: the cycle's rules.
        least: the smallest possible weight of a match, which is what a job takes at least.
        budget: of evaluation.
        may_preempt: whether priority may ever preempt a job; otherwise idle jobs need not be weighed, and
            whoever has some counts as if it wanted all.
    """

    def __init__(
        self,
        jobs: Jobs,
        accountant: Accountant,
        groups: Groups | None,
        policy: NegotiationPolicy,
        least: float,
        budget: EvaluationBudget | None,
        *,
        may_preempt: bool,
    ) -> None:
        self._jobs = jobs
        self._accountant = accountant
        self._groups = groups
        self._policy = policy
        self._least = least
        self._budget = budget
        self._may_preempt = may_preempt
        self._members: dict[str, dict[str, Member]] | None = None

    def entitlements(self, group: str, limit: float | None, pool: float) -> dict[str, float]:
        """Return the entitlements to the pie of a *group*'s turn, in slot weight.

        The pie is the group's *limit*; without one it is what those who do not share it leave of the *pool*: without
        groups all usable slots, otherwise those that no group holds.
        """
        members = self._sharing(group)
        if limit is None:
            limit = pool - sum(
                record.weighted_resources_used
                for name, record in self._accountant.records.items()
                if not record.is_group and name not in members
            )
        return entitlements(max(0.0, limit), members)

    def _sharing(self, group: str) -> dict[str, Member]:
        """The submitters of a group's turn, with idle jobs or not; in a second chance, those of other groups, too."""
        if self._members is None:
            self._members = self._find_members()
        found = self._members.get(group, {})
        if self._groups is not None and group == ROOT_GROUP:
            for other in self._groups.tree.groups[1:]:
                if other.autoregroup:
                    found = found | self._members.get(other.name, {})
        return found

    def _find_members(self) -> dict[str, dict[str, Member]]:
        """All submitters that use slots or have idle jobs, by group."""
        accountant, groups, idle = self._accountant, self._groups, self._idle_weights()
        found: dict[str, dict[str, Member]] = defaultdict(dict)
        holding = (
            name
            for name, record in accountant.records.items()
            if record.weighted_resources_used > 0 and not record.is_group
        )
        for name in sorted({*idle, *holding}):
            record, group = accountant.record(name), ROOT_GROUP if groups is None else groups.group_of(name).name
            demand = record.weighted_resources_used + idle.get(name, 0.0)
            if record.ceiling >= 0:
                demand = min(demand, float(record.ceiling))
            found[group][name] = Member(accountant.effective_priority(name), demand)
        return found

    def _idle_weights(self) -> dict[str, float]:
        """The slot weight that the idle jobs of each submitter would take."""
        policy = self._policy
        if not self._may_preempt:
            return {queue.name: math.inf for queue in self._jobs.queues if queue.idle}
        own = DemandPolicy(weighted=policy.use_slot_weights, slot_weight=policy.slot_weight, whole=False)
        demand = IdleDemand(own if policy.quotas is None else policy.quotas.demand, self._jobs.ads, self._budget)
        found: dict[str, float] = defaultdict(float)
        for queue in self._jobs.queues:
            if queue.idle:
                evaluate_for(self._budget, Payer(queue.name, queue.name))
                found[queue.name] += max(demand.of(queue.idle), job_count(queue.idle) * self._least)
        evaluate_for(self._budget, NOBODY)
        return found
