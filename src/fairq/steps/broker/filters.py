"""The filters and weights in use, in order."""

from __future__ import annotations

from typing import Any

from fairq.engine.brokerage.flow.plan import Plan
from fairq.steps.broker.flows import brokerages
from fairq.steps.broker.plugins import Plugins, load_plugins

Record = dict[str, Any]


def look() -> list[Record]:
    """Return a record for each filter and weight of each activity; raises BrokerPluginError."""
    plugins = load_plugins()
    return [record for activity, one in brokerages(plugins).items() for record in _of(activity, one.plan, plugins)]


def _of(activity: str, plan: Plan, plugins: Plugins) -> list[Record]:
    def record(kind: str, one: Any, stage: str, reasons: list[Record]) -> Record:
        return {
            "activity": activity,
            "kind": kind,
            "place": plan.places[one.name],
            "stage": stage,
            "name": one.name,
            "reasons": [reason["reason"] for reason in reasons],
            "origin": plugins.origin(one),
            "meanings": reasons,
        }

    def told(one: Any) -> list[Record]:
        return [
            {"reason": reason.tag, "meaning": reason.meaning, "temporary": not reason.permanent}
            for reason in one.reasons
        ]

    before = [record("filter", one, one.stage, told(one)) for one in plan.before]
    weights = [record("weight", one, "", []) for one in plan.weights]
    return [*before, *weights, *(record("filter", one, one.stage, told(one)) for one in plan.after)]
