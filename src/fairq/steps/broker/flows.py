"""The two brokerages as complete flows: all filters and weights with plugins, and the pool's queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.activity import ANALYSIS, PRODUCTION, Activity
from fairq.engine.brokerage.pool.columns import Columns
from fairq.steps.broker.plugins import Plugins


class Brokerage(Protocol):
    """Brokers tasks."""

    def __call__(self, cases: Sequence[Case], columns: Columns, plan: Plan, rules: Rules) -> list[Outcome]:
        """Return the outcome for each of *cases*."""


class Flow(NamedTuple):
    """One of the two brokerages: its filters, weights and reasons, and the queues that pass through them."""

    plan: Plan
    run: Brokerage

    def broker(self, task: Task, chunk: Chunk, columns: Columns, rules: Rules) -> Outcome:
        """Return the outcome for *task*."""
        (outcome,) = self.broker_all([Case(task, chunk)], columns, rules)
        return outcome

    def broker_all(self, cases: Sequence[Case], columns: Columns, rules: Rules) -> list[Outcome]:
        """Return the outcome for each of *cases*."""
        return self.run(cases, columns, self.plan, rules)

    def without(self, name: str) -> Flow:
        """Return the flow without the filter called *name*."""
        return self._replace(plan=self.plan.without(name))


def flows(plugins: Plugins) -> dict[Activity, Flow]:
    """Return the brokerages by activity."""
    return {activity: flow_of(plugins, activity) for activity in (PRODUCTION, ANALYSIS)}


def flow_of(plugins: Plugins, activity: Activity) -> Flow:
    """Return the brokerage of one activity; only its modules are loaded."""
    if activity == PRODUCTION:
        from fairq.engine.brokerage.production.flow import broker_all_production, production_plan

        return Flow(production_plan(plugins.filters, plugins.weights), broker_all_production)
    from fairq.engine.brokerage.analysis.flow import analysis_plan, broker_all_analysis

    return Flow(analysis_plan(plugins.filters, plugins.weights), broker_all_analysis)
