"""A budget of evaluation, with a meter that the test moves."""

from __future__ import annotations

import pytest

from fairq.engine.classad import (
    ERROR,
    AdColumns,
    EvaluationBudget,
    evaluate_each,
    evaluate_in_ad,
    evaluate_in_columns,
    parse,
)
from fairq.engine.classad.budget import Culprit, Ending, Guarded, Limit, Payer

RISKY = "/Expr(eval(Name) =!= 0)/"
JOB = {"Requirements": RISKY, "Memory": 4}


class Meter:
    """Every look at it takes a second."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def pool(count, budget, **more):
    return AdColumns([{"Name": f"slot{n}", "Memory": n, **more} for n in range(count)], 0, budget)


def kinds(slots, job=JOB):
    values = evaluate_in_ad(parse(job["Requirements"][6:-2]), job, slots)
    return [values.python(row) for row in range(len(slots))]


@pytest.fixture
def budget():
    return EvaluationBudget(3.5, Meter())


def test_what_was_evaluated_in_time_stands_and_the_rest_is_an_error(budget):
    assert kinds(pool(12, budget)) == [*[True] * 7, *[ERROR] * 5]


def test_the_expression_is_named_with_who_asked(budget):
    budget.payer = Payer("alice@x", 7, (12, 0))

    kinds(pool(10, budget))

    (overrun,) = budget.overruns
    assert overrun.payer == Payer("alice@x", 7, (12, 0))
    assert (overrun.culprit.name, overrun.culprit.text) == ("requirements", RISKY[6:-2])
    assert (overrun.limit, overrun.errors) == (Limit.KIND, 3)


def test_another_kind_of_job_has_a_budget_of_its_own(budget):
    slots = pool(10, budget)
    for kind in (1, 2):
        budget.payer = Payer("alice@x", kind)
        assert kinds(slots).count(ERROR) == 3
    budget.payer = Payer("alice@x", 1)
    assert kinds(slots).count(ERROR) == 10


def test_one_submitter_cannot_multiply_the_budget_by_kinds_of_jobs(budget):
    slots = pool(100, budget)
    for kind in range(200):
        budget.payer = Payer("alice@x", kind)
        kinds(slots, {**JOB, "Requirements": f"/Expr(eval(Name) =!= {kind})/"})

    assert budget.meter() < 2 * 3.5 + 10
    assert {overrun.limit for overrun in budget.overruns} == {Limit.KIND, Limit.SUBMITTER}
    budget.payer = Payer("bob@x", 1000)
    assert kinds(slots).count(ERROR) == 93


def test_many_submitters_cannot_multiply_it_either(budget):
    slots = pool(100, budget)
    for kind in range(200):
        budget.payer = Payer(f"user{kind}@x", kind)
        kinds(slots, {**JOB, "Requirements": f"/Expr(eval(Name) =!= {kind})/"})

    assert budget.meter() < 6 * 3.5 + 20
    assert budget.overruns[-1].limit is Limit.CYCLE


def test_ordinary_expressions_do_not_hang_on_what_others_used_up():
    now = [0.0]
    budget = EvaluationBudget(0.0, lambda: now[0])

    assert (
        kinds(
            pool(50, budget), {"Requirements": "/Expr(TARGET.Memory > 10 && RequestMemory > 2)/", "RequestMemory": 5}
        ).count(True)
        == 39
    )
    assert not budget.overruns


def test_what_took_longer_than_was_left_leaves_the_free_part_of_the_others():
    """An evaluation is ended a little late; the expressions that follow are evaluated all the same."""
    now = [0.0]
    budget = EvaluationBudget(0.5, lambda: now[0], lambda work, seconds: Guarded([], Ending.TIME, seconds + 0.2))
    slots = pool(20, budget)

    assert kinds(slots) == [ERROR] * 20
    assert kinds(slots, {"Requirements": "/Expr(TARGET.Memory > 9)/"}).count(True) == 10
    assert [overrun.culprit.text for overrun in budget.overruns] == [RISKY[6:-2]]


def test_a_slot_s_own_expression_does_no_harm_to_the_others(budget):
    ads = [{"Name": f"slot{n}", "Memory": n, "Requirements": "/Expr(Memory > 1)/"} for n in range(8)]
    ads[0]["Requirements"] = "/Expr(START)/"
    ads[0]["START"] = "/Expr(eval(TARGET.Owner) =?= 1)/"
    slots = AdColumns(ads, 0, EvaluationBudget(0.5, Meter()))

    values = evaluate_in_columns("Requirements", slots, {"Owner": "x"})

    assert [values.python(row) for row in range(8)] == [ERROR, False, *[True] * 6]
    (overrun,) = slots.budget.overruns  # type: ignore[union-attr]
    assert overrun.culprit == Culprit("start", "eval(TARGET.Owner) =?= 1", of_slot=True)


def test_what_is_risky_is_left_to_the_guard_with_the_time_that_is_left(budget):
    seconds_asked: list[float] = []

    def guard(work, seconds):
        seconds_asked.append(seconds)
        values = work()
        return Guarded([next(values), next(values)], Ending.MEMORY, 1.0)

    budget.guard = guard
    slots = pool(5, budget)

    assert kinds(slots) == [True, True, True, ERROR, ERROR]
    assert kinds(slots) == [ERROR] * 5
    assert seconds_asked == [3.5]
    assert budget.overruns[0].limit is Limit.MEMORY


def test_a_listing_is_evaluated_in_time_or_says_so(budget):
    ads = [{"Name": f"slot{n}"} for n in range(6)]

    values = list(evaluate_each(parse("eval(Name) =!= 0"), ads, budget))

    assert values == [True, True, True, ERROR, ERROR, ERROR]
    assert budget.overruns[0].culprit.text == "eval(Name) =!= 0"


def test_slots_that_all_have_expressions_of_their_own_are_told_apart(budget):
    """The one hostile slot among many different ones is found, and so are a few more than are told apart."""
    ads = [{"Name": f"slot{n}", "Memory": n, "START": f"/Expr(Memory >= {n % 2} && {n} > -1)/"} for n in range(100)]
    for hostile in range(40, 60):
        ads[hostile]["START"] = f"/Expr(eval(Name) =!= {hostile})/"
    slots = AdColumns(ads, 0, EvaluationBudget(1e9, Meter()))

    values = evaluate_in_columns("START", slots, {})

    assert [values.python(row) for row in range(100)] == [True] * 100
