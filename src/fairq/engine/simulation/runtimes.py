"""How long jobs will run: from the run times of jobs alike that have ended, at most their declared limit.

Alike are jobs of the same cluster, else of the same submitter, else of the same accounting group, else all of the pool;
the last fifty of them count. Of a job that runs already only those count that ran longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from typing import NamedTuple

_LAST = 50
_FEW = 3
"""So many ended runs are enough to go by; of fewer, wider circles are asked first."""

UNKNOWN = 3600
"""Seconds that a job is taken to run of which nothing is known."""


class PastRun(NamedTuple):
    """A run that has ended by itself, after *seconds*; *group* is the accounting group."""

    schedd: str
    cluster: int
    submitter: str
    group: str
    seconds: int


class Estimate(NamedTuple):
    """A run time in seconds, and its *source*: cluster, submitter, group, pool, limit or unknown."""

    seconds: int
    source: str


class RunTimes:
    """Estimates of run times from *history*, oldest first."""

    def __init__(self, history: Iterable[PastRun]) -> None:
        self._known: dict[Hashable, deque[int]] = {}
        for run in history:
            for key in _keys(run.schedd, run.cluster, run.submitter, run.group):
                self._known.setdefault(key, deque(maxlen=_LAST)).append(run.seconds)

    def estimate(
        self,
        schedd: str,
        cluster: int,
        submitter: str,
        group: str,
        quantile: float,
        limit: int | None = None,
        age: int = 0,
    ) -> Estimate:
        """Return how long such a job runs in all, so that a part *quantile* of the jobs alike ran no longer.

        *limit* is its declared limit, *age* how long it has run already, in seconds.
        """
        keys = _keys(schedd, cluster, submitter, group)
        for least in (_FEW, 1):
            for key in keys:
                longer = sorted(seconds for seconds in self._known.get(key, ()) if seconds > age)
                if len(longer) >= least:
                    found = longer[round(quantile * (len(longer) - 1))]
                    return Estimate(found if limit is None else max(age, min(found, limit)), key[0])
        if limit is not None:
            return Estimate(max(limit, age), "limit")
        return Estimate(max(UNKNOWN, 2 * age), "unknown")


def _keys(schedd: str, cluster: int, submitter: str, group: str) -> tuple[tuple[str, Hashable], ...]:
    return ("cluster", (schedd, cluster)), ("submitter", submitter), ("group", group), ("pool", None)
