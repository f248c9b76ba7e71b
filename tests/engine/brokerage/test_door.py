"""Filters and weights of others come through the door that fairq's own come through."""

import pytest
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import ask, chunk, names, pool, queue, task, verdict
from tests.engine.brokerage.test_analysis import user_task, users_pool

from fairq.engine.brokerage.analysis import FILTERS as ANALYSIS_FILTERS
from fairq.engine.brokerage.analysis import analysis_plan, broker_analysis
from fairq.engine.brokerage.flow.plugin import (
    Filter,
    Reason,
    Refusal,
    Weight,
    per_queue,
    per_queue_weight,
    refuses,
)
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import ANALYSIS
from fairq.engine.brokerage.production import FILTERS, WEIGHTS, broker_production, production_plan

GREEN = Reason("not_green", "the queue runs on coal")


def is_brown(task, queue, world):
    """The site's own word for its power."""
    power = queue.params.get("power")
    return {"power": power} if power == "coal" else None


def test_a_rule_about_one_queue_becomes_a_filter():
    plan = production_plan([*FILTERS, per_queue("green", GREEN, is_brown)])
    outcome = ask(pool(queue("WIND"), queue("COAL", params={"power": "coal"})), plan=plan)
    coal = verdict(outcome, "COAL")
    assert (coal.reason, coal.stage, coal.details) == ("not_green", "green", {"power": "coal"})
    assert "WIND" in names(outcome)
    line = next(line for line in outcome.stages if line.stage == "green")
    assert (line.units_before, line.units_after) == (3, 2)


def test_a_temporary_reason_is_sorted_out_with_the_others():
    """Until then the queue is counted, and a final reason of a later filter is told instead."""
    soon = per_queue("green", GREEN._replace(permanent=False), is_brown, place=450)
    outcome = ask(pool(queue("COAL", params={"power": "coal"})), plan=production_plan([*FILTERS, soon]))
    counts = {line.stage: line.units_after for line in outcome.stages}
    assert (counts["green"], counts["pilot check"], counts["temporary problem check"]) == (2, 2, 1)
    late = per_queue("late", Reason("late", "last"), lambda *_: True)
    outcome = ask(pool(queue("COAL", params={"power": "coal"})), plan=production_plan([*FILTERS, soon, late]))
    assert verdict(outcome, "COAL").reason == "late"


def test_a_temporary_reason_has_a_line_in_analysis_where_only_filters_of_others_have_any():
    soon = per_queue("green", GREEN._replace(permanent=False), is_brown, activities=(ANALYSIS,))
    plan = analysis_plan([*ANALYSIS_FILTERS, soon])
    for params, counts in (({}, []), ({"power": "coal"}, [(3, 2)])):
        world = users_pool(queue("COAL", params=params), queue("WIND"), replicas={})
        (outcome,) = broker_analysis([Case(user_task(), chunk())], Pool(world, DOCUMENTED), plan)
        lines = [line for line in outcome.stages if line.stage == "temporary problem check"]
        assert [(line.units_before, line.units_after) for line in lines] == counts


def test_a_filter_may_look_at_weighed_queues():
    odd = per_queue("odd", Reason("odd", "of that name"), lambda task, queue, world: queue.name == "Q",
                    stage="final check", place=3050, phase="after")  # fmt: skip
    refused = verdict(ask(pool(queue("Q")), plan=production_plan([*FILTERS, odd])), "Q")
    assert refused.reason == "odd"
    assert refused.weight is not None


def test_a_filter_reads_the_weight_of_each_queue():
    reason = Reason("light", "lighter than the best")

    @refuses("light", "final check", reason, reads=lambda ask: (), looks_back=True, phase="after", place=3050)
    def light(pool, remaining):
        yield Refusal(reason, remaining.weights < remaining.weights[remaining.rows].max())

    wind = per_queue_weight("wind", lambda task, queue, world: 3.0 if queue.name == "WIND" else 1.0)
    plan = production_plan([*FILTERS, light], [*WEIGHTS, wind])
    outcome = ask(pool(queue("WIND"), queue("COAL")), plan=plan)
    assert (verdict(outcome, "WIND").reason, verdict(outcome, "COAL").reason) == ("", "light")


def test_a_weight_of_others_is_one_more_factor():
    wind = per_queue_weight("wind", lambda task, queue, world: 3.0 if queue.name == "WIND" else 1.0)
    plan = production_plan(weights=[*WEIGHTS, wind])
    world = pool(queue("WIND"), queue("COAL"))
    after, before = verdict(ask(world, plan=plan), "WIND"), verdict(ask(world), "WIND")
    assert after.terms["wind"] == 3
    assert after.weight == pytest.approx(3 * before.weight)
    assert verdict(ask(world, plan=plan), "COAL").weight == verdict(ask(world), "COAL").weight


def test_what_is_for_analysis_takes_no_part_in_production():
    other = per_queue("green", GREEN, is_brown, activities=frozenset({ANALYSIS}))
    outcome = ask(pool(queue("COAL", params={"power": "coal"})), plan=production_plan([*FILTERS, other]))
    assert "COAL" in names(outcome)


def test_fairq_s_own_have_the_shape_that_is_asked_of_others():
    assert all(isinstance(member, Filter) for member in FILTERS)
    assert all(isinstance(member, Weight) for member in WEIGHTS)
    assert len({member.name for member in FILTERS}) == len(FILTERS)
    assert all(member.reasons for member in FILTERS)


def test_a_filter_that_tells_what_it_reads_is_asked_once_for_equal_values():
    cores_judged = []
    reason = Reason("small", "too few cores")

    @refuses("small", "small check", reason, reads=lambda ask: (ask.task.core_count,))
    def small(pool, cores):
        cores_judged.append(cores)
        yield Refusal(reason, pool.numbers("corecount", lambda queue: queue.corecount) < cores)

    plan, queues = production_plan([*FILTERS, small]), Pool(pool(queue("Q")), DOCUMENTED)
    for cores in (1, 8, 1, 8):
        (outcome,) = broker_production([Case(task(core_count=cores), chunk())], queues, plan)
        assert (outcome.verdict(queues.rows["Q"]).reason != "") is (cores == 8)
    assert cores_judged.count(1) == 1


def test_stages_that_do_not_apply_have_no_line():
    lines = [line.stage for line in ask(pool(queue("Q")), task(), rules=PANDA).stages]
    assert "SW/HW check" not in lines
    assert lines[-2:] == ["temporary problem check", "final check"]
