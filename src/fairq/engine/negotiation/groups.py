"""The accounting groups in a cycle: their submitters, their demand, and one pie for each turn.

docs/htcondor.md 4; matchmaker.cpp, negotiationTime; GroupEntry.cpp, hgq_prepare_for_matchmaking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.classad import AdColumns, evaluate_in_columns
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.in_use import InUse
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.slots import weights_in_pie
from fairq.engine.negotiation.snapshot import Jobs
from fairq.engine.negotiation.submitter_turn import SubmitterTurn
from fairq.engine.quotas.assignment import assign_quotas
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.enforcement import Cap, Caps, hard_caps
from fairq.engine.quotas.flat import assign_flat, build_flat
from fairq.engine.quotas.policy import QuotaPolicy
from fairq.engine.quotas.rounds import PoolTerms
from fairq.engine.quotas.tree import QuotaGroup, Tree, build_tree
from fairq.engine.slot_names import SlotNames
from fairq.engine.weights import tolerance
from fairq.records import Ad

if TYPE_CHECKING:
    from fairq.engine.negotiation.memory import Scene


def quota_tree(policy: QuotaPolicy, total: float) -> Tree:
    """Return the groups with their quotas in a pool of *total* slot weight."""
    if policy.model == "flat":
        tree = build_flat(policy.groups)
        assign_flat(tree, total)
    else:
        tree = build_tree(policy.groups, regroups=policy.autoregroup)
        assign_quotas(tree, total, policy.oversubscription)
    return tree


def pool_size(slots: AdColumns, weights: NDArray[np.float64], policy: NegotiationPolicy) -> float:
    """The slot weight of the pool for quotas: of all slots, or of those that the policy counts.

    Without slot weights a partitionable slot counts as many slots as it has Cpus.
    """
    if not policy.use_slot_weights and len(weights):
        partitionable = evaluate_in_columns("PartitionableSlot", slots, {}).is_true()
        cpus = evaluate_in_columns("Cpus", slots, {}).as_rank(1.0)
        weights = np.where(partitionable, cpus, weights)
    return float(sum(weights_in_pie(slots, weights, policy).tolist()))


class Groups:
    """The groups of one cycle.

    The list of a group's submitters is kept for all its turns: satisfied submitters take no further part.
    With autoregroup the submitters of such groups are on the list of ``<none>`` as well. `tree` has the quotas
    of this cycle.

    Args:
        slots: all slots of the pool. *weights*: theirs.
        accountant: has the use of all submitters.
        policy: the cycle's rules, with quotas.
        now: seconds since 1970.
        round_robin_times: time of each group's last remainder, in an earlier cycle.
    """

    def __init__(
        self,
        slots: AdColumns,
        weights: NDArray[np.float64],
        accountant: Accountant,
        policy: NegotiationPolicy,
        now: int,
        round_robin_times: Mapping[str, int],
    ) -> None:
        assert policy.quotas is not None
        self._accountant = accountant
        self._in_use = InUse(accountant, policy.resources_in_use)
        self.policy = policy.quotas
        self.is_flat = policy.quotas.model == "flat"
        self._ads_per_job_priority = policy.ads_per_job_priority
        self.terms = PoolTerms(
            total=pool_size(slots, weights, policy),
            now=now,
            consider_preemption=policy.consider_preemption,
            use_slot_weights=policy.use_slot_weights,
            std_sort=policy.tie_break != "slot_name",
            budget=slots.budget,
        )
        self.tree = quota_tree(policy.quotas, self.terms.total)
        self._number = {group.name: number for number, group in enumerate(self.tree.groups)}
        self._caps: dict[str, Cap] = {}
        """Each is the same in all turns: no quota but the root's changes within a cycle."""
        self._of: dict[str, QuotaGroup] = {"": self.tree.root}
        self.members: dict[str, list[SubmitterTurn]] = {group.name: [] for group in self.tree.groups}
        self.size: dict[str, int] = {}
        for group in self.tree.groups:
            group.round_robin_time = round_robin_times.get(group.name, 0)

    def enrol(self, members: Sequence[SubmitterTurn], jobs: Jobs, scene: Scene | None = None) -> None:
        """Put each submitter on the list of its group, and compute the demand of each group.

        *scene* knows the demand of jobs that have waited in an earlier cycle.
        """
        demand = IdleDemand(self.policy.demand, jobs.ads, self.terms.budget)
        weighted = self.policy.demand.weighted
        ads: Counter[tuple[str, str]] = Counter()
        for member in members:
            group = self.group_of(member.name)
            member.decision.group = group.name
            self.members[group.name].append(member)
            ads[member.name, member.schedd] += 1
        for queue in jobs.queues:
            group = self.group_of(queue.name)
            evaluate_for(self.terms.budget, Payer(queue.name, queue.name))
            running = queue.running_weight if weighted else queue.running_jobs
            times = ads[queue.name, queue.schedd] if self._ads_per_job_priority else 1
            idle = demand.of(queue.idle) if scene is None else scene.demand(queue, demand)
            group.demand += times * (idle + running)
        evaluate_for(self.terms.budget, NOBODY)
        self.size = {name: len({member.name for member in members}) for name, members in self.members.items()}
        if self.tree.regroups and not self.is_flat:
            for group in self.tree.groups[1:]:
                if group.autoregroup:
                    self.members[ROOT_GROUP] += self.members[group.name]

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
        """Whether the turn of the group *negotiating* is the second chance for other groups' submitters."""
        return self.tree.regroups and negotiating == ROOT_GROUP

    def group_of(self, submitter: str) -> QuotaGroup:
        """The group of a submitter, the root if it is in none that is configured."""
        path = submitter.rpartition("@")[0].rpartition(".")[0]
        group = self._of.get(path)
        if group is None:
            group = self.tree.find(self._accountant.group_of(submitter)) or self.tree.root
            self._of[path] = group
        return group

    def used(self, group: QuotaGroup) -> float:
        """Slot weight that the group's own submitters use now."""
        return self._accountant.weighted_used(group.name)

    def subtree_used(self, group: QuotaGroup) -> float:
        """The same of the group and all below it."""
        if group.is_root:
            return sum(self.used(each) for each in self.tree.groups)
        record = self._accountant.records.get(group.name)
        return 0.0 if record is None else record.hier_weighted_resources_used

    def caps(self, group: QuotaGroup, further: Sequence[Cap] = ()) -> Caps | None:
        """The caps on the matches of a group's turn: the hard ones, and *further* ones; None: there are none."""
        capped = hard_caps(group, strict=self.policy.strict) if self.policy.hard_caps else []
        caps = [*map(self.cap, capped), *further]
        return Caps(caps, tolerance(self.terms.total)) if caps else None

    def cap(self, group: QuotaGroup) -> Cap:
        """The cap on a group and all below it, by the quota of its subtree."""
        known = self._caps.get(group.name)
        if known is None:
            holders = frozenset(number for number, each in enumerate(self.tree.groups) if group in each.up())
            known = Cap(group.name, group.subtree_quota, partial(self.subtree_used, group), holders)
            self._caps[group.name] = known
        return known

    def numbers_of(self, names: SlotNames) -> NDArray[np.int32] | None:
        """Per slot, the place in the tree of its holder's group; None: no cap reads it."""
        if not self.policy.hard_caps or all(group.accept_surplus for group in self.tree.groups):
            return None
        return np.array([*(self._number[self.group_of(name).name] for name in names.distinct), -1], np.int32)[
            names.codes
        ]

    def has_submitters(self, group: QuotaGroup) -> bool:
        """Whether any submitter of the group still takes part."""
        return bool(self.members[group.name])
