"""The two brokerages as complete flows: all filters and weights with plugins, and the pool's queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity
from fairq.steps.broker.plugins import Plugins


class Broker(Protocol):
    """Brokers tasks."""

    def __call__(self, cases: Sequence[Case], columns: Columns, plan: Plan, rules: Rules) -> list[Outcome]:
        """Return the outcome for each of *cases*."""


class Brokerage(NamedTuple):
    """One of the two brokerages: its filters, weights and reasons, and the function that applies them."""

    plan: Plan
    run: Broker

    def broker(self, task: Task, chunk: Chunk, columns: Columns, rules: Rules) -> Outcome:
        """Return the outcome for *task*."""
        (outcome,) = self.broker_all([Case(task, chunk)], columns, rules)
        return outcome

    def broker_all(self, cases: Sequence[Case], columns: Columns, rules: Rules) -> list[Outcome]:
        """Return the outcome for each of *cases*."""
        return self.run(cases, columns, self.plan, rules)

    def without(self, name: str) -> Brokerage:
        """Return the brokerage without the filter called *name*."""
        return self._replace(plan=self.plan.without(name))


def brokerages(plugins: Plugins) -> dict[Activity, Brokerage]:
    """Return the brokerages by activity."""
    return {activity: brokerage_of(plugins, activity) for activity in (PRODUCTION, ANALYSIS)}


def brokerage_of(plugins: Plugins, activity: Activity) -> Brokerage:
    """Return the brokerage of one activity; only its modules are loaded."""
    if activity == PRODUCTION:
        from fairq.engine.brokerage.production import broker_all_production, production_plan

        return Brokerage(production_plan(plugins.filters, plugins.weights), broker_all_production)
    from fairq.engine.brokerage.analysis import analysis_plan, broker_all_analysis

    return Brokerage(analysis_plan(plugins.filters, plugins.weights), broker_all_analysis)
