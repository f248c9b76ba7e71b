"""A cycle that is held only to learn whether one job is matched: it ends when the job is."""

from __future__ import annotations

from fairq.engine.negotiation.matches import Match, Matches


class GoalReached(Exception):  # noqa: N818 - no error: the cycle has answered its question
    """The job of the goal is matched."""


class Goal:
    """The match of one job: no later turn can take it back."""

    def __init__(self, schedd: str, cluster: int, proc: int) -> None:
        self._schedd = schedd
        self._cluster = cluster
        self._proc = proc
        self._seen = 0

    def check(self, matches: Matches) -> None:
        """Raise GoalReached if the job is among those of the cycle's *matches* that are new since the last call."""
        new = matches.steps[self._seen :]
        self._seen += len(new)
        for step in new:
            if step.schedd != self._schedd:
                continue
            jobs = [(step.cluster, step.proc, step.proc)] if isinstance(step, Match) else step.jobs
            if any(cluster == self._cluster and first <= self._proc <= last for cluster, first, last in jobs):
                raise GoalReached
