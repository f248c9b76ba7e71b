"""The brokerage as one thing: the flows with all plugins, and the pool's queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fairq.engine.brokerage.analysis.flow import analysis_plan, broker_analysis
from fairq.engine.brokerage.columns import Columns
from fairq.engine.brokerage.outcome import Outcome
from fairq.engine.brokerage.plan import Plan
from fairq.engine.brokerage.production.flow import broker_production, production_plan
from fairq.engine.brokerage.rules import Rules
from fairq.engine.brokerage.tasks import ANALYSIS, PRODUCTION, Activity, Chunk, Task
from fairq.steps.broker_plugins import Plugins


class Flow(NamedTuple):
    """One of the two brokerages: its filters, weights and reasons, and what goes through them."""

    plan: Plan
    run: Callable[[Task, Chunk, Columns, Plan, Rules], Outcome]

    def broker(self, task: Task, chunk: Chunk, columns: Columns, rules: Rules) -> Outcome:
        """Return the outcome for *task*."""
        return self.run(task, chunk, columns, self.plan, rules)


def flows(plugins: Plugins) -> dict[Activity, Flow]:
    """Return the brokerages by activity."""
    filters, weights = plugins.filters, plugins.weights
    return {
        PRODUCTION: Flow(production_plan(filters, weights), broker_production),
        ANALYSIS: Flow(analysis_plan(filters, weights), broker_analysis),
    }
