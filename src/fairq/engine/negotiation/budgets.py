"""Time budgets of a cycle and its turns.

docs/htcondor.md 3.13; matchmaker.cpp, negotiateWithGroup: a budget that is used up before a turn takes the submitter
out of the pie; one that runs out within a turn ends that turn. The engine has no clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

Clock = Callable[[], float]
"""Returns the time in seconds since some fixed moment; it never goes back."""

Budget = Literal["cycle", "submitter", "schedd", "spin"]


class TimeBudgets(Struct, frozen=True):
    """Maximum times in seconds: for the cycle, for all turns of a submitter (*submitter*), and for all turns of the
    submitters of a schedd (*schedd*); *spin* is for one turn, which is one submitter in one spin of a pie."""

    cycle: float
    submitter: float
    schedd: float
    spin: float


class Stopwatch:
    """Measures a cycle against its budgets.

    Args:
        budgets: the maximum times.
        clock: returns the time.
    """

    def __init__(self, budgets: TimeBudgets, clock: Clock) -> None:
        self._budgets = budgets
        self._clock = clock
        self._start = clock()
        self._submitters: dict[tuple[str, str], float] = {}
        self._schedds: dict[str, float] = {}
        self.used_up: set[Budget] = set()
        """The budgets that have stopped a submitter so far."""

    def turn(self, submitter: str, schedd: str) -> TurnClock:
        """Begin the turn of a submitter at a schedd."""
        now = self._clock()
        budgets = self._budgets
        remaining: list[tuple[float, Budget]] = [
            (budgets.cycle - (now - self._start), "cycle"),
            (budgets.submitter - self._submitters.get((submitter, schedd), 0.0), "submitter"),
            (budgets.schedd - self._schedds.get(schedd, 0.0), "schedd"),
        ]
        shortest = min(remaining)
        if shortest[0] <= 0:
            self.used_up.add(shortest[1])
            return TurnClock(self._clock, now, now, shortest[1], over=True)
        seconds, budget = min(shortest, (budgets.spin, "spin"))
        return TurnClock(self._clock, now, now + seconds, budget)

    def end(self, turn: TurnClock, submitter: str, schedd: str) -> None:
        """End the turn that *turn* measured."""
        elapsed = self._clock() - turn.start
        self._submitters[submitter, schedd] = self._submitters.get((submitter, schedd), 0.0) + elapsed
        self._schedds[schedd] = self._schedds.get(schedd, 0.0) + elapsed
        if turn.over:
            self.used_up.add(turn.budget)


class TurnClock:
    """The time of one turn: *over* is set once *budget* has run out."""

    __slots__ = ("_clock", "_deadline", "budget", "over", "start")

    def __init__(self, clock: Clock, start: float, deadline: float, budget: Budget, over: bool = False) -> None:
        self._clock = clock
        self._deadline = deadline
        self.start = start
        self.budget = budget
        self.over = over

    def runs_out(self) -> bool:
        """Return whether the time is up now."""
        self.over = self.over or self._clock() >= self._deadline
        return self.over
