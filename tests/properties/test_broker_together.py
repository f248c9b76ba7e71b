"""Tasks that are brokered together share what is computed for them; none may notice."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker_rules import RULES
from tests.properties.brokerage_worlds import cases
from tests.properties.test_brokerage import PLANS, told

from fairq.engine.brokerage.flow import flow
from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, World
from fairq.steps.broker.flows import broker, plans_of
from fairq.steps.broker.kept_verdict import legend_of, unpack
from fairq.steps.broker.packer import Packer
from fairq.steps.broker.plugins import load_plugins

EXAMPLES = settings(max_examples=10)
SEEDS = st.integers(0, 2**32)
ACTIVITIES = {"managed": PRODUCTION, "user": ANALYSIS}

every_flow = pytest.mark.parametrize(("label", "rules"), list(product(PLANS, RULES)))


@pytest.fixture(scope="module")
def plans():
    return plans_of(load_plugins())


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_each_gets_what_it_gets_alone(plans, label, rules, seed):
    plan = plans[ACTIVITIES[label]]
    world, some = cases(seed, label, 12)
    together = broker(some, Pool(world, RULES[rules]), plan)
    for case, outcome in zip(some, together, strict=True):
        (alone,) = broker([case], Pool(world, RULES[rules]), plan)
        assert told(outcome) == told(alone), case


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_tasks_with_equal_keys_get_equal_answers(label, rules, seed):
    """A filter is asked only once for each key, so the key must name all that the answer depends on."""
    world, some = cases(seed, label, 20, oddness=0.4)
    known: dict[Hashable, list[int]] = {}
    for outcome in broker(some, Pool(world, RULES[rules]), PLANS[label]):
        ask = outcome.ask  # in the last pass
        for one in PLANS[label].before:
            values = one.reads(ask)
            if values is None or one.looks_back or not one.kept:
                continue
            codes = np.zeros(len(ask.pool), int)
            for reason, rows, _ in one.judge(ask.pool, *values) or ():
                codes[rows & (codes == 0)] = 1 + one.reasons.index(reason)
            key = one.name, values if one.alike is None else one.alike(ask.pool, *values)
            assert known.setdefault(key, codes.tolist()) == codes.tolist(), (one.name, values)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_what_does_not_apply_to_a_task_has_nothing_to_say_of_it(label, rules, seed):
    """Each queue is refused for the first reason among all filters that refuse it."""
    world, some = cases(seed, label, 4, oddness=0.4)
    for outcome in broker(some, Pool(world, RULES[rules]), PLANS[label]):
        if outcome.stopped_by:
            continue
        for row, number in enumerate(outcome.decided.tolist()):
            tags = [one.reason.tag for one in outcome.obstacles(row)]
            assert (number == UNDECIDED) or PLANS[label].reasons[number].reason.tag in tags


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_a_weight_is_the_product_of_its_terms_in_order(plans, label, rules, seed):
    world, some = cases(seed, label, 12)
    for outcome in broker(some, Pool(world, RULES[rules]), plans[ACTIVITIES[label]]):
        for one in outcome.verdicts():
            assert one.weight is None or one.weight == prod(one.terms.values(), start=1.0)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_what_is_forgotten_meanwhile_changes_nothing(plans, label, rules, seed):
    plan = plans[ACTIVITIES[label]]
    world, some = cases(seed, label, 12)
    kept = broker(some, Pool(world, RULES[rules]), plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "KEPT_BYTES", 1)
        pool = Pool(world, RULES[rules])
        forgotten = [broker([case], pool, plan)[0] for case in some]
    assert list(map(told, forgotten)) == list(map(told, kept))


@EXAMPLES
@given(seed=SEEDS)
@pytest.mark.parametrize("label", PLANS)
def test_the_other_rules_on_the_same_queues_change_nothing(plans, label, seed):
    """So 'broker why --compare' asks."""
    plan = plans[ACTIVITIES[label]]
    world, some = cases(seed, label, 5)
    shared = Pool(world, RULES["documented"])
    for rules in (*RULES.values(), *RULES.values()):
        alone = broker(some, Pool(world, rules), plan)
        assert list(map(told, broker(some, shared.with_rules(rules), plan))) == list(map(told, alone))


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_what_is_stored_of_them_is_read_as_it_was(plans, label, rules, seed):
    world, some = cases(seed, label, 8)
    pool = Pool(world, RULES[rules])
    packer = Packer(pool.names, plans)
    outcomes = broker(some, pool, plans[ACTIVITIES[label]])
    stored = [packer.pack(outcome) for outcome in outcomes]
    legend = legend_of(packer.legend.document())
    for outcome, data in zip(outcomes, stored, strict=True):
        kept = unpack(data, legend)
        assert kept.activity == outcome.ask.activity
        assert kept.stopped_by == outcome.stopped_by
        assert kept.stages == outcome.stages
        assert kept.candidates == [(one.queue, one.weight) for one in outcome.candidates] == outcome.best
        assert kept.decided.tolist() == outcome.decided.tolist()
        weights = [one.weight for one in outcome.verdicts()]
        assert np.isnan(kept.weights).tolist() == [weight is None for weight in weights]
        wanted = [np.float32(weight) for weight in weights if weight is not None]
        assert kept.weights[~np.isnan(kept.weights)].tolist() == wanted


@every_flow
def test_a_pool_without_queues_has_a_stage_of_none(plans, label, rules):
    plan = plans[ACTIVITIES[label]]
    outcomes = broker([Case(Task(label=label), Chunk())] * 2, Pool(World(now=0), RULES[rules]), plan)
    for outcome in outcomes:
        assert (outcome.status, outcome.candidates, list(outcome.verdicts())) == ("failed", [], [])
        assert outcome.stopped_by or {one[1:] for one in outcome.stages} == {(0, 0, 0, 0, 0)}
        assert not outcome.stopped_by or outcome.stages == []
