"""How much evaluation may cost: a budget for each kind of job, and bounds for all that one submitter can use up.

The engine has neither clock nor processes of its own: what measures CPU time, and what ends an evaluation that does
not return, come from the caller.

Every evaluation has a free part, what ordinary expressions cost; only what goes beyond it counts against the
submitter and the cycle, or all of it if it did not come to its end. So many kinds of ordinary jobs never use these up,
and ordinary expressions are evaluated even when others have.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

Meter = Callable[[], float]
"""Tells the CPU time that this process has used, in seconds."""

SUBMITTER_SHARE: Final = 2
EXPRESSION_SHARE: Final = 3
CYCLE_SHARE: Final = 6
"""So many budgets may all kinds of jobs of one submitter, one expression, and all together use up in a cycle."""

_FREE: Final = 0.01
_FREE_EACH: Final = 25e-6


def free_seconds(evaluations: int) -> float:
    """Return the CPU seconds that are free of so many evaluations of one expression."""
    return _FREE + _FREE_EACH * evaluations


SHOWN: Final = 200  # characters of an expression that a record repeats


class Ending(StrEnum):
    """How work that a guard watched came to its end."""

    DONE = "done"
    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"


class Guarded(NamedTuple):
    """What came of work under guard: its *results* up to its end, and the CPU *seconds* it took."""

    results: list[Any]
    ending: Ending
    seconds: float


class Guard(Protocol):
    """Runs work that may not return, or may use up all memory, where it can be ended."""

    def __call__(self, work: Callable[[], Iterator[Any]], seconds: float) -> Guarded:
        """Return what *work* yields until it has used so many CPU *seconds*; its effects are lost."""
        ...


class Limit(StrEnum):
    """What an evaluation used up."""

    KIND = "budget of the job"
    SUBMITTER = "budget of the submitter"
    EXPRESSION = "budget of the expression"
    CYCLE = "budget of the cycle"
    MEMORY = "memory"
    CRASH = "the ClassAd library ended"


@dataclass(frozen=True, slots=True)
class Payer:
    """For whom is evaluated: a kind of job of *submitter*, known by its *autocluster* and by the first of its *jobs*.

    All None stands for what is evaluated for no job at all.
    """

    submitter: str | None = None
    autocluster: Hashable = None
    job: tuple[int, int] | None = None


NOBODY: Final = Payer()


class Culprit(NamedTuple):
    """The expression that is named: its *text*, and the attribute or setting *name* that it is, None if neither.

    *of_slot* says that it is an expression of slots.
    """

    name: str | None
    text: str
    of_slot: bool = False


@dataclass(slots=True)
class Overrun:
    """An expression that counted as ERROR for some of what it was to be evaluated for.

    Args:
        payer: for whom it was evaluated.
        culprit: the expression.
        limit: what it used up.
        seconds: CPU seconds that it took.
        errors: for so many slots, or other ads, it counted as ERROR at once.
    """

    payer: Payer
    culprit: Culprit
    limit: Limit
    seconds: float
    errors: int


@dataclass
class EvaluationBudget:
    """Keeps account of evaluation over one cycle, or over one command.

    Args:
        seconds: CPU seconds for each kind of job (autocluster); see above for the shares of others.
        meter: tells CPU time.
        guard: runs what has no bound; None: it is run like everything else, and only looked at in between.
        names: of expressions that are settings, by their text.
        payer: for whom is evaluated now.
        cut_short: how often a result had ERROR for what was left of the budget.
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

    def left(self, expression: Hashable) -> tuple[float, Limit]:
        """Return the CPU seconds that the payer has left for *expression*, and what would be used up then.

        It is never below 0: what took longer than was left does not use up the free part of other expressions.
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
        """Charge the payer what evaluating *expression* took beyond its free part, in CPU *seconds*."""
        if seconds <= 0:
            return
        payer = self.payer
        self._kinds[payer.autocluster] = self._kinds.get(payer.autocluster, 0.0) + seconds
        self._submitters[payer.submitter] = self._submitters.get(payer.submitter, 0.0) + seconds
        self._expressions[expression] = self._expressions.get(expression, 0.0) + seconds
        self._cycle += seconds

    def condemn(self, expression: Hashable, limit: Limit) -> None:
        """Leave the payer nothing for *expression*, which used up the memory or ended the library."""
        self._condemned[self.payer.autocluster, expression] = limit

    def record(self, culprit: Culprit, limit: Limit, seconds: float, errors: int) -> None:
        """Note that an expression counts as ERROR for so many slots or other ads."""
        self.cut_short += 1
        if len(culprit.text) > SHOWN:
            culprit = culprit._replace(text=f"{culprit.text[:SHOWN]}...")
        for known in self.overruns:
            if (known.payer.autocluster, known.culprit) == (self.payer.autocluster, culprit):
                known.seconds += seconds
                known.errors = max(known.errors, errors)
                return
        self.overruns.append(Overrun(self.payer, culprit, limit, seconds, errors))


def evaluate_for(budget: EvaluationBudget | None, payer: Payer) -> None:
    """Let what is evaluated from now on be at the expense of *payer*."""
    if budget is not None:
        budget.payer = payer
