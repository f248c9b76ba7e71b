"""Limits on the cost of evaluation: a budget for each kind of job, and a bound on the total of one submitter.

The engine has neither a clock nor processes of its own. The caller passes in the meter of CPU time and the guard that
ends an evaluation that does not return.

Every evaluation has a free part: the cost of an ordinary expression. Only the cost beyond it counts against the
submitter and the cycle; if the evaluation did not finish, all of its cost counts. Many kinds of ordinary jobs
therefore never use up a budget. Ordinary expressions are evaluated even after other expressions used up theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.engine.classad.library import library, tree

Meter = Callable[[], float]
"""Returns the CPU time that this process has used, in seconds."""

SUBMITTER_SHARE: Final = 2
EXPRESSION_SHARE: Final = 3
CYCLE_SHARE: Final = 6
"""Budgets that one submitter (all kinds of its jobs), one expression, and the whole cycle may each use up."""

_FREE: Final = 0.01
_FREE_EACH: Final = 25e-6


def free_seconds(evaluations: int) -> float:
    """Return the CPU seconds that this number of evaluations of one expression may take free of charge."""
    return _FREE + _FREE_EACH * evaluations


SHOWN: Final = 200  # characters of an expression that a record repeats


class Ending(StrEnum):
    """How work under a guard ended."""

    DONE = "done"
    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"


class Guarded(Struct, frozen=True):
    """The outcome of work under a guard: its *results* up to its end, and the CPU *seconds* it took."""

    results: list[Any]
    ending: Ending
    seconds: float


class Guard(Protocol):
    """Runs work that may never return or may use up all memory, in a place where it can be ended."""

    def __call__(self, work: Callable[[], Iterator[Any]], seconds: float) -> Guarded:
        """Return what *work* yields until it has used *seconds* of CPU time; its side effects are lost."""
        ...


class Limit(StrEnum):
    """The limit that an evaluation used up."""

    KIND = "budget of the job"
    SUBMITTER = "budget of the submitter"
    EXPRESSION = "budget of the expression"
    CYCLE = "budget of the cycle"
    MEMORY = "memory"
    CRASH = "the ClassAd library ended"


class Payer(Struct, frozen=True):
    """The party that pays for an evaluation: a kind of job of *submitter*, with its *autocluster* and first *job*.

    All fields are None for an evaluation for no job.
    """

    submitter: str | None = None
    autocluster: Hashable = None
    job: tuple[int, int] | None = None


NOBODY: Final = Payer()


class Culprit(Struct, frozen=True):
    """The expression to name in a message: its *text*, and the *name* of its attribute or setting, None if neither.

    *of_slot*: slots have this expression.
    """

    name: str | None
    text: str
    of_slot: bool = False


class Overrun(Struct):
    """An expression that counted as ERROR for some of its slots or other ads.

    Args:
        payer: the party for whom it was evaluated.
        culprit: the expression.
        limit: the limit that it used up.
        seconds: CPU seconds that it took.
        errors: the number of slots or other ads for which it counted as ERROR at once.
    """

    payer: Payer
    culprit: Culprit
    limit: Limit
    seconds: float
    errors: int


class EvaluationBudget(Struct):
    """Accounts for the cost of evaluation over one cycle or one command.

    Args:
        seconds: CPU seconds for each kind of job (autocluster); the constants above set the other limits.
        meter: returns the CPU time used.
        guard: runs work without a cost bound; None: run it in place, and check the meter only between steps.
        names: the names of expressions that are settings, by their text.
        payer: the party for whom evaluation now runs.
        cut_short: number of results that contain ERROR because a limit was used up.
        overruns: the expressions that counted as ERROR somewhere, in the order in which they first did.
    """

    seconds: float
    meter: Meter
    guard: Guard | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    payer: Payer = NOBODY
    cut_short: int = 0
    overruns: list[Overrun] = field(default_factory=list)
    _kinds: dict[Hashable, float] = field(default_factory=dict)
    _submitters: dict[str | None, float] = field(default_factory=dict)
    _expressions: dict[Hashable, float] = field(default_factory=dict)
    _condemned: dict[tuple[Hashable, Hashable], Limit] = field(default_factory=dict)
    _cycle: float = 0.0

    def seconds_left(self, expression: Hashable) -> tuple[float, Limit]:
        """Return how many CPU seconds the payer may still spend on *expression*, and the limit that ends them.

        The seconds are never below 0: an overrun does not use up the free part of other expressions.
        """
        payer, seconds = self.payer, self.seconds
        condemned = self._condemned.get((payer.autocluster, expression))
        if condemned is not None:
            return 0.0, condemned
        least, limit = min(
            (seconds - self._kinds.get(payer.autocluster, 0.0), Limit.KIND),
            (SUBMITTER_SHARE * seconds - self._submitters.get(payer.submitter, 0.0), Limit.SUBMITTER),
            (EXPRESSION_SHARE * seconds - self._expressions.get(expression, 0.0), Limit.EXPRESSION),
            (CYCLE_SHARE * seconds - self._cycle, Limit.CYCLE),
        )
        return max(0.0, least), limit

    def charge(self, expression: Hashable, seconds: float) -> None:
        """Charge the payer the CPU *seconds* that evaluating *expression* took beyond its free part."""
        if seconds <= 0:
            return
        payer = self.payer
        self._kinds[payer.autocluster] = self._kinds.get(payer.autocluster, 0.0) + seconds
        self._submitters[payer.submitter] = self._submitters.get(payer.submitter, 0.0) + seconds
        self._expressions[expression] = self._expressions.get(expression, 0.0) + seconds
        self._cycle += seconds

    def condemn(self, expression: Hashable, limit: Limit) -> None:
        """Leave the payer no budget for *expression*, because it used up the memory or crashed the library."""
        self._condemned[self.payer.autocluster, expression] = limit

    def under_guard(
        self, work: Callable[[], Iterator[list[Any]]], expression: Hashable, culprit: Culprit, count: int, free: float
    ) -> list[Any]:
        """Return the *count* values that *work* yields in lists, or only those yielded before the payer's limit.

        The payer is charged what goes beyond the *free* CPU seconds, or all of it if the work was ended; then
        *culprit* is recorded.
        """
        seconds_left, limit = self.seconds_left(expression)
        guarded = _run_guarded(work, seconds_left, self)
        values = [value for batch in guarded.results for value in batch]
        if guarded.ending is Ending.DONE:
            self.charge(expression, guarded.seconds - free)
            return values
        self.charge(expression, guarded.seconds)
        if guarded.ending in _LIMITS:
            limit = _LIMITS[guarded.ending]
            self.condemn(expression, limit)
        self.record(culprit, limit, guarded.seconds, count - len(values))
        return values

    def record(self, culprit: Culprit, limit: Limit, seconds: float, errors: int) -> None:
        """Record that an expression counts as ERROR for a number of slots or other ads."""
        self.cut_short += 1
        if len(culprit.text) > SHOWN:
            culprit = replace(culprit, text=f"{culprit.text[:SHOWN]}...")
        for overrun in self.overruns:
            if (overrun.payer.autocluster, overrun.culprit) == (self.payer.autocluster, culprit):
                overrun.seconds += seconds
                overrun.errors = max(overrun.errors, errors)
                return
        self.overruns.append(Overrun(self.payer, culprit, limit, seconds, errors))


def evaluate_for(budget: EvaluationBudget | None, payer: Payer) -> None:
    """Charge all evaluation from now on to *payer*."""
    if budget is not None:
        budget.payer = payer


_LIMITS: Final = {Ending.MEMORY: Limit.MEMORY, Ending.CRASH: Limit.CRASH}
"""The limit that each ending used up; for any other ending, the limit on the CPU time counts."""


class _Text(Struct, frozen=True):
    """The text of a value that only the library has: a nested ad or an expression."""

    text: str
    is_ad: bool


def _run_guarded(work: Callable[[], Iterator[Any]], seconds: float, budget: EvaluationBudget) -> Guarded:
    """Return the values that *work* yields under *budget*'s guard, until it has used *seconds* of CPU time."""
    if seconds <= 0:
        return Guarded([], Ending.TIME, 0.0)
    if budget.guard is None:
        return _run_unguarded(work, seconds, budget)
    guarded = budget.guard(lambda: map(_to_sendable, work()), seconds)
    return replace(guarded, results=[_from_sendable(value) for value in guarded.results])


def _run_unguarded(work: Callable[[], Iterator[Any]], seconds: float, budget: EvaluationBudget) -> Guarded:
    results: list[Any] = []
    start = budget.meter()
    used = 0.0
    for value in work():
        used = budget.meter() - start
        if used > seconds:
            return Guarded(results, Ending.TIME, used)
        results.append(value)
    return Guarded(results, Ending.DONE, used)


def _to_sendable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_to_sendable(part) for part in value]
    if isinstance(value, library().ClassAd | library().ExprTree):
        return _Text(str(value), isinstance(value, library().ClassAd))
    return value


def _from_sendable(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_sendable(part) for part in value]
    if not isinstance(value, _Text):
        return value
    return library().ClassAd(value.text) if value.is_ad else tree(value.text)
