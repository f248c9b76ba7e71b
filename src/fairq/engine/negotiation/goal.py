"""A cycle that is held only to learn whether one job is matched: it ends when the job is."""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.negotiation.decision import Match


class GoalReached(Exception):  # noqa: N818 - no error: the cycle has answered its question
    """The job of the goal is matched."""


class Goal:
    """The match of one job: no later turn can take it back."""

    def __init__(self, schedd: str, cluster: int, proc: int) -> None:
        self._job = (schedd, cluster, proc)
        self._seen = 0

    def check(self, matches: Sequence[Match]) -> None:
        """Raise GoalReached if the job is among those of the cycle's *matches* that are new since the last call."""
        new = matches[self._seen :]
        self._seen = len(matches)
        if any((match.schedd, match.cluster, match.proc) == self._job for match in new):
            raise GoalReached
