"""The two brokerages as complete flows, with the plugins' filters and weights and the rules in force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity
from fairq.settings.key import PANDA
from fairq.settings.rule_points.panda import POINTS
from fairq.steps.broker.plugins import Plugins, load_plugins

if TYPE_CHECKING:
    from fairq.settings import Settings


def preset(name: Any, **points: Any) -> Rules:
    """Return the rules called *name* (``documented`` or ``panda``), with other values for some *points*."""
    return Rules(name, **{key.name: key.default_under(name) for key in POINTS} | points)


def rules_in_force(settings: Settings, chosen: str | None = None) -> Rules:
    """Return the rules called *chosen*, else those of ``broker.rules``.

    A rule point that is set explicitly in the settings takes precedence.
    """
    if chosen is not None:
        settings = settings.under(chosen, scheme=PANDA)
    return preset(settings[PANDA.rules], **{key.name: settings[key.full_name] for key in POINTS})


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
        from fairq.engine.brokerage.production.flow import broker_all_production, production_plan

        return Brokerage(production_plan(plugins.filters, plugins.weights), broker_all_production)
    from fairq.engine.brokerage.analysis.flow import analysis_plan, broker_all_analysis

    return Brokerage(analysis_plan(plugins.filters, plugins.weights), broker_all_analysis)


Record = dict[str, Any]


def list_filters() -> list[Record]:
    """Return a record for each filter and weight of each activity; raises BrokerPluginError."""
    plugins = load_plugins()
    return [
        record
        for activity, brokerage in brokerages(plugins).items()
        for record in _plan_records(activity, brokerage.plan, plugins)
    ]


def _plan_records(activity: str, plan: Plan, plugins: Plugins) -> list[Record]:
    def record(kind: str, plugin: Any, stage: str, reasons: list[Record]) -> Record:
        return {
            "activity": activity,
            "kind": kind,
            "place": plan.places[plugin.name],
            "stage": stage,
            "name": plugin.name,
            "reasons": [reason["reason"] for reason in reasons],
            "origin": plugins.origin(plugin),
            "meanings": reasons,
        }

    def reason_records(check: Any) -> list[Record]:
        return [
            {"reason": reason.tag, "meaning": reason.meaning, "temporary": not reason.permanent}
            for reason in check.reasons
        ]

    before = [record("filter", check, check.stage, reason_records(check)) for check in plan.before]
    weights = [record("weight", weight, "", []) for weight in plan.weights]
    return [
        *before,
        *weights,
        *(record("filter", check, check.stage, reason_records(check)) for check in plan.after),
    ]
