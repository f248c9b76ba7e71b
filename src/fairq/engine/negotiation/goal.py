"""A cycle that is held only to learn whether one job is matched, or what is: it ends when that is known."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairq.engine.negotiation.matches import Match, Matches
from fairq.records import JobRange


class GoalReached(Exception):  # noqa: N818 - no error: the cycle has answered its question
    """The job of the goal is matched or missed, or no job can be matched any more."""


class Goal:
    """The match of one job: no later turn can take it back.

    *or_missed* is the job, if the cycle may end without its match: when no slot is left for it, or after so much *work*
    (`Ledger.work`). It is *missed* then.
    """

    def __init__(
        self,
        schedd: str,
        cluster: int,
        proc: int,
        *,
        or_missed: JobRange | None = None,
        work: float = math.inf,
    ) -> None:
        self.or_missed = or_missed
        self.missed = False
        self._work = work
        self._is_hopeless: Callable[[], bool] | None = None
        self._schedd = schedd
        self._cluster = cluster
        self._proc = proc
        self._seen = 0

    def watch(self, is_hopeless: Callable[[], bool]) -> None:
        """Let *is_hopeless* tell whether no slot is left for the job, to the end of the cycle."""
        self._is_hopeless = is_hopeless

    def check(self, matches: Matches, work: float = 0) -> None:
        """Raise GoalReached if the job is among those of the cycle's *matches* that are new since the last call.

        *work* is what the turns cost up to now.
        """
        new = matches.steps[self._seen :]
        self._seen += len(new)
        for step in new:
            if step.schedd != self._schedd:
                continue
            jobs = [(step.cluster, step.proc, step.proc)] if isinstance(step, Match) else step.jobs
            if any(cluster == self._cluster and first <= self._proc <= last for cluster, first, last in jobs):
                raise GoalReached
        if work > self._work or (self._is_hopeless is not None and self._is_hopeless()):
            self.missed = True
            raise GoalReached
