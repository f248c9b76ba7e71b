"""Estimates of run times, from the run times of similar ended jobs, at most the declared limit.

Similar jobs are those of the same cluster, else of the same submitter with the same declared limit, of the same
submitter, of the same accounting group, or of the pool. The last fifty of them count. For a running job, only jobs
that ran longer count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)

LAST = 50
"""Number of the last run times of similar jobs that count."""

_FEW = 3
"""Minimum number of ended runs for an estimate; with fewer, wider sets of jobs are tried first, then fewer runs."""

UNKNOWN = 3600
"""Assumed run time in seconds of a job without similar jobs and without a limit."""


class PastRun(NamedTuple):
    """A run that ended by itself after *seconds*; *group* is the accounting group.

    *limit* is the declared limit in seconds, None without one; unless *limit_known*, the limit is not known.
    """

    schedd: str
    cluster: int
    submitter: str
    group: str
    seconds: int
    limit: int | None = None
    limit_known: bool = False


class Estimate(NamedTuple):
    """A run time in seconds, and its *source*: cluster, kind, submitter, group, pool, limit or unknown."""

    seconds: int
    source: str


class RunTimes:
    """Estimates of run times from *history*, oldest first."""

    def __init__(self, history: Iterable[PastRun]) -> None:
        self._run_times: dict[tuple[str, Hashable], deque[int]] = {}
        for run in history:
            for key in _keys(run.schedd, run.cluster, run.submitter, run.group, run.limit):
                if key[0] == "kind" and not run.limit_known:
                    continue
                self._run_times.setdefault(key, deque(maxlen=LAST)).append(run.seconds)

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
        """Return the total run time of such a job: the *quantile* (0 to 1) of the run times of similar jobs.

        *limit* is its declared limit, *age* the time that it has already run; all times in seconds.
        """
        keys = _keys(schedd, cluster, submitter, group, limit)
        similar = estimate_from_similar(self._run_times, keys, quantile, limit, age)
        if similar is not None:
            key, seconds = similar
            return Estimate(seconds, key[0])
        if limit is not None:
            return Estimate(max(limit, age), "limit")
        return Estimate(max(UNKNOWN, 2 * age), "unknown")


def estimate_from_similar(
    run_times: Mapping[Key, Iterable[int]], keys: Sequence[Key], quantile: float, limit: int | None, age: int
) -> tuple[Key, int] | None:
    """Return the first of *keys* with enough run times longer than *age*, and their *quantile*; None without any.

    *run_times* are the run times of ended jobs by what makes them similar. *limit* caps the run time; all in seconds.
    """
    for minimum in (_FEW, 1):
        for key in keys:
            longer = sorted(seconds for seconds in run_times.get(key, ()) if seconds > age)
            if len(longer) >= minimum:
                estimate = longer[round(quantile * (len(longer) - 1))]
                return key, estimate if limit is None else max(age, min(estimate, limit))
    return None


def _keys(schedd: str, cluster: int, submitter: str, group: str, limit: int | None) -> tuple[tuple[str, Hashable], ...]:
    return (
        ("cluster", (schedd, cluster)),
        ("kind", (submitter, limit)),
        ("submitter", submitter),
        ("group", group),
        ("pool", None),
    )
