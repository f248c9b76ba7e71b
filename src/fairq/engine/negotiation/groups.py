"""The accounting groups in a cycle: their submitters, their demand, and one pie for each turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad import AdColumns, evaluate_in_columns
from fairq.engine.classad.budget import NOBODY, EvaluationBudget, Payer, evaluate_for
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.leftovers import Line, deal_among_groups
from fairq.engine.negotiation.limits import PieQuota
from fairq.engine.negotiation.pie import deal_pie, line_for_leftovers
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import pie_rows, size_of
from fairq.engine.negotiation.queue import Jobs, SubmitterQueue
from fairq.engine.negotiation.remote_attributes import InUse
from fairq.engine.negotiation.submitters import Submitter
from fairq.engine.quotas.assignment import quota_tree
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.enforcement import Cap, Caps, hard_caps
from fairq.engine.quotas.flat import FlatTurns
from fairq.engine.quotas.loans import borrowed_charges
from fairq.engine.quotas.order import percent_of_quota_used
from fairq.engine.quotas.record import GroupFigures, figures
from fairq.engine.quotas.rounds import AllocationRounds, GroupPie, PoolTerms, Rounding
from fairq.engine.quotas.tree import QuotaGroup
from fairq.engine.slot_names import SlotNames
from fairq.engine.weights import tolerance


def pool_size(slots: AdColumns, weights: NDArray[np.float64], policy: NegotiationPolicy) -> float:
    """Return the slot weight of the pool for quotas: of all slots, or of those that the policy counts.

    Without slot weights a partitionable slot counts as many slots as it has Cpus.
    """
    if not policy.use_slot_weights and len(weights):
        partitionable = evaluate_in_columns("PartitionableSlot", slots, {}).is_true()
        cpus = evaluate_in_columns("Cpus", slots, {}).as_rank(1.0)
        weights = np.where(partitionable, cpus, weights)
    return size_of(pie_rows(slots, weights, policy))


class Groups:
    """The groups of one cycle.

    A group keeps its list of submitters for all its turns: satisfied submitters take no further part.
    With autoregroup the submitters of such groups are on the list of ``<none>`` as well. `tree` has the quotas
    of this cycle.

    Args:
        total: the size of the pool, in slot weight (`pool_size`).
        accountant: has the use of all submitters.
        policy: the cycle's rules, with quotas.
        now: seconds since 1970.
        round_robin_times: when each group last got a remainder, in an earlier cycle.
        budget: limits the evaluation of expressions.
    """

    def __init__(
        self,
        total: float,
        accountant: Accountant,
        policy: NegotiationPolicy,
        now: int,
        round_robin_times: Mapping[str, int],
        budget: EvaluationBudget | None,
    ) -> None:
        assert policy.quotas is not None
        self._accountant = accountant
        self._in_use = InUse(accountant, policy.resources_in_use)
        self.policy = policy.quotas
        self.is_flat = policy.quotas.model == "flat"
        self._ads_per_job_priority = policy.ads_per_job_priority
        self.terms = PoolTerms(
            total=total,
            now=now,
            consider_preemption=policy.consider_preemption,
            use_slot_weights=policy.use_slot_weights,
            std_sort=policy.tie_break != "slot_name",
            budget=budget,
        )
        self.tree = quota_tree(policy.quotas, total)
        self._number = {group.name: number for number, group in enumerate(self.tree.groups)}
        self._caps: dict[str, Cap] = {}
        """The caps by group; they do not change in a cycle, since only the root's quota changes."""
        self._group_by_path: dict[str, QuotaGroup] = {"": self.tree.root}
        self.members: dict[str, list[Submitter]] = {group.name: [] for group in self.tree.groups}
        self._sizes: dict[str, int] = {}
        for group in self.tree.groups:
            group.round_robin_time = round_robin_times.get(group.name, 0)

    def enrol(self, members: Sequence[Submitter], jobs: Jobs) -> None:
        """Add each submitter to the list of its group, and compute the demand of each group."""
        ads: Counter[tuple[str, str]] = Counter()
        for member in members:
            group = self.group_of(member.name)
            member.decision.group = group.name
            self.members[group.name].append(member)
            ads[member.name, member.schedd] += 1
        self.add_demand(jobs, lambda queue: ads[queue.name, queue.schedd] if self._ads_per_job_priority else 1)
        if self.tree.regroups and not self.is_flat:
            for group in self.tree.groups[1:]:
                if group.autoregroup:
                    self.members[ROOT_GROUP] += self.members[group.name]

    def add_demand(self, jobs: Jobs, ads_of: Callable[[SubmitterQueue], int]) -> None:
        """Add up the demand of each group, and count its submitters.

        *ads_of* returns the number of ads that the negotiator has for a submitter (see `ads_per_job_priority`).
        """
        demand = IdleDemand(self.policy.demand, jobs.ads, self.terms.budget)
        names: dict[str, set[str]] = {group.name: set() for group in self.tree.groups}
        for queue in jobs.queues:
            group = self.group_of(queue.name)
            names[group.name].add(queue.name)
            evaluate_for(self.terms.budget, Payer(queue.name, queue.name))
            running = queue.running_weight if self.policy.demand.weighted else queue.running_jobs
            group.demand += ads_of(queue) * (demand.of(queue.idle) + running)
        evaluate_for(self.terms.budget, NOBODY)
        self._sizes = {name: len(submitters) for name, submitters in names.items()}

    def rounds(self) -> FlatTurns | AllocationRounds:
        """Return the rounds of allocation, to be run."""
        if self.is_flat:
            return FlatTurns(self.tree, self.terms, self, self.policy.strict_priority)
        return AllocationRounds(self.tree, self.policy, self.terms, self)

    def figures(self, rounds: FlatTurns | AllocationRounds, before: Sequence[float]) -> list[GroupFigures]:
        """Return the figures of all groups after *rounds*; *before* is the use of each one before them."""
        return [
            figures(
                group,
                used_before=used_before,
                used_after=self.used(group),
                subtree_used=self.subtree_used(group),
                sort_key=rounds.keys[group.name],
                submitters=self._sizes[group.name],
            )
            for group, used_before in zip(self.tree.groups, before, strict=True)
        ]

    def attributes(self, submitter: str, negotiating: str) -> Ad:
        """Return the attributes of a submitter's jobs in the turn of group *negotiating* (docs/htcondor.md 3.11)."""
        group = self.group_of(submitter)
        return {
            "submittergroup": group.name,
            "submittergroupresourcesinuse": self._in_use.of_group(group),
            "submittergroupquota": self._in_use.quota_of(group),
            "submitterautoregroup": self.regroups(negotiating),
        }

    def regroups(self, negotiating: str) -> bool:
        """Return whether the turn of the group *negotiating* is the second chance for submitters of other groups."""
        return self.tree.regroups and negotiating == ROOT_GROUP

    def group_of(self, submitter: str) -> QuotaGroup:
        """Return the group of a submitter, the root if it has no configured group."""
        path = submitter.rpartition("@")[0].rpartition(".")[0]
        group = self._group_by_path.get(path)
        if group is None:
            group = self.tree.find(self._accountant.group_of(submitter)) or self.tree.root
            self._group_by_path[path] = group
        return group

    def borrowed(self, keys: Sequence[SlotKey]) -> NDArray[np.bool_]:
        """Return which of the slots *keys* are used above the quota of their group at the start of the cycle."""
        charges = dict(zip(self._accountant.charges, self._accountant.charges.each(), strict=True))
        charged = {key: charges[key] for key in keys if key in charges}
        quotas = {group.name: group.quota for group in self.tree.groups}
        borrowed = borrowed_charges(charged, lambda submitter: self.group_of(submitter).name, quotas)
        return np.array([key in borrowed for key in keys], np.bool_)

    def used(self, group: QuotaGroup) -> float:
        """Return the slot weight that the group's own submitters use now."""
        return self._accountant.weighted_used(group.name)

    def subtree_used(self, group: QuotaGroup) -> float:
        """Return the slot weight that the group and all groups below it use now."""
        if group.is_root:
            return sum(self.used(member) for member in self.tree.groups)
        record = self._accountant.records.get(group.name)
        return 0.0 if record is None else record.hier_weighted_resources_used

    def caps(self, group: QuotaGroup, further: Sequence[Cap] = ()) -> Caps | None:
        """Return the caps on the matches of a group's turn, hard ones and *further* ones; None if there are none."""
        capped = hard_caps(group, strict=self.policy.strict) if self.policy.hard_caps else []
        caps = [*map(self.cap, capped), *further]
        return Caps(caps, tolerance(self.terms.total)) if caps else None

    def cap(self, group: QuotaGroup) -> Cap:
        """Return the cap on a group and all below it, by the quota of its subtree."""
        cap = self._caps.get(group.name)
        if cap is None:
            holders = frozenset(number for number, other in enumerate(self.tree.groups) if group in other.up())
            cap = Cap(group.name, group.subtree_quota, partial(self.subtree_used, group), holders)
            self._caps[group.name] = cap
        return cap

    def numbers_of(self, names: SlotNames) -> NDArray[np.int32] | None:
        """Return for each slot the index of its holder's group in the tree, None if no cap depends on it."""
        if not self.policy.hard_caps or all(group.accept_surplus for group in self.tree.groups):
            return None
        return np.array([*(self._number[self.group_of(name).name] for name in names.distinct), -1], np.int32)[
            names.codes
        ]

    def has_submitters(self, group: QuotaGroup) -> bool:
        """Return whether any submitter of the group still takes part."""
        return bool(self.members[group.name])


def deal_group_pies(ledger: Ledger, groups: Groups) -> None:
    """Run all turns of all groups, and record them in the ledger's decision."""
    decision = ledger.decision
    before = [groups.used(group) for group in groups.tree.groups]
    rounds = groups.rounds()
    for event in rounds.run():
        if isinstance(event, GroupPie):
            _deal_group_pie(ledger, groups, event)
        elif isinstance(event, Rounding):
            _round_fractions(ledger, groups, event.pies)
        else:
            for member in groups.members[event.group.name]:
                member.pass_over(event.limiting_group.name)
    decision.problems = groups.tree.problems
    decision.rounds = rounds.rounds
    decision.groups = rounds.turns
    decision.quotas = groups.figures(rounds, before)
    times = {group.name: int(group.round_robin_time) for group in groups.tree.groups}
    decision.round_robin_times = {name: time for name, time in times.items() if time}


def _deal_group_pie(ledger: Ledger, groups: Groups, pie: GroupPie) -> None:
    group = pie.group
    remaining = groups.members[group.name] = deal_pie(
        ledger, groups.members[group.name], _quota(groups, pie, pie.charged)
    )
    if groups.is_flat and group.autoregroup and not group.is_root:
        groups.members[groups.tree.root.name] += remaining


def _quota(groups: Groups, pie: GroupPie, charged: bool, caps: Sequence[Cap] = ()) -> PieQuota:
    """Return the quota of a group's pie; *caps* are added to the hard ones."""
    group = pie.group
    return PieQuota(
        limit=pie.limit,
        group=group.name,
        charged=charged,
        caps_preemption=groups.is_flat,
        limiting_group=pie.limiting_group.name,
        leftovers=pie.again,
        caps=groups.caps(group, caps),
    )


def _round_fractions(ledger: Ledger, groups: Groups, pies: Sequence[GroupPie]) -> None:
    """Deal single matches to groups whose limits are a fraction of a slot above their use."""
    if not ledger.policy.last_dealing or ledger.free_weight.total <= 0:
        return
    lines = {}
    for pie in pies:
        group, limit = pie.group, pie.limit
        members = groups.members[group.name]
        if members and pie.charged and limit is not None and groups.used(group) < limit:
            cap = Cap(
                pie.limiting_group.name,
                limit,
                partial(groups.used, group),
                frozenset([groups.tree.groups.index(group)]),
            )
            lines[group.name] = line_for_leftovers(ledger, members, _quota(groups, pie, False, [cap]))
    _deal_lines(groups, lines)


def _deal_lines(groups: Groups, lines: Mapping[str, Line]) -> None:
    """Give each match to the group that uses the smallest part of its quota; drop submitters without jobs left."""
    tree = groups.tree

    def percent_used(name: str) -> float:
        group: QuotaGroup = tree.find(name) or tree.root
        return percent_of_quota_used(groups.used(group), group.quota)

    deal_among_groups(lines, percent_used)
    for name in lines:
        groups.members[name] = [member for member in groups.members[name] if member.queue.jobs_left]


def deal_leftovers_of_groups(ledger: Ledger, groups: Groups) -> None:
    """Deal the slots that are still free: groups that accept surplus get unused quota, of the same parent first.

    Each match goes to the group that uses the smallest part of its quota. A group that accepts no surplus stays within
    its quota, together with its subtree.
    """
    if groups.is_flat:
        return
    tree = groups.tree
    for parent in reversed(tree.groups):
        if not parent.children or ledger.free_weight.total <= 0:
            continue
        caps = [] if parent.is_root else [groups.cap(parent)]
        lines = {}
        for group in [*_accepting(parent), parent]:
            members = groups.members[group.name]
            if members:
                quota = PieQuota(
                    group=group.name,
                    limiting_group=group.limiting_group().name,
                    leftovers=True,
                    caps=groups.caps(group, caps),
                )
                lines[group.name] = line_for_leftovers(ledger, members, quota)
        _deal_lines(groups, lines)


def _accepting(parent: QuotaGroup) -> Iterator[QuotaGroup]:
    """Yield the groups below *parent* that can get its surplus: all groups down to them accept surplus."""
    for child in parent.children:
        if child.accept_surplus:
            yield child
            yield from _accepting(child)
