"""Numbers of jobs summed over shares and states (docs/panda.md, Queues; PanDA getNumJobs)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

QUEUED = ("defined", "assigned", "activated", "starting")
"""States of jobs that wait at a queue."""

SUMMED = (*QUEUED, "running", "transferring")
"""The states that the brokerage reads."""

JobStats = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Jobs by queue, share and state."""


def count_jobs(stats: JobStats, queue: str, states: Iterable[str], share: str | None = None) -> int:
    """Return the jobs of *queue* in *states*, of one share or of all."""
    wanted = tuple(states)
    shares = stats.get(queue, {})
    rows = shares.values() if share is None else (shares.get(share, {}),)
    return sum(row.get(state, 0) for row in rows for state in wanted)


def queued_to_running(stats: JobStats, share: str | None = None) -> float | None:
    """Return the ratio of waiting to running jobs over all queues; None if none runs (PanDA get_total_nq_nr_ratio)."""
    running = sum(count_jobs(stats, queue, ("running",), share) for queue in stats)
    queued = sum(count_jobs(stats, queue, QUEUED, share) for queue in stats)
    return queued / running if running else None
