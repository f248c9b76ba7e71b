"""The quotas of a pool's groups and their allocations, computed without a cycle.

Used before the first cycle, after a change of the settings, and for previews of another pool or configuration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import evaluate_in_columns
from fairq.engine.negotiation.groups import Groups, pool_size
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import slot_weights, users_of, with_pool
from fairq.engine.negotiation.queue import SubmitterQueue
from fairq.engine.quotas.record import GroupFigures
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
        total = self.size(settings) if total is None else total
        one_round = replace(policy.quotas, max_rounds=1, round_robin_rate=math.inf)
        groups = Groups(
            total,
            self.accountant(settings),
            replace(policy, quotas=one_round),
            self._now,
            self._times,
            self._pool.slots.ads.budget,
        )
        groups.add_demand(self._pool.jobs, partial(_submitter_ads, policy))
        rounds = groups.rounds()
        for _ in rounds.run():
            pass  # no submitter negotiates
        return tuple(groups.figures(rounds, list(map(groups.used, groups.tree.groups))))

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


def _submitter_ads(policy: NegotiationPolicy, queue: SubmitterQueue) -> int:
    """Return the number of ads that the negotiator has for a submitter (see `ads_per_job_priority`)."""
    maximum = policy.global_job_prios
    if maximum is None or not policy.ads_per_job_priority:
        return 1
    return min(len({jobs.priority for jobs in queue.idle}), max(1, maximum))
