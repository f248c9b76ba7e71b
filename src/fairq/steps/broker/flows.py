"""The brokerage as one thing: the flows with all plugins, and the pool's queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairq.engine.brokerage.analysis.flow import analysis_plan, broker_analysis
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Weight
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import ANALYSIS, PRODUCTION, Activity, Chunk, Task
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.production.flow import broker_production, production_plan
from fairq.steps.broker.plugins import Plugins

_Run = Callable[[Task, Chunk, Columns, Plan, Rules], Outcome]
_Make = Callable[[Iterable[Filter], Iterable[Weight]], Plan]
_Made = tuple[_Run, _Make]


class Flow(NamedTuple):
    """One of the two brokerages: its filters, weights and reasons, and what goes through them."""

    plan: Plan
    run: _Run
    make: _Make

    def broker(self, task: Task, chunk: Chunk, columns: Columns, rules: Rules) -> Outcome:
        """Return the outcome for *task*."""
        return self.run(task, chunk, columns, self.plan, rules)

    def without(self, name: str) -> Flow:
        """Return the flow without the filter called *name*."""
        filters = [one for one in (*self.plan.before, *self.plan.after) if one.name != name]
        return self._replace(plan=self.make(filters, self.plan.weights))


def flows(plugins: Plugins) -> dict[Activity, Flow]:
    """Return the brokerages by activity."""
    made: dict[Activity, _Made] = {
        PRODUCTION: (broker_production, production_plan),
        ANALYSIS: (broker_analysis, analysis_plan),
    }
    return {
        activity: Flow(make(plugins.filters, plugins.weights), run, make) for activity, (run, make) in made.items()
    }
