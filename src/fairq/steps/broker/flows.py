"""The two flows, with the plugins' filters and weights, and the rules in force."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from fairq.engine.brokerage.analysis import analysis_plan, broker_analysis
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Weight
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity
from fairq.engine.brokerage.production import broker_production, production_plan
from fairq.settings.key import PANDA
from fairq.settings.rule_points.panda import POINTS
from fairq.state.connection import State
from fairq.steps.broker.plugins import Plugins, load_plugins
from fairq.steps.broker.tasks import Brokered, each_brokered
from fairq.steps.broker.world import load_types

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


def plans_of(plugins: Plugins) -> dict[Activity, Plan]:
    """Return the flow of each activity."""
    return {
        PRODUCTION: production_plan(plugins.filters, plugins.weights),
        ANALYSIS: analysis_plan(plugins.filters, plugins.weights),
    }


def broker(cases: Iterable[Case], pool: Pool, plan: Plan) -> list[Outcome]:
    """Return the outcome for each of *cases*, which are of the activity of *plan*."""
    return (broker_production if plan.activity == PRODUCTION else broker_analysis)(cases, pool, plan)


_AT_ONCE = 100
"""Tasks brokered together: few enough that their data stays in the processor's caches."""

Watch = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Starts a progress display for a total number of tasks; yields a function called with the number newly done."""


@contextmanager
def unwatched(total: int) -> Iterator[Callable[[int], None]]:
    """Show no progress."""
    yield lambda steps: None


def broker_in_turn(
    state: State, numbers: Collection[int], pool: Pool, plans: Mapping[Activity, Plan], watch: Watch
) -> Iterator[list[tuple[Brokered, Outcome]]]:
    """Broker the tasks with these *numbers* and yield some at a time with their outcomes, to limit the memory in use.

    *watch* shows the progress.
    """
    remaining = each_brokered(state, load_types(state), numbers)
    with watch(len(numbers)) as advance:
        while batch := list(islice(remaining, _AT_ONCE)):
            yield _brokered(batch, pool, plans)
            advance(len(batch))


def _brokered(batch: Sequence[Brokered], pool: Pool, plans: Mapping[Activity, Plan]) -> list[tuple[Brokered, Outcome]]:
    outcomes: dict[int, Outcome] = {}
    for activity, plan in plans.items():
        cases = [brokered.case for brokered in batch if brokered.case.task.activity == activity]
        outcomes |= zip((case.task.task_id for case in cases), broker(cases, pool, plan), strict=True)
    return [(brokered, outcomes[brokered.case.task.task_id]) for brokered in batch]


Record = dict[str, Any]


def list_filters() -> list[Record]:
    """Return a record for each filter and weight of each activity; raises BrokerPluginError."""
    plugins = load_plugins()

    def record(plan: Plan, member: Filter | Weight) -> Record:
        kind, stage, reasons = (
            ("filter", member.stage, member.reasons) if isinstance(member, Filter) else ("weight", "", ())
        )
        return {
            "activity": plan.activity,
            "kind": kind,
            "place": plan.places[member.name],
            "stage": stage,
            "name": member.name,
            "reasons": [reason.tag for reason in reasons],
            "origin": plugins.origins.get(member.name, "fairq"),
            "meanings": [
                {"reason": reason.tag, "meaning": reason.meaning, "temporary": not reason.permanent}
                for reason in reasons
            ],
        }

    records = []
    for plan in plans_of(plugins).values():
        members: list[Filter | Weight] = [*plan.before, *plan.weights, *plan.after]
        records += [record(plan, member) for member in members]
    return records
