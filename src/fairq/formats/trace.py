"""A trace: the jobs that were submitted to a pool in the past, with their run times."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec import Struct, field

LONGEST = 1_000_000_000
"""The largest run time that is accepted, in seconds: 31 years."""


class TraceJob(NamedTuple):
    """One job of a trace.

    *submit* is in seconds since 1970, *run* in seconds, *memory* in MB for the whole job. *limit* is the declared limit
    of the run time in seconds. *user* and *group* are names; an empty *group* means no group.
    """

    submit: int
    run: int
    user: str
    group: str = ""
    cpus: int = 1
    memory: int | None = None
    limit: int | None = None
    priority: int = 0
    gpus: int = 0


class Trace(Struct):
    """The jobs of a trace in the order of submission.

    *start* is the beginning of the log, in seconds since 1970. *skipped* counts the jobs left out, by reason. *slots*
    is the size of the machine according to the log, None if unknown. *dependent* counts the jobs that
    name a preceding job; their recorded submission time is used. *zero* is the time that the seconds of a trace without
    dates count from, None if it has dates.
    """

    jobs: list[TraceJob] = field(default_factory=list)
    start: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    slots: int | None = None
    dependent: int = 0
    zero: int | None = None

    def between(self, first: int | None, last: int | None) -> Trace:
        """Return the jobs submitted at or after *first* and before *last*."""
        jobs = [
            job for job in self.jobs if (first is None or job.submit >= first) and (last is None or job.submit < last)
        ]
        start = self.start if first is None else max(first, self.start)
        return Trace(jobs, start, self.skipped, self.slots, self.dependent, self.zero)
