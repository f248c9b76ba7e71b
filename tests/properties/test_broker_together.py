"""Tasks that are brokered together share what is computed for them; none may notice."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker_rules import RULES
from tests.properties.brokerage_worlds import cases
from tests.properties.test_brokerage import PLANS, told

from fairq.engine.brokerage.flow import alike, course, pipeline, weighing
from fairq.engine.brokerage.flow.alike import Reading
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plugin import InputFilter, KeyedFilter, KeyedWeight
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.activity import ANALYSIS, PRODUCTION
from fairq.engine.brokerage.pool.columns import Columns, columns_of
from fairq.engine.brokerage.pool.world import World
from fairq.steps.broker.flows import Flow, flows
from fairq.steps.broker.kept_verdict import Legend
from fairq.steps.broker.plugins import Plugins, load_plugins
from fairq.steps.broker.run import stage_order
from fairq.steps.broker.verdict import Packer, unpack

EXAMPLES = settings(max_examples=15)
SEEDS = st.integers(0, 2**32)
ACTIVITIES = {"managed": PRODUCTION, "user": ANALYSIS}

every_flow = pytest.mark.parametrize(("label", "rules"), list(product(PLANS, RULES)))


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return load_plugins()


def brokered(flow: Flow, some: list[Case], columns: Columns, rules: str) -> list[Outcome]:
    return flow.broker_all(some, columns, RULES[rules])


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_each_gets_what_it_gets_alone(plugins: Plugins, label: str, rules: str, seed: int) -> None:
    flow = flows(plugins)[ACTIVITIES[label]]
    world, some = cases(seed, label, 12)
    together = brokered(flow, some, columns_of(world), rules)
    for case, outcome in zip(some, together, strict=True):
        (alone,) = brokered(flow, [case], columns_of(world), rules)
        assert told(outcome) == told(alone), case


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_tasks_with_equal_keys_get_equal_codes(label: str, rules: str, seed: int) -> None:
    """A filter is asked for its codes only once for each key, so the key must name all that they depend on."""
    world, some = cases(seed, label, 20, oddness=0.4)
    known: dict[tuple[str, Hashable], tuple[Case, list[int]]] = {}
    for case in some:
        request = BrokerageRequest(*case, columns_of(world), RULES[rules], ACTIVITIES[label])
        for one in (*PLANS[label].before, *PLANS[label].after):
            if isinstance(one, KeyedFilter) and one.applies(request):
                codes = one.codes(request)
                told = [0] * len(request.columns) if codes is None else codes.tolist()
                first, wanted = known.setdefault((one.name, one.key(request)), (case, told))
                assert told == wanted, (one.name, first, case)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_tasks_with_equal_keys_get_equal_factors(label: str, rules: str, seed: int) -> None:
    """The factors of a weight are multiplied only once for each key, too."""
    world, some = cases(seed, label, 20, oddness=0.4)
    known: dict[tuple[str, Hashable], tuple[Case, list[float]]] = {}
    for case in some:
        request = BrokerageRequest(*case, columns_of(world), RULES[rules], ACTIVITIES[label])
        for one in PLANS[label].weights:
            if isinstance(one, KeyedWeight) and one.applies(request):
                told = one.factors(request).tolist()
                first, wanted = known.setdefault((one.name, one.key(request)), (case, told))
                assert told == wanted, (one.name, first, case)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_a_weight_is_the_product_of_its_terms_in_order(plugins: Plugins, label: str, rules: str, seed: int) -> None:
    world, some = cases(seed, label, 12)
    for outcome in brokered(flows(plugins)[ACTIVITIES[label]], some, columns_of(world), rules):
        for one in outcome.verdicts():
            assert one.weight is None or one.weight == prod(one.terms.values(), start=1.0)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_what_is_forgotten_meanwhile_changes_nothing(plugins: Plugins, label: str, rules: str, seed: int) -> None:
    flow = flows(plugins)[ACTIVITIES[label]]
    world, some = cases(seed, label, 12)
    kept = brokered(flow, some, columns_of(world), rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alike, "_KINDS_KEPT", 1)
        patch.setattr(pipeline, "_COURSES_KEPT", 1)
        patch.setattr(course, "_COUNTS_KEPT", 1)
        patch.setattr(weighing, "_KEPT", 1)
        columns = columns_of(world)
        forgotten = [brokered(flow, [case], columns, rules)[0] for case in some]
    assert list(map(told, forgotten)) == list(map(told, kept))


class Watched:
    """A task or a chunk that notes under what names it is read."""

    def __init__(self, of: Task | Chunk, noted: set[str]) -> None:
        self._of, self._noted = of, noted
        self._kind = type(of).__name__.lower()

    def __getattr__(self, name: str) -> Any:
        found = vars(type(self._of)).get(name)
        if isinstance(found, property) and found.fget is not None:
            found.fget(self)  # reads the rest under its own names
        if name == "rules":
            return WatchedRules(getattr(self._of, name), self._noted)
        if name not in ("rule", "has_rule"):
            self._noted.add(f"{self._kind}.{name}")
            return getattr(self._of, name)

        def read(code: str, *default: Any) -> Any:
            self._noted.add(f"rule {code}")
            return getattr(self._of, name)(code, *default)

        return read


class WatchedRules(dict[str, str]):
    """The rules of a task, which note which of them are read."""

    def __init__(self, of: Mapping[str, str], noted: set[str]) -> None:
        super().__init__(of)
        self._noted = noted

    def get(self, code: str, default: Any = None) -> Any:
        self._noted.add(f"rule {code}")
        return super().get(code, default)

    def __contains__(self, code: object) -> bool:
        self._noted.add(f"rule {code}")
        return super().__contains__(code)


class WatchedRequest(BrokerageRequest):
    """A request that notes what is read of it and of its task and chunk."""

    def __init__(self, case: Case, columns: Columns, rules: Rules, noted: set[str]) -> None:
        self.noted = noted
        watched: list[Any] = [Watched(one, noted) for one in case]
        super().__init__(watched[0], watched[1], columns, rules, case.task.activity)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("is_") or name in ("given", "preassigned", "local"):
            self.noted.add(name)
        return super().__getattribute__(name)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_the_codes_of_a_filter_come_from_nothing_but_its_key(label: str, rules: str, seed: int) -> None:
    world, some = cases(seed, label, 3, oddness=0.4)
    for case, one in product(some, (*PLANS[label].before, *PLANS[label].after)):
        noted: set[str] = set()
        request = WatchedRequest(case, columns_of(world), RULES[rules], noted)
        if isinstance(one, KeyedFilter) and one.applies(request):
            noted.clear()
            one.key(request)
            named = set(noted)
            noted.clear()
            one.codes(request)
            assert noted <= named, one.name


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_filters_and_weights_read_no_more_of_a_task_than_they_tell(label: str, rules: str, seed: int) -> None:
    """Tasks that agree in what it tells are asked once for all of them, but for their input."""
    world, some = cases(seed, label, 3, oddness=0.4)
    for case, one in product(some, (*PLANS[label].before, *PLANS[label].after, *PLANS[label].weights)):
        noted: set[str] = set()
        request = WatchedRequest(case, columns_of(world), RULES[rules], noted)
        if isinstance(one, (KeyedFilter, KeyedWeight)) and one.reads is not None:
            noted.clear()
            if one.applies(request):
                one.view(request) if isinstance(one, InputFilter) else one.key(request)
            read = noted - PROPERTIES
            noted.clear()
            reading = Reading([request])
            for name in one.reads:
                reading.column(name)
            assert read <= noted, one.name


PROPERTIES = {
    *("is_urgent", "is_high_priority", "is_spared", "is_spared_alone"),
    *("task.copies_input", "task.is_event_service", "task.most_cores"),
}
"""What these read is noted as well."""


@EXAMPLES
@given(seed=SEEDS)
@pytest.mark.parametrize("label", PLANS)
def test_the_other_rules_on_the_same_queues_change_nothing(plugins: Plugins, label: str, seed: int) -> None:
    """So 'broker why --compare' asks."""
    flow = flows(plugins)[ACTIVITIES[label]]
    world, some = cases(seed, label, 5)
    shared = columns_of(world)
    for rules in (*RULES, *RULES):
        alone = brokered(flow, some, columns_of(world), rules)
        assert list(map(told, brokered(flow, some, shared, rules))) == list(map(told, alone))


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_what_is_stored_of_them_is_read_as_it_was(plugins: Plugins, label: str, rules: str, seed: int) -> None:
    by_activity = flows(plugins)
    world, some = cases(seed, label, 8)
    columns = columns_of(world)
    packer = Packer(columns.names, {activity: stage_order(flow.plan) for activity, flow in by_activity.items()})
    outcomes = brokered(by_activity[ACTIVITIES[label]], some, columns, rules)
    stored = [packer.pack(outcome) for outcome in outcomes]
    legend = Legend(packer.document())
    for outcome, data in zip(outcomes, stored, strict=True):
        kept = unpack(data, legend)
        assert kept.activity == outcome.request.activity
        assert kept.stopped_by == outcome.stopped_by
        assert kept.stages == outcome.stages
        assert kept.candidates == [(one.queue, one.weight) for one in outcome.candidates] == outcome.best
        assert kept.decided.tolist() == outcome.decided.tolist()
        weights = [one.weight for one in outcome.verdicts()]
        assert np.isnan(kept.weights).tolist() == [weight is None for weight in weights]
        wanted = [np.float32(weight) for weight in weights if weight is not None]
        assert kept.weights[~np.isnan(kept.weights)].tolist() == wanted


@every_flow
def test_a_pool_without_queues_has_a_stage_of_none(plugins: Plugins, label: str, rules: str) -> None:
    flow = flows(plugins)[ACTIVITIES[label]]
    outcomes = brokered(flow, [Case(Task(label=label), Chunk())] * 2, columns_of(World(now=0)), rules)
    for outcome in outcomes:
        assert (outcome.status, outcome.candidates, list(outcome.verdicts())) == ("failed", [], [])
        assert outcome.stopped_by or {one[1:] for one in outcome.stages} == {(0, 0, 0, 0, 0)}
        assert not outcome.stopped_by or outcome.stages == []
