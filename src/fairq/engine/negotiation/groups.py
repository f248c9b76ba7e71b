"""The accounting groups in a cycle: who is in which, what each asks for, and one pie for each of its turns.

docs/htcondor.md 4; matchmaker.cpp, negotiationTime; GroupEntry.cpp, hgq_prepare_for_matchmaking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.decision import CycleDecision
from fairq.engine.negotiation.in_use import InUse
from fairq.engine.negotiation.last_dealing import SingleMatches, deal_among_groups
from fairq.engine.negotiation.pie_rules import PieQuota
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.slots import weights_in_pie
from fairq.engine.negotiation.snapshot import Jobs
from fairq.engine.negotiation.submitter_turn import SubmitterTurn
from fairq.engine.quotas.assignment import assign_quotas
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.enforcement import part_used, room_under_caps
from fairq.engine.quotas.flat import FlatTurns, assign_flat, build_flat
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.engine.quotas.record import figures
from fairq.engine.quotas.rounds import AllocationRounds, PoolTerms
from fairq.engine.quotas.tree import Group, Tree, build_tree
from fairq.records import Ad

_PARTITIONABLE = parse("PartitionableSlot")


class Dealer(Protocol):
    """Deals negotiator."""

    def __call__(self, members: Sequence[SubmitterTurn], quota: PieQuota | None = None) -> list[SubmitterTurn]:
        """Deal one pie among *members*; return who is still in want of more."""


def quota_tree(policy: QuotaPolicy, total: float) -> Tree:
    """Return the groups with the quotas they have in a pool of *total* slot weight."""
    if policy.model == "flat":
        tree = build_flat(policy.groups)
        assign_flat(tree, total)
    else:
        tree = build_tree(policy.groups)
        assign_quotas(tree, total, policy.oversubscription)
    return tree


def pool_size(slots: AdColumns, cost: Sequence[float], policy: NegotiationPolicy) -> float:
    """The slot weight that quotas are fractions of: of all slots, or of those that the policy counts.

    Without slot weights a partitionable slot counts as many slots as it has Cpus.
    """
    weights = np.array(cost)
    if not policy.use_slot_weights and len(weights):
        partitionable = evaluate_in_columns(_PARTITIONABLE, slots, {}).is_true()
        cpus = evaluate_in_columns("Cpus", slots, {}).as_rank(1.0)
        weights = np.where(partitionable, cpus, weights)
    return float(sum(weights_in_pie(slots, weights, policy).tolist()))


class Liner(Protocol):
    """Puts members in line for single matches."""

    def __call__(
        self, members: Sequence[SubmitterTurn], quota: PieQuota, room: Callable[[], float]
    ) -> SingleMatches:
        """Put *members* of a group in line; *room* tells how much more they may have among them."""


class Groups:
    """The groups of one cycle.

    The list of a group's submitters lives through all its turns: who is satisfied once takes no part later.
    With autoregroup the submitters of such groups are on the list of ``<none>`` as well. `tree` has the quotas
    of this cycle.

    Args:
        slots: all slots of the pool. *cost*: their weights.
        accountant: knows what everybody has in use.
        policy: the cycle's rules, with quotas.
        now: seconds since 1970.
        round_robin_times: when each group was last dealt a remainder, in an earlier cycle.
    """

    def __init__(
        self,
        slots: AdColumns,
        cost: Sequence[float],
        accountant: Accountant,
        policy: NegotiationPolicy,
        now: int,
        round_robin_times: Mapping[str, int],
    ) -> None:
        assert policy.quotas is not None
        self._accountant = accountant
        self._in_use = InUse(accountant, policy.resources_in_use)
        self._policy = policy.quotas
        self._is_flat = policy.quotas.model == "flat"
        self._ads_per_job_priority = policy.ads_per_job_priority
        self._terms = PoolTerms(
            total=pool_size(slots, cost, policy),
            now=now,
            consider_preemption=policy.consider_preemption,
            use_slot_weights=policy.use_slot_weights,
            std_sort=policy.tie_break != "slot_name",
            budget=slots.budget,
        )
        self.tree = quota_tree(policy.quotas, self._terms.total)
        self._of: dict[str, Group] = {"": self.tree.root}
        self._members: dict[str, list[SubmitterTurn]] = {group.name: [] for group in self.tree.groups}
        self._size: dict[str, int] = {}
        self._deal: Dealer | None = None
        self._rounds: Callable[[], int] = lambda: 1
        for group in self.tree.groups:
            group.round_robin_time = round_robin_times.get(group.name, 0)

    def enrol(self, members: Sequence[SubmitterTurn], jobs: Jobs) -> None:
        """Put everybody on the list of their group, and count what each group asks for."""
        demand = IdleDemand(self._policy.demand, jobs.ads, self._terms.budget)
        weighted = self._policy.demand.weighted
        ads: Counter[tuple[str, str]] = Counter()
        for member in members:
            group = self.group_of(member.name)
            member.decision.group = group.name
            self._members[group.name].append(member)
            ads[member.name, member.schedd] += 1
        for queue in jobs.queues:
            group = self.group_of(queue.name)
            evaluate_for(self._terms.budget, Payer(queue.name, queue.name))
            running = queue.running_weight if weighted else queue.running_jobs
            times = ads[queue.name, queue.schedd] if self._ads_per_job_priority else 1
            group.demand += times * (demand.of(queue.idle) + running)
        evaluate_for(self._terms.budget, NOBODY)
        self._size = {name: len({member.name for member in members}) for name, members in self._members.items()}
        if self.tree.regroups and not self._is_flat:
            for group in self.tree.groups[1:]:
                if group.autoregroup:
                    self._members[ROOT_GROUP] += self._members[group.name]

    def negotiate(self, deal: Dealer, decision: CycleDecision) -> None:
        """Hold all turns of all groups, dealing negotiator by *deal*, and note them in *decision*."""
        self._deal = deal
        before = [self.used(group) for group in self.tree.groups]
        rounds: FlatTurns | AllocationRounds
        if self._is_flat:
            rounds = FlatTurns(self.tree, self._terms, self, self._policy.strict_priority)
        else:
            rounds = AllocationRounds(self.tree, self._policy, self._terms, self)
        self._rounds = lambda: rounds.rounds
        rounds.run()
        decision.problems = self.tree.problems
        decision.rounds = rounds.rounds
        decision.groups = rounds.turns
        decision.quotas = [
            figures(
                group,
                used_before=used_before,
                used_after=self.used(group),
                subtree_used=self.subtree_used(group),
                sort_key=rounds.keys[group.name],
                submitters=self._size[group.name],
            )
            for group, used_before in zip(self.tree.groups, before, strict=True)
        ]
        times = {group.name: int(group.round_robin_time) for group in self.tree.groups}
        decision.round_robin_times = {name: time for name, time in times.items() if time}

    def deal_leftovers(self, line: Liner) -> None:
        """Deal what fractions of slots in the groups' allocations left over: unused quota is for those who accept it.

        It goes one match at a time to the group that uses the least part of its quota; no group that takes no
        surplus gets beyond its own, nor all below it together.
        """
        if self._is_flat:
            return
        order = [*self.tree.groups[1:], self.tree.root]
        accepting = [group for group in order if group.accept_surplus and self._members[group.name]]
        lines = {
            group.name: line(
                self._members[group.name],
                PieQuota(None, group.name, charged=False, limiting_group=group.limiting_group().name, leftovers=True),
                partial(room_under_caps, group, self.subtree_used),
            )
            for group in accepting
        }
        deal_among_groups(lines, lambda name: part_used(self.tree.find(name) or self.tree.root, self.used))
        for group in accepting:
            self._members[group.name] = [c for c in self._members[group.name] if c.queue.jobs_left]

    def attributes(self, submitter: str, negotiating: str) -> Ad:
        """The attributes a submitter's job has while the group *negotiating* has its turn (docs/htcondor.md 3.11)."""
        group = self.group_of(submitter)
        return {
            "submittergroup": group.name,
            "submittergroupresourcesinuse": self._in_use.of_group(group),
            "submittergroupquota": self._in_use.quota_of(group),
            "submitterautoregroup": self.regroups(negotiating),
        }

    def regroups(self, negotiating: str) -> bool:
        """Whether the turn of the group *negotiating* is the second chance of members of other groups."""
        return self.tree.regroups and negotiating == ROOT_GROUP

    def group_of(self, submitter: str) -> Group:
        """The group of a submitter, the root if it is in none that is configured."""
        path = submitter.rpartition("@")[0].rpartition(".")[0]
        group = self._of.get(path)
        if group is None:
            group = self.tree.find(self._accountant.group_of(submitter)) or self.tree.root
            self._of[path] = group
        return group

    def used(self, group: Group) -> float:
        """Slot weight that the group's own submitters have in use at this moment."""
        return self._accountant.weighted_used(group.name)

    def subtree_used(self, group: Group) -> float:
        """The same of the group and all below it."""
        if group.is_root:
            return sum(self.used(each) for each in self.tree.groups)
        record = self._accountant.records.get(group.name)
        return 0.0 if record is None else record.hier_weighted_resources_used

    def has_submitters(self, group: Group) -> bool:
        """Whether anybody of the group still takes part."""
        return bool(self._members[group.name])

    def deal(self, group: Group, limit: float | None, *, charged: bool, limiting_group: Group) -> None:
        """Negotiate with the group's submitters over a pie of at most *limit*."""
        assert self._deal is not None
        quota = PieQuota(limit, group.name, charged, self._is_flat, limiting_group.name, self._rounds() > 1)
        left = self._members[group.name] = self._deal(self._members[group.name], quota)
        if self._is_flat and group.autoregroup and not group.is_root:
            self._members[ROOT_GROUP] += left

    def pass_over(self, group: Group, limiting_group: Group) -> None:
        """Note that the group's submitters got no turn, since the quota of *limiting_group* is used up."""
        for member in self._members[group.name]:
            member.pass_over(limiting_group.name)
