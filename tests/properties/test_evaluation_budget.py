"""A budget that is not used up changes no value, by whichever way an expression is evaluated."""

import time
from unittest.mock import patch

from hypothesis import example, given, settings
from tests.properties.test_columnar import expressions, jobs, slots

from fairq.engine.classad import AdColumns, EvaluationBudget, evaluate_in_ad, evaluate_in_columns, evaluation, parse
from fairq.steps.evaluation.guard import guarded


def values(text, job, pool, budget):
    columns = AdColumns(pool, 1_795_210_080, budget)
    expression = parse(text)
    both = (evaluate_in_ad(expression, job, columns), evaluate_in_columns(expression, columns, job))
    return [f"{type(value).__name__} {value}" for found in both for value in map(found.python, range(len(pool)))]


def budget(**more):
    return EvaluationBudget(1000.0, time.process_time, **more)


@given(expressions, jobs, slots)
def test_in_batches(text, job, pool):
    """
    Slots may be taken one by one.
    """
    with patch.object(evaluation, "BATCH", 1):
        assert values(text, job, pool, budget()) == values(text, job, pool, None)


@given(expressions, jobs, slots)
def test_by_the_library_alone(text, job, pool):
    """
    What goes to the guard is evaluated by HTCondor's library, slot by slot.
    """
    with patch.object(evaluation, "UNGUARDED", 0):
        assert values(text, job, pool, budget()) == values(text, job, pool, None)


@settings(max_examples=25)
@given(expressions, jobs, slots)
@example("list", {}, [{"A": 1, "List": {"A": 0, "x": "/Expr(A)/"}}])
def test_in_another_process(text, job, pool):
    """
    Values come back from the process that computed them.
    """
    with patch.object(evaluation, "UNGUARDED", 0):
        assert values(text, job, pool, budget(guard=guarded)) == values(text, job, pool, None)
