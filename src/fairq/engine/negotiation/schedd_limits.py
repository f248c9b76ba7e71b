"""How many more jobs each schedd may run: its MAX_JOBS_RUNNING less what it runs (schedd.cpp, shadowsSpawnLimit)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairq.engine.negotiation.snapshot import SubmitterQueue


class ScheddLimits:
    """What is left of the maxima of the schedds in one cycle.

    Args:
        maximum: the most running jobs of each schedd that has a maximum, by name.
        queues: the queues of all submitters, with their running jobs.
    """

    def __init__(self, maximum: Mapping[str, int], queues: Iterable[SubmitterQueue]) -> None:
        self._left = dict(maximum)
        for queue in queues if maximum else ():
            self.use(queue.schedd, queue.running_jobs)

    def left(self, schedd: str) -> int | None:
        """Return how many more jobs the schedd offers; None: it has no maximum."""
        left = self._left.get(schedd)
        return None if left is None else max(0, left)

    def use(self, schedd: str, jobs: int) -> None:
        """Count *jobs* of the schedd as running."""
        if schedd in self._left:
            self._left[schedd] -= jobs
