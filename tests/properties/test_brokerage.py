"""What holds for every pool and every task that PanDA's brokerage is asked about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.broker_rules import RULES
from tests.properties.brokerage_worlds import asked, with_one_more

from fairq.engine.brokerage.analysis import SECOND_PASS, analysis_plan, broker_analysis
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import World
from fairq.engine.brokerage.production import broker_production, production_plan

PLANS = {"managed": production_plan(), "user": analysis_plan()}
"""The plan of each flow, by the label of a task that takes it."""

EXAMPLES = settings(max_examples=25)
SEEDS = st.integers(0, 2**32)

every_flow = pytest.mark.parametrize(("label", "rules"), list(product(PLANS, RULES)))


def broker(world, task, chunk, rules):
    flow = broker_production if task.label == "managed" else broker_analysis
    (outcome,) = flow([Case(task, chunk)], Pool(world, RULES[rules]), PLANS[task.label])
    return outcome


def brokered(label, rules, seed):
    case = asked(seed, label)
    return broker(case.world, case.task, case.chunk, rules)


@pytest.mark.parametrize("label", PLANS)
def test_the_cases_reach_every_end_of_the_flow(label):
    """Otherwise what is said here would say little."""
    outcomes = [brokered(label, "documented", seed) for seed in range(300)]
    assert sum(bool(outcome.candidates) for outcome in outcomes) > 50
    assert sum(len(outcome.candidates) > 3 for outcome in outcomes) > 10
    assert len({one.reason for outcome in outcomes for one in outcome.verdicts()}) > 20


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_a_queue_is_either_a_candidate_or_has_exactly_one_deciding_reason(label, rules, seed):
    outcome = brokered(label, rules, seed)
    chosen = [candidate.queue for candidate in outcome.candidates]
    verdicts = list(outcome.verdicts())
    assert len({one.queue for one in verdicts}) == len(verdicts) == len(outcome.ask.pool)
    assert len(set(chosen)) == len(chosen)
    for one in verdicts:
        assert bool(one.reason) != (one.queue in chosen), f"{one.queue}: {one.reason or 'no reason'}"
    assert (outcome.status == "assigned") == bool(chosen)
    assert (outcome.retry_after is None) == bool(chosen)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_weights_are_finite_whatever_is_counted(label, rules, seed):
    outcome = brokered(label, rules, seed)
    for one in outcome.verdicts():
        if one.weight is not None:
            assert math.isfinite(one.weight)
            assert one.weight >= 0
            assert all(math.isfinite(term) for term in one.terms.values())
    assert all(math.isfinite(candidate.weight) for candidate in outcome.candidates)


@pytest.mark.parametrize(("label", "rules"), [*product(["managed"], RULES), ("user", "documented")])
@EXAMPLES
@given(seed=SEEDS)
def test_one_more_queue_changes_no_other_ones_weight(label, rules, seed):
    """In PanDA's code the analysis weight is a part of the room that all queues have, so there it does."""
    case = asked(seed, label)
    more = with_one_more(case.world, case.more)
    before = {one.queue: one.weight for one in broker(case.world, case.task, case.chunk, rules).verdicts()}
    after = {one.queue: one.weight for one in broker(more, case.task, case.chunk, rules).verdicts()}
    for name, weight in before.items():
        # Which queues are weighed at all may change: some filters look away when they would leave nothing.
        if weight is not None and after[name] is not None:
            assert after[name] == weight


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_the_same_pool_gives_the_same_result_in_whatever_order_it_is_told(label, rules, seed):
    case = asked(seed, label)
    first = broker(case.world, case.task, case.chunk, rules)
    assert told(broker(case.world, case.task, case.chunk, rules)) == told(first)
    assert told(broker(backwards(case.world), case.task, case.chunk, rules)) == told(first)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_the_stages_only_lose_queues_and_follow_one_another(label, rules, seed):
    outcome = brokered(label, rules, seed)
    for stage in outcome.stages:
        assert 0 <= stage.rows_after <= stage.rows_before
        assert 0 <= stage.units_after <= stage.units_before
    for before, after in zip(outcome.stages, outcome.stages[1:], strict=False):
        if after.stage != SECOND_PASS:  # which begins with all queues again
            assert (before.rows_after, before.units_after) == (after.rows_before, after.units_before)


@every_flow
@EXAMPLES
@given(seed=SEEDS)
def test_candidates_come_as_they_are_taken(label, rules, seed):
    case = asked(seed, label)
    candidates = broker(case.world, case.task, case.chunk, rules).candidates
    if label == "managed":
        assert len([one for one in candidates if not one.jumbo]) <= 10
    used = case.world.used_queues[1] if (label, rules) == ("user", "panda") else frozenset()
    order = [(one.unit not in used, not one.bootstrap, -one.weight, one.queue) for one in candidates]
    assert order == sorted(order)


def told(outcome):
    return outcome.status, outcome.candidates, outcome.stages, list(outcome.verdicts()), outcome.stopped_by


def backwards(world):
    """Return the same pool with everything told the other way round, but for the queues: a nucleus has a first one."""
    changed: dict[str, Any] = {}
    for name in World.__struct_fields__:
        value = getattr(world, name)
        if name == "queues":
            continue
        if isinstance(value, Mapping):
            changed[name] = dict(reversed(list(value.items())))
        elif name in ("slots", "links"):
            changed[name] = tuple(reversed(value))
    return replace(world, **changed)
