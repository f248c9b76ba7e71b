"""Order the end of runs of a launcher; their jobs change only when no process is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairq.common.records import JobRange, JobStatus
from fairq.state import launches
from fairq.state.connection import State


def order_ends(state: State, ranges: Sequence[JobRange], order: dict[str, Any]) -> tuple[set[str], list[JobRange]]:
    """Order the end of the jobs in *ranges* that a launcher runs; return the names of their runs, and the other jobs.

    *order* has the kind (``remove``, ``hold``), the reason and the hold code. A later order replaces an earlier one,
    except that a hold does not replace a removal.
    """
    live = {launch.key: launch for launch in launches.live(state)} if _any_running(ranges) else {}
    if not live:
        return set(), list(ranges)
    ordered = []
    others: list[JobRange] = []
    for job in ranges:
        procs = [
            proc
            for schedd, cluster, proc in live
            if (schedd, cluster) == (job.schedd, job.cluster) and proc in job.numbers
        ]
        if job.status != JobStatus.RUNNING or not procs:
            others.append(job)
            continue
        for proc in procs:
            launch = live[job.schedd, job.cluster, proc]
            if launch.ordered is None or launch.ordered.get("how") != "remove":
                launch.ordered = order
            ordered.append(launch)
        others += job.without([(proc, proc) for proc in sorted(procs)])
    launches.store(state, ordered, "ordered")
    return {launch.name for launch in ordered}, others


def _any_running(ranges: Iterable[JobRange]) -> bool:
    return any(job.status == JobStatus.RUNNING for job in ranges)
