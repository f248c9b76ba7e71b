"""The quotas of a pool's groups and their allocations, computed without a cycle.

Used before the first cycle, after a change of the settings, and for previews of another pool or configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import evaluate_in_columns
from fairq.engine.classad.budget import NOBODY, EvaluationBudget, Payer, evaluate_for
from fairq.engine.negotiation.groups import pool_size, quota_tree
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import slot_weights, users_of, with_pool
from fairq.engine.negotiation.queue import Jobs, SubmitterQueue
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.quotas.flat import FlatTurns
from fairq.engine.quotas.record import GroupFigures, figures
from fairq.engine.quotas.rounds import AllocationRounds, PoolTerms
from fairq.engine.quotas.tree import QuotaGroup, Tree
from fairq.state.connection import State
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.document import overrun_document
from fairq.steps.cycle.load import LoadedPool, load_pool, load_round_robin_times
from fairq.steps.cycle.negotiation_policy import negotiation_policy

if TYPE_CHECKING:
    from fairq.settings import Settings


class Forecaster:
    """The pool of *state* at *now* (seconds since 1970), loaded once for several forecasts."""

    def __init__(self, state: State, settings: Settings, now: int, pool: LoadedPool | None = None) -> None:
        """Load the pool, unless it is given as *pool* (possibly changed)."""
        self._now = now
        self._pool: LoadedPool = load_pool(state, settings, now) if pool is None else pool
        self._times: Mapping[str, int] = load_round_robin_times(state)

    @property
    def overruns(self) -> tuple[dict[str, Any], ...]:
        """The expressions that took too long so far."""
        budget = self._pool.slots.ads.budget
        return () if budget is None else tuple(map(overrun_document, budget.overruns))

    def size(self, settings: Settings) -> float:
        """Return the size of the pool under *settings*, in slot weight; raises SettingValueError."""
        policy = negotiation_policy(settings)
        ads = self._pool.slots.ads
        return pool_size(ads, slot_weights(ads, policy), policy)

    def least_weight(self, settings: Settings) -> float:
        """Return the smallest weight of a slot under *settings*; 1 for a part of a slot, and without slots."""
        policy, ads = negotiation_policy(settings), self._pool.slots.ads
        weights = slot_weights(ads, policy)
        if policy.partitionable_slots == "carve" and policy.use_slot_weights:
            weights = np.where(evaluate_in_columns("PartitionableSlot", ads, {}).is_true(), 1.0, weights)
        return float(weights[weights > 0].min(initial=np.inf)) if (weights > 0).any() else 1.0

    def groups(self, settings: Settings, total: float | None = None) -> tuple[GroupFigures, ...]:
        """Return the groups of *settings* as the next cycle would find them, in tree order.

        Their allocations are those of the first round. *total* overrides the pool's size, in slot weight. Raises
        SettingValueError for an invalid expression.
        """
        policy = with_pool(negotiation_policy(settings), self._pool.slots.ads)
        if policy.quotas is None:
            return ()
        accountant = self.accountant(settings)
        terms = PoolTerms(
            total=self.size(settings) if total is None else total,
            now=self._now,
            consider_preemption=policy.consider_preemption,
            use_slot_weights=policy.use_slot_weights,
            std_sort=policy.tie_break != "slot_name",
            budget=self._pool.slots.ads.budget,
        )
        tree = quota_tree(policy.quotas, terms.total)
        for group in tree.groups:
            group.round_robin_time = self._times.get(group.name, 0)
        members = _add_demand(tree, self._pool.jobs, accountant, policy, terms.budget)
        uses = _ConstantUse(tree, accountant)
        rounds: FlatTurns | AllocationRounds
        if policy.quotas.model == "flat":
            rounds = FlatTurns(tree, terms, uses)
        else:
            one_round = replace(policy.quotas, max_rounds=1, round_robin_rate=terms.total + 1)
            rounds = AllocationRounds(tree, one_round, terms, uses)
        for _ in rounds.run():
            pass  # no submitter negotiates
        return tuple(
            figures(
                group,
                used_before=uses.used(group),
                used_after=uses.used(group),
                subtree_used=uses.subtree_used(group),
                sort_key=rounds.keys[group.name],
                submitters=len(members[group.name]),
            )
            for group in tree.groups
        )

    def accountant(self, settings: Settings) -> Accountant:
        """Return an accountant that has counted the current use of all submitters and of all groups of *settings*."""
        loaded = self._pool.accountant
        records = [replace(record) for record in loaded.records.values()]
        accountant = Accountant(
            records, accounting_policy(settings), loaded.last_update, loaded.charges.copy(), loaded.decayed_until
        )
        ads = self._pool.slots.ads
        policy = negotiation_policy(settings)
        weights = slot_weights(ads, policy)
        accountant.check_matches(self._pool.slots.keys, users_of(ads, policy), weights, self._now)
        accountant.recount()
        return accountant


class _ConstantUse:
    """The use of groups in rounds in which nobody negotiates: it stays constant."""

    def __init__(self, tree: Tree, accountant: Accountant) -> None:
        self._tree = tree
        self._accountant = accountant

    def used(self, group: QuotaGroup) -> float:
        return self._accountant.weighted_used(group.name)

    def subtree_used(self, group: QuotaGroup) -> float:
        if group.is_root:
            return sum(map(self.used, self._tree.groups))
        record = self._accountant.records.get(group.name)
        return 0.0 if record is None else record.hier_weighted_resources_used

    def has_submitters(self, group: QuotaGroup) -> bool:
        return False


def _add_demand(
    tree: Tree, jobs: Jobs, accountant: Accountant, policy: NegotiationPolicy, budget: EvaluationBudget | None
) -> dict[str, set[str]]:
    """Add up the demand of each group; return its submitters by group."""
    assert policy.quotas is not None
    rules = policy.quotas.demand
    members: dict[str, set[str]] = {group.name: set() for group in tree.groups}
    demand = IdleDemand(rules, jobs.ads, budget)
    for queue in jobs.queues:
        group = tree.find(accountant.group_of(queue.name)) or tree.root
        members[group.name].add(queue.name)
        evaluate_for(budget, Payer(queue.name, queue.name))
        running = queue.running_weight if rules.weighted else queue.running_jobs
        group.demand += _submitter_ads(queue, policy) * (demand.of(queue.idle) + running)
    evaluate_for(budget, NOBODY)
    return members


def _submitter_ads(queue: SubmitterQueue, policy: NegotiationPolicy) -> int:
    """Return the number of ads that the negotiator has for a submitter (see `ads_per_job_priority`)."""
    maximum = policy.global_job_prios
    if maximum is None or not policy.ads_per_job_priority:
        return 1
    return min(len({jobs.priority for jobs in queue.idle}), max(1, maximum))
