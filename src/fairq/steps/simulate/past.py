"""The pool's own past as a trace: the jobs that have ended, on the current slots."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fairq.engine.classad import UNDEFINED, AdColumns
from fairq.engine.explain.pieces import undivided
from fairq.engine.negotiation.pool import PoolSlots, unusable
from fairq.formats.trace import Trace, TraceJob
from fairq.state import claims, ended_jobs
from fairq.state.connection import reading
from fairq.steps.pool.current_slots import CurrentSlots, load_current
from fairq.steps.simulate.shapes import Machines


def past_trace(path: Path) -> tuple[Trace, list[Machines]]:
    """Return the jobs of the state that have ended, and the shapes of its slots, without jobs on them.

    The run time of a job is that of its last run. Jobs that never ran are omitted and counted.
    """
    with reading(path) as state:
        ended = ended_jobs.load_all(state)
        machines = _machines(load_current(state, claims.load_table(state), 0))
    trace = Trace()
    for job_range in ended:
        if job_range.start_time is None:
            trace.skipped["never started"] += len(job_range)
            continue
        local = job_range.submitter.rpartition("@")[0]
        group, _, user = local.rpartition(".")
        job = TraceJob(
            submit=job_range.queue_date,
            run=max(0, job_range.end_time - job_range.start_time),
            user=user or job_range.owner,
            group=group,
            cpus=max(1, int(job_range.request_cpus or 1)),
            memory=None if job_range.request_memory is None else int(job_range.request_memory),
            priority=job_range.priority,
        )
        trace.jobs += [job] * len(job_range)
    trace.jobs.sort(key=lambda job: job.submit)
    trace.start = trace.jobs[0].submit if trace.jobs else 0
    return trace, machines


def _machines(slots: CurrentSlots) -> list[Machines]:
    ads = list(slots.ads)
    pool = PoolSlots(slots.names, slots.ids, AdColumns(ads), carved=slots.carved)
    undivided_pool = undivided(pool, ads) or pool
    shapes: Counter[tuple[int, float, bool]] = Counter()
    for row in np.flatnonzero(~unusable(undivided_pool.ads)).tolist():
        attributes = {
            name: undivided_pool.ads.value(row, name) for name in ("cpus", "memory", "dynamicslot", "partitionableslot")
        }
        if attributes["dynamicslot"] is True or attributes["cpus"] is UNDEFINED:
            continue
        shapes[
            int(_number(attributes["cpus"], 1)),
            _number(attributes.get("memory"), 0),
            attributes.get("partitionableslot") is True,
        ] += 1
    return [
        Machines(count, cpus, int(memory) or None, divided) for (cpus, memory, divided), count in sorted(shapes.items())
    ]


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) else default
