"""Evaluation under guard: yield one value after the other, in a form that another process can send back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.classad.budget import Ending, EvaluationBudget, Guarded, Limit
from fairq.engine.classad.library import library, tree

LIMITS: Final = {Ending.MEMORY: Limit.MEMORY, Ending.CRASH: Limit.CRASH}
"""The limit that each ending used up; for any other ending, the limit on the CPU time counts."""


class _Text(Struct, frozen=True):
    """The text of a value that only the library has: a nested ad or an expression."""

    text: str
    is_ad: bool


def run(work: Callable[[], Iterator[Any]], seconds: float, budget: EvaluationBudget) -> Guarded:
    """Return the values that *work* yields under *budget*'s guard, until it has used *seconds* of CPU time."""
    if seconds <= 0:
        return Guarded([], Ending.TIME, 0.0)
    if budget.guard is None:
        return _in_turn(work, seconds, budget)
    guarded = budget.guard(lambda: map(_sendable, work()), seconds)
    return replace(guarded, results=[_received(value) for value in guarded.results])


def _in_turn(work: Callable[[], Iterator[Any]], seconds: float, budget: EvaluationBudget) -> Guarded:
    results: list[Any] = []
    start = budget.meter()
    used = 0.0
    for value in work():
        used = budget.meter() - start
        if used > seconds:
            return Guarded(results, Ending.TIME, used)
        results.append(value)
    return Guarded(results, Ending.DONE, used)


def _sendable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_sendable(part) for part in value]
    if isinstance(value, library().ClassAd | library().ExprTree):
        return _Text(str(value), isinstance(value, library().ClassAd))
    return value


def _received(value: Any) -> Any:
    if isinstance(value, list):
        return [_received(part) for part in value]
    if not isinstance(value, _Text):
        return value
    return library().ClassAd(value.text) if value.is_ad else tree(value.text)
