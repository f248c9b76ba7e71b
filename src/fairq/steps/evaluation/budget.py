"""The evaluation budget of a cycle or a command, with its measurement and enforcement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairq.engine.classad.budget import EvaluationBudget, Limit
from fairq.errors.base import EvaluationBudgetError
from fairq.steps.current import settings_in_force
from fairq.steps.evaluation.guard import guarded
from fairq.steps.evaluation.spelling import spelled

if TYPE_CHECKING:
    from fairq.engine.classad import Expression
    from fairq.settings import Settings


def evaluation_budget(settings: Settings) -> EvaluationBudget:
    """Return a new budget with the seconds in *settings*."""
    names = {
        entry.value: entry.key.macros[0] if entry.key.macros else entry.name
        for entry in settings
        if entry.key.type == "expression" and entry.value
    }
    return EvaluationBudget(settings["negotiator.evaluation_budget"], time.process_time, guarded, names)


def listing_budget() -> EvaluationBudget:
    """Return a new budget for the expressions of one listing."""
    return evaluation_budget(settings_in_force.get()())


def evaluated(expression: Expression, records: Iterable[Mapping[str, Any]], budget: EvaluationBudget) -> Iterator[Any]:
    """Yield the value of *expression* in each of *records*.

    Raises:
        EvaluationBudgetError: the evaluation takes longer than *budget*.
    """
    from fairq.engine.classad import evaluate_each

    for value in evaluate_each(expression, map(spelled, records), budget):
        check(budget)
        yield value


def check(budget: EvaluationBudget) -> None:
    """Raise EvaluationBudgetError if anything took longer than *budget*."""
    for one in budget.overruns:
        raise overrun(one.culprit.text, budget, one.limit)


def overrun(text: str, budget: EvaluationBudget, limit: Limit = Limit.KIND) -> EvaluationBudgetError:
    """Return the error for the expression *text*, which used up that *limit*."""
    most = f"{budget.seconds:g} s of CPU"
    if limit in (Limit.MEMORY, Limit.CRASH):
        most = "the memory, or the depth, that one evaluation may have"
    return EvaluationBudgetError(expression=text, limit=most)
