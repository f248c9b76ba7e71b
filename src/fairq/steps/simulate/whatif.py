"""The effect of changes to a pool, in the next cycle and in the long run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.negotiation.cycle import negotiate
from fairq.engine.negotiation.decision import CycleDecision
from fairq.engine.negotiation.pool import pie_of, with_pool
from fairq.engine.negotiation.slices import demand_of
from fairq.engine.quotas.demand import IdleDemand
from fairq.engine.simulation.longrun import long_run_use
from fairq.state import cycles
from fairq.state.connection import State, reading
from fairq.steps.config import SettingsFiles
from fairq.steps.cycle.load import LoadedPool, load_pool, load_round_robin_times, policy_of_pool
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.quotas.forecast import Forecaster
from fairq.steps.simulate.alteration import Alteration

if TYPE_CHECKING:
    from fairq.engine.negotiation.policy import NegotiationPolicy
    from fairq.settings import Settings

NOTICEABLE = 0.005
"""The smallest difference in slot weight that counts."""


class Side(Struct, frozen=True):
    """One of the two pools: the decision of the next cycle, and the long-run use of each submitter in slot weight.

    *long_run* assumes that all submitters keep as many jobs as now. *pie* is the slot weight of the pool, *allocated*
    the slot weight that the next cycle allocates to each group.
    """

    decision: CycleDecision | None
    long_run: dict[str, float]
    factors: dict[str, float]
    pie: float
    allocated: dict[str, float]


class WhatIf(Struct, frozen=True):
    """Both sides, and the number of the compared cycle."""

    now: Side
    then: Side
    cycle: int
    words: str

    @property
    def submitters(self) -> list[dict[str, Any]]:
        """A record for each submitter of either side, with members that end in ``_now`` and ``_then``."""
        names = dict.fromkeys([*self.now.long_run, *self.then.long_run])
        records = []
        for name in names:
            record: dict[str, Any] = {"submitter": name}
            for suffix, side in (("now", self.now), ("then", self.then)):
                record[f"factor_{suffix}"] = side.factors.get(name)
                if side.decision is not None:
                    turns = [turn for turn in side.decision.submitters if turn.submitter == name]
                    record[f"limit_{suffix}"] = max((turn.limit for turn in turns), default=0.0)
                    record[f"matched_{suffix}"] = sum(turn.matched_weight for turn in turns)
                record[f"long_run_{suffix}"] = side.long_run.get(name, 0.0)
            records.append(record)
        return records

    @property
    def groups(self) -> list[dict[str, Any]]:
        """A record for each accounting group of either side."""
        names = dict.fromkeys([*self.now.allocated, *self.then.allocated])
        return [
            {
                "group": name,
                "allocated_now": self.now.allocated.get(name),
                "allocated_then": self.then.allocated.get(name),
            }
            for name in names
        ]

    def changed(self, member: str) -> list[tuple[str, float]]:
        """Return the change of *member* for each submitter where it changes, the largest gain first."""
        differences = [
            (record["submitter"], (record.get(f"{member}_then") or 0.0) - (record.get(f"{member}_now") or 0.0))
            for record in self.submitters
        ]
        return sorted(
            ((name, difference) for name, difference in differences if abs(difference) >= NOTICEABLE),
            key=lambda change: (-change[1], change[0]),
        )

    @property
    def contended(self) -> bool:
        """Whether jobs ask for more than the pool has, on either side."""
        return any(sum(side.long_run.values()) >= side.pie - NOTICEABLE for side in (self.now, self.then))


def what_if(
    path: Path,
    settings: Settings,
    files: SettingsFiles,
    alteration: Alteration,
    now: int,
    *,
    size: float | None = None,
    cycle: bool = True,
) -> WhatIf:
    """Compare the pool with the pool after *alteration*; store nothing.

    *size* replaces the slot weight of the changed pool in the long run. Without *cycle*, no cycle is computed.

    Raises InvalidChangeError and the errors of settings.
    """
    with reading(path) as state:
        number = cycles.next_number(state)
        today = load_pool(state, settings, now)
        current_side = _side(state, settings, today, now, None, cycle=cycle)
        other = alteration.settings(settings, files)
        changed = alteration.of_pool(load_pool(state, other, now), now)
        changed_side = _side(state, other, changed, now, size, cycle=cycle)
    words = (
        alteration.words
        if size is None
        else ", ".join(filter(None, [f"{size:g} slot{'' if size == 1 else 's'}", alteration.words]))
    )
    return WhatIf(current_side, changed_side, number, words)


def _side(state: State, settings: Settings, pool: LoadedPool, now: int, size: float | None, *, cycle: bool) -> Side:
    policy = negotiation_policy(settings)
    figures = Forecaster(state, settings, now, pool).groups(settings, size)
    allocated = {group_figures.group: group_figures.allocated for group_figures in figures}
    pie = size
    if pie is None:
        pie = pie_of(pool.slots.ads, policy)
    requested = requested_weights(pool, policy)
    factors = {name: pool.accountant.priority_factor(name) for name in requested}
    use: dict[str, float] = {}
    for group in allocated or {ROOT_GROUP: pie}:
        names = [name for name in requested if not allocated or pool.accountant.group_of(name) == group]
        total = allocated.get(group, pie)
        uses = long_run_use(total, [factors[name] for name in names], [requested[name] for name in names])
        use |= dict(zip(names, uses.tolist(), strict=True))
    decision = None
    if cycle:
        rules = policy_of_pool(policy, state, settings, now)
        times = load_round_robin_times(state)
        decision = negotiate(pool.slots, pool.jobs, pool.accountant, rules, now, times, clock=time.monotonic)
    return Side(decision, {name: use[name] for name in requested}, factors, pie, allocated)


def requested_weights(pool: LoadedPool, policy: NegotiationPolicy) -> dict[str, float]:
    """Return the slot weight that the running and idle jobs of each submitter would use, at most its ceiling."""
    requested: dict[str, float] = {}
    demand = IdleDemand(demand_of(with_pool(policy, pool.slots.ads)), pool.jobs.ads, pool.slots.ads.budget)
    for queue in pool.jobs.queues:
        requested[queue.name] = requested.get(queue.name, 0.0) + queue.running_weight + demand.of(queue.idle)
    for name, weight in requested.items():
        ceiling = pool.accountant.record(name).ceiling
        if ceiling >= 0:
            requested[name] = min(weight, float(ceiling))
    return dict(sorted(requested.items()))
