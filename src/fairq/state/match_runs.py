"""The matches of a cycle as they are stored: matches in a row that differ only in job and slot are one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fairq.common.records import MatchRecord, MatchRun


def alone(match: MatchRecord) -> MatchRun:
    """Return one match as a run."""
    job = (match.cluster, match.proc, 1)
    return MatchRun(match.schedd, match.submitter, match.reason, match.preempted, [job], [match.slot])


def joined(runs: Iterable[MatchRun]) -> Iterator[MatchRun]:
    """Join neighbours that differ only in job and slot, and jobs of consecutive procs."""
    last: MatchRun | None = None
    jobs: list[tuple[int, int, int]] = []
    slots: list[str] = []
    for run in runs:
        if last is None or run[:4] != last[:4]:
            if last is not None:
                yield last
            jobs, slots = [], []
            last = run._replace(jobs=jobs, slots=slots)
        for cluster, first, count in run.jobs:
            if jobs and jobs[-1][0] == cluster and sum(jobs[-1][1:]) == first:
                jobs[-1] = (cluster, jobs[-1][1], jobs[-1][2] + count)
            else:
                jobs.append((cluster, first, count))
        slots += run.slots
    if last is not None:
        yield last


def records(runs: Iterable[tuple[Any, ...]]) -> list[MatchRecord]:
    """Return the matches of stored *runs*, numbered in order."""
    found: list[MatchRecord] = []
    for schedd, submitter, reason, preempted, jobs, slots in runs:
        procs = ((cluster, proc) for cluster, first, count in jobs for proc in range(first, first + count))
        for (cluster, proc), slot in zip(procs, slots, strict=True):
            found.append(MatchRecord(len(found), schedd, cluster, proc, submitter, slot, reason, preempted))
    return found
