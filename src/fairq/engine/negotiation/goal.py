"""A cycle that is held only to learn whether one job is matched, or what is: it ends when that is known."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairq.engine.negotiation.matches import Match, Matches
from fairq.records import JobRange


class GoalReached(Exception):  # noqa: N818 - no error: the cycle has answered its question
    """The job of the goal is matched, or no job can be any more."""


class Goal:
    """The match of one job: no later turn can take it back.

    *or_none_left*: it is also answer enough that no slot is left for any job. *or_hopeless* is the job, if it is also
    enough that none is left for it; a cycle that can tell sets *is_hopeless*. After so much *work*, of which the cycle
    makes so many *steps*, it ends as well. In both cases the job is *missed*.
    """

    def __init__(
        self,
        schedd: str,
        cluster: int,
        proc: int,
        *,
        or_none_left: bool = False,
        or_hopeless: JobRange | None = None,
        work: float = math.inf,
    ) -> None:
        self.work, self.steps = work, math.inf
        self._or_none_left = or_none_left
        self.or_hopeless = or_hopeless
        self.is_hopeless: Callable[[], bool] | None = None
        self.missed = False
        self._schedd = schedd
        self._cluster = cluster
        self._proc = proc
        self._seen = 0

    def check(self, matches: Matches, left: int, steps: int = 0) -> None:
        """Raise GoalReached if the job is among those of the cycle's *matches* that are new since the last call.

        *left* is the number of slots that are not taken, *steps* how many the turns took.
        """
        if self._or_none_left and not left:
            raise GoalReached
        new = matches.steps[self._seen :]
        self._seen += len(new)
        for step in new:
            if step.schedd != self._schedd:
                continue
            jobs = [(step.cluster, step.proc, step.proc)] if isinstance(step, Match) else step.jobs
            if any(cluster == self._cluster and first <= self._proc <= last for cluster, first, last in jobs):
                raise GoalReached
        if steps > self.steps or (self.is_hopeless is not None and self.is_hopeless()):
            self.missed = True
            raise GoalReached
