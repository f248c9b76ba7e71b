"""The history of every job of a simulated trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


class Journal:
    """Start and end of every job, in arrays by the job's number; times in seconds since 1970 (-1: not yet).

    Args:
        submit: the submission time of each job.
        run: its run time in seconds.
    """

    def __init__(self, submit: Sequence[int], run: Sequence[int]) -> None:
        size = len(submit)
        self.submit: Integers = np.array(submit, np.int64)
        self.run: Integers = np.array(run, np.int64)
        self.first_start: Integers = np.full(size, -1, np.int64)
        self.end: Integers = np.full(size, -1, np.int64)
        self.weight: Reals = np.zeros(size)
        self.preemptions: Integers = np.zeros(size, np.int64)
        self.lost: Reals = np.zeros(size)
        """Weighted seconds of runs that preemption ended."""

    def start(self, number: int, now: int, weight: float) -> None:
        """Record that a job begins to run on a slot of *weight*."""
        if self.first_start[number] < 0:
            self.first_start[number] = now
        self.weight[number] = weight

    def preempt(self, number: int, seconds: int, weight: float) -> None:
        """Record that a job lost its slot after *seconds*."""
        self.preemptions[number] += 1
        self.lost[number] += seconds * weight

    @property
    def started(self) -> NDArray[np.bool_]:
        """Per job, whether it has started."""
        return self.first_start >= 0

    def longest(self) -> int:
        """Return the longest run time of a job that has not ended, 0 if all have."""
        return int(self.run[self.end < 0].max(initial=0))

    def waits(self) -> Reals:
        """Return the seconds from the submission of each ended job to the start of its last run."""
        done = self.end >= 0
        return (self.end[done] - self.run[done] - self.submit[done]).astype(np.float64)

    def slowdowns(self, bound: int = 10) -> Reals:
        """Return the bounded slowdown of each ended job: at least 1; run times count as at least *bound* seconds."""
        done = self.end >= 0
        times = (self.end[done] - self.submit[done]).astype(np.float64)
        return np.maximum(1.0, times / np.maximum(self.run[done], bound))

    def busy(self, first: int, last: int) -> float:
        """Return the weighted seconds of the last runs within [*first*, *last*]."""
        done = self.end >= 0
        begin = np.maximum(self.end[done] - self.run[done], first)
        return float((np.maximum(np.minimum(self.end[done], last) - begin, 0) * self.weight[done]).sum())

    def waiting(self, first: int, last: int) -> float:
        """Return the mean number of submitted jobs within [*first*, *last*] whose last run has not begun."""
        begin = np.where(self.end >= 0, self.end - self.run, last)
        waited = np.minimum(begin, last) - np.maximum(self.submit, first)
        return float(np.maximum(waited, 0).sum()) / (last - first) if last > first else 0.0
