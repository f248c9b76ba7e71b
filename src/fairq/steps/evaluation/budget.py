"""The evaluation budget of a cycle or a command, with its measurement and enforcement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from fairq.common.expression_form import may_read
from fairq.engine.classad.budget import EvaluationBudget, Limit
from fairq.errors.base import EvaluationBudgetError
from fairq.steps.current import settings_in_force
from fairq.steps.evaluation.guard import guarded

if TYPE_CHECKING:
    from fairq.engine.classad import Expression
    from fairq.settings import Settings


_BATCH = 1000
"""Records evaluated together."""

_MANY = 200
"""Records that take longer to evaluate one by one than NumPy takes to be loaded."""


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
    """Yield the value of *expression* in each of *records*; ``time()`` is the clock's, as in HTCondor's tools.

    Raises:
        EvaluationBudgetError: the evaluation takes longer than *budget*.
    """
    from fairq.engine.classad import evaluate_each
    from fairq.engine.classad.scalar import decides_alone
    from fairq.steps.evaluation.member_names import spelled

    by_column = decides_alone(expression)
    parts = _parts_read(expression, map(spelled, records))
    while batch := list(islice(parts, _BATCH)):
        ads = [ad for ad, _ in batch]
        if by_column and len(batch) >= _MANY and all(plain for _, plain in batch):
            values: Iterable[Any] = _evaluated_by_column(expression, ads, budget)
        else:
            values = evaluate_each(expression, ads, budget, now=int(time.time()))
        for value in values:
            check(budget)
            yield value


def is_true(value: Any) -> bool:
    """Return whether the value of a condition counts as true: a number other than 0 does, as in HTCondor's tools."""
    return isinstance(value, bool | int | float) and bool(value)


def _evaluated_by_column(
    expression: Expression, ads: Sequence[Mapping[str, Any]], budget: EvaluationBudget
) -> Iterator[Any]:
    from fairq.engine.classad import AdColumns, evaluate_in_columns

    values = evaluate_in_columns(expression, AdColumns(ads, int(time.time()), budget), {})
    return map(values.python, range(len(ads)))


def _parts_read(
    expression: Expression, records: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield the attributes of each record that *expression* reads, and whether all are plain values, which are faster.

    A record in which it reads an expression, a list or an ad is yielded as a whole, because these may read more.
    """
    from fairq.engine.classad import EVERY_ATTRIBUTE
    from fairq.engine.classad.references import RESERVED
    from fairq.engine.classad.scalar import names_read

    names = names_read(expression)
    if EVERY_ATTRIBUTE in names:
        yield from ((record, False) for record in records)
        return
    shapes: dict[tuple[str, ...], list[str] | None] = {}
    for record in records:
        shape = tuple(record)
        if shape not in shapes:
            # An attribute with the name of a scope, such as Other, hides that scope.
            hides = any(name.lower() in RESERVED for name in shape)
            shapes[shape] = None if hides else [name for name in shape if name.lower() in names]
        read = shapes[shape]
        part = record if read is None else {name: record[name] for name in read}
        yield (record, False) if read is None or any(map(may_read, part.values())) else (part, True)


def check(budget: EvaluationBudget) -> None:
    """Raise EvaluationBudgetError if anything took longer than *budget*."""
    for exceeded in budget.overruns:
        raise overrun(exceeded.culprit.text, budget, exceeded.limit)


def overrun(text: str, budget: EvaluationBudget, limit: Limit = Limit.KIND) -> EvaluationBudgetError:
    """Return the error for the expression *text*, which used up that *limit*."""
    maximum = f"{budget.seconds:g} s of CPU"
    if limit in (Limit.MEMORY, Limit.CRASH):
        maximum = "the memory, or the depth, that one evaluation may have"
    return EvaluationBudgetError(expression=text, limit=maximum)
