"""The pool's own past as a trace: the jobs that have ended, on the current slots."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from fairq.dumps.trace import Trace, TraceJob
from fairq.records import Ad
from fairq.state import ended_jobs, slots
from fairq.state.connection import reading
from fairq.steps.simulate.shapes import Machines


def past_trace(path: Path) -> tuple[Trace, list[Machines]]:
    """Return the jobs of the state that have ended, and the shapes of its slots.

    The run time of a job is that of its last run. Jobs that never ran are omitted and counted.
    """
    with reading(path) as state:
        ended = ended_jobs.load_all(state)
        machines = _machines(slots.load_ads(state))
    trace = Trace()
    for one in ended:
        if one.start_time is None:
            trace.skipped["never started"] += len(one)
            continue
        local = one.submitter.rpartition("@")[0]
        group, _, user = local.rpartition(".")
        job = TraceJob(
            submit=one.queue_date,
            run=max(0, one.end_time - one.start_time),
            user=user or one.owner,
            group=group,
            cpus=max(1, int(one.request_cpus or 1)),
            memory=None if one.request_memory is None else int(one.request_memory),
            priority=one.priority,
        )
        trace.jobs += [job] * len(one)
    trace.jobs.sort(key=lambda job: job.submit)
    trace.start = trace.jobs[0].submit if trace.jobs else 0
    return trace, machines


def _machines(ads: list[Ad]) -> list[Machines]:
    shapes: Counter[tuple[int, float, bool]] = Counter()
    for ad in ads:
        lower: dict[str, Any] = {name.lower(): value for name, value in ad.items()}
        if lower.get("dynamicslot") is True or "cpus" not in lower:
            continue
        shapes[
            int(_number(lower["cpus"], 1)), _number(lower.get("memory"), 0), lower.get("partitionableslot") is True
        ] += 1
    return [
        Machines(count, cpus, int(memory) or None, divided) for (cpus, memory, divided), count in sorted(shapes.items())
    ]


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) else default
