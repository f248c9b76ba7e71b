"""What a submitter may get: its slice of the free weight, and its entitlement, up to which it may preempt."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import job_count
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad import EvaluationBudget
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.queue import Jobs
from fairq.engine.negotiation.resource_shares import ResourceTaking, ResourceUse, fill_progressively
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.policy import DemandPolicy
from fairq.engine.weights import rounded

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups


class Wanting(Struct, frozen=True):
    """A user that wants slots: its effective priority, and its slot weight in use."""

    effective_priority: float
    used: float


class Slice(Struct, frozen=True):
    """The slice of one user in a spin, in slot weight.

    Args:
        share: its fraction of the total, 0 to 1, inversely proportional to the effective priorities.
        slice: the weight that it may take now; 0 for a user that already uses more than its part.
        part: the weight of its part, existing use included.
    """

    share: float
    slice: float
    part: float


def slices(free: float, wanting: Mapping[str, Wanting]) -> dict[str, Slice]:
    """Return the slices of *free* slot weight and the weight in use, by name of the user.

    A user's slice is (*free* + use of all wanting users) * share - use of the user. Users with a negative slice are
    left out, with their use and share, and the slices are computed again until none is negative.
    """
    if not wanting:
        return {}
    best = min(user.effective_priority for user in wanting.values())
    weights = {name: best / user.effective_priority for name, user in wanting.items()}
    in_all, weight_in_all = free + sum(user.used for user in wanting.values()), sum(weights.values())
    total, weight = in_all, weight_in_all
    # The user with the most use for its share is left out first.
    by_use = sorted(wanting, key=lambda name: -wanting[name].used / weights[name])
    left_out = 0
    for name in by_use:
        if wanting[name].used * weight <= total * weights[name]:
            break
        total -= wanting[name].used
        weight -= weights[name]
        left_out += 1
    slices_by_name = {}
    for index, name in enumerate(by_use):
        used, share = wanting[name].used, weights[name] / weight_in_all
        if index < left_out:
            slices_by_name[name] = Slice(share, 0.0, in_all * share)
        else:
            part = total * weights[name] / weight
            slices_by_name[name] = Slice(share, max(0.0, rounded(part - used)), part)
    return slices_by_name


class Member(Struct, frozen=True):
    """A submitter of a pie: its effective priority, and the slot weight that it uses or could use."""

    effective_priority: float
    demand: float


def entitlements(pie: float, members: Mapping[str, Member]) -> dict[str, float]:
    """Return the entitlement of each submitter to a *pie*, in slot weight.

    It is the weighted max-min share: inversely proportional to the effective priorities, while no other submitter
    counts for more than its demand. A submitter's own demand does not bound its entitlement: it has jobs for what it
    takes, and their weight is known only from the slots that they get.
    """
    if not members:
        return {}
    best = min(member.effective_priority for member in members.values())
    weights = {name: best / member.effective_priority for name, member in members.items()}
    demands = {name: min(member.demand, pie) for name, member in members.items()}
    # The submitter with the least demand for its share is satisfied first.
    names = sorted(members, key=lambda name: demands[name] / weights[name])
    demand_sums = [0.0, *accumulate(demands[name] for name in names)]
    weight_sums = [0.0, *accumulate(weights[name] for name in names)]
    all_weights = weight_sums[-1]

    def part(index: int) -> float:
        """Return the part of the submitter at *index*, with unlimited demand."""
        name = names[index]
        weight, demand = weights[name], demands[name]

        def level(satisfied: int) -> float:
            """Return the pie left for each unit of weight if *satisfied* others have their demand."""
            is_among = satisfied > index
            remaining = pie - demand_sums[satisfied + is_among] + (demand if is_among else 0.0)
            return remaining / (all_weights - weight_sums[satisfied + is_among] + (weight if is_among else 0.0))

        def is_enough(satisfied: int) -> bool:
            """Return whether the next submitter's demand is not below what is left for it."""
            following = names[satisfied + (satisfied >= index)]
            return level(satisfied) <= demands[following] / weights[following]

        satisfied = bisect_left(range(len(names) - 1), True, key=is_enough)
        return max(0.0, level(satisfied) * weight)

    return {name: part(index) for index, name in enumerate(names)}


def demand_of(policy: NegotiationPolicy) -> DemandPolicy:
    """Return the rules for the weight of idle jobs if there are no settings for quotas."""
    weighted, dominant = policy.use_slot_weights, policy.dominant
    return DemandPolicy(weighted=weighted, slot_weight=policy.slot_weight, truncated=False, dominant=dominant)


class Demands:
    """The demand of all submitters of a cycle, computed when first needed.

    Args:
        jobs: all idle jobs.
        accountant: has the use of all submitters.
        groups: the accounting groups; None: there are none.
        policy: the cycle's rules.
        least: the smallest possible weight of a match.
        budget: limits evaluation.
        may_preempt: whether priority may ever preempt a job; otherwise idle jobs are not weighed, and a submitter
            with idle jobs has unlimited demand.
        use: the use of resources, if weights are dominant.
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
        use: ResourceUse | None = None,
    ) -> None:
        self._jobs = jobs
        self._accountant = accountant
        self._groups = groups
        self._policy = policy
        self._least = least
        self._budget = budget
        self._may_preempt = may_preempt
        self._use = use if may_preempt else None
        self._takings: dict[str, ResourceTaking] = {}
        self._members: dict[str, dict[str, Member]] | None = None

    def entitlements(self, group: str, limit: float | None, pool: float) -> dict[str, float]:
        """Return the entitlements to the pie of a *group*'s turn, in slot weight.

        The pie is the group's *limit*; without a limit, it is the *pool* less the use of submitters that do not share
        the pie.
        """
        members = self._sharing(group)
        if self._use is not None:
            takings = {name: self._takings[name] for name in members}
            return fill_progressively(self._use.sizes_for(members, limit), takings)
        if limit is None:
            limit = pool - sum(
                record.weighted_resources_used
                for name, record in self._accountant.records.items()
                if not record.is_group and name not in members
            )
        return entitlements(max(0.0, limit), members)

    def _sharing(self, group: str) -> dict[str, Member]:
        """Return the submitters of a group's turn, with or without idle jobs; in a second chance, other groups' too."""
        if self._members is None:
            self._members = self._find_members()
        members = self._members.get(group, {})
        if self._groups is not None and group == ROOT_GROUP:
            for other in self._groups.tree.groups[1:]:
                if other.autoregroup:
                    members = members | self._members.get(other.name, {})
        return members

    def _find_members(self) -> dict[str, dict[str, Member]]:
        """Return all submitters that use slots or have idle jobs, by group."""
        accountant, groups, idle = self._accountant, self._groups, self._idle_weights()
        members_by_group: dict[str, dict[str, Member]] = defaultdict(dict)
        holding = (
            name
            for name, record in accountant.records.items()
            if record.weighted_resources_used > 0 and not record.is_group
        )
        for name in sorted({*idle, *holding}):
            record, group = accountant.record(name), ROOT_GROUP if groups is None else groups.group_of(name).name
            demand = total_demand = record.weighted_resources_used + idle.get(name, 0.0)
            if record.ceiling >= 0:
                demand = min(demand, float(record.ceiling))
            priority = accountant.effective_priority(name)
            members_by_group[group][name] = Member(priority, demand)
            if self._use is not None:
                self._takings[name] = self._use.taking(name, priority, demand, total_demand)
        return members_by_group

    def _idle_weights(self) -> dict[str, float]:
        """Return the slot weight that the idle jobs of each submitter would take."""
        policy = self._policy
        if not self._may_preempt:
            return {queue.name: math.inf for queue in self._jobs.queues if queue.idle}
        demand = IdleDemand(
            demand_of(policy) if policy.quotas is None else policy.quotas.demand, self._jobs.ads, self._budget
        )
        weights: dict[str, float] = defaultdict(float)
        for queue in self._jobs.queues:
            if queue.idle:
                evaluate_for(self._budget, Payer(queue.name, queue.name))
                weights[queue.name] += max(demand.of(queue.idle), job_count(queue.idle) * self._least)
                if self._use is not None:
                    self._use.add_request(queue.name, demand.of_resources(queue.idle))
        evaluate_for(self._budget, NOBODY)
        return weights
