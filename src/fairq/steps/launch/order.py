"""Order the end of runs of a launcher; their jobs change only when no process is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from fairq.common.records import JobRange, JobStatus
from fairq.state import launches
from fairq.state.connection import State


def order_ends(state: State, found: Sequence[JobRange], order: dict[str, Any]) -> tuple[set[str], list[JobRange]]:
    """Order the end of those jobs *found* that a launcher runs; return the names of their runs, and the other jobs.

    *order* has the kind (``remove``, ``hold``), the reason and the hold code. A later order replaces an earlier one,
    except that a hold does not replace a removal.
    """
    live = {launch.key: launch for launch in launches.live(state)} if _any_running(found) else {}
    if not live:
        return set(), list(found)
    ordered = []
    rest: list[JobRange] = []
    for job in found:
        mine = [
            proc
            for schedd, cluster, proc in live
            if (schedd, cluster) == (job.schedd, job.cluster) and job.first_proc <= proc <= job.last_proc
        ]
        if job.status != JobStatus.RUNNING or not mine:
            rest.append(job)
            continue
        for proc in mine:
            launch = live[job.schedd, job.cluster, proc]
            if launch.ordered is None or launch.ordered.get("how") != "remove":
                launch.ordered = order
            ordered.append(launch)
        rest += _without(job, mine)
    launches.store(state, ordered, "ordered")
    return {launch.name for launch in ordered}, rest


def _any_running(found: Iterable[JobRange]) -> bool:
    return any(job.status == JobStatus.RUNNING for job in found)


def _without(job: JobRange, taken: Sequence[int]) -> list[JobRange]:
    """Return *job* without the procs *taken*."""
    rest = []
    start = job.first_proc
    for proc in [*sorted(taken), job.last_proc + 1]:
        if proc > start:
            rest.append(replace(job, first_proc=start, last_proc=proc - 1))
        start = proc + 1
    return rest
