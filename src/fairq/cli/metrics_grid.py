"""Metrics of grids: the limits of DIRAC's sites, and PanDA's queues and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairq.cli.metric import Metric

if TYPE_CHECKING:
    from fairq.steps.broker.status import GridStatus

_OF_SITES = (
    ("running_jobs", "Jobs of pilots that run at a site, by what is limited or delayed.", "running"),
    ("running_limit", "Most jobs of pilots that may run at a site.", "limit"),
    ("delay_left_seconds", "Time until the next start that a matching delay allows at a site.", "delay_left"),
)


def metrics_of_sites(limits: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """Yield the metrics of running *limits* and matching delays, as ``taskqueues limits`` shows them."""
    labels = ("site", "ce", "attribute", "value")
    for name, text, member in _OF_SITES:
        samples = [
            (tuple(str(limit[label] or "") for label in labels), float(limit[member]))
            for limit in limits
            if limit[member] is not None
        ]
        if samples:
            yield Metric(f"fairq_taskqueues_{name}", "gauge", text, labels, samples)


def metrics_of_grid(status: GridStatus) -> Iterator[Metric]:
    """Yield the metrics of PanDA's grid, as ``broker status`` shows it; none without queues and tasks."""
    if not (status.queues or status.tasks):
        return
    reasons = {pending.reason: pending.tasks for pending in status.reasons}
    last_run = status.run.counts if status.run else {}
    groups = (
        ("queues", "Queues of the grid, by their status in CRIC.", "status", status.queues),
        ("tasks", "Tasks of the grid.", "state", status.tasks),
        ("jobs", "Imported jobs of the grid.", "state", status.jobs),
        ("pending_tasks", "Tasks that are pending, by the reason of their last run.", "reason", reasons),
        ("last_run_tasks", "Tasks of the last run, by their new state.", "state", last_run),
    )
    for name, text, label, counts in groups:
        if counts:
            samples = [((key,), float(number)) for key, number in counts.items()]
            yield Metric(f"fairq_broker_{name}", "gauge", text, (label,), samples)
    single = (
        ("due_tasks", "Tasks that a run would broker now.", float(status.due)),
        ("used_queues", "Queues that have an assigned task.", float(status.used_queues)),
        ("run_last_timestamp_seconds", "Time of the last run.", float(status.run.time) if status.run else None),
    )
    for name, text, value in single:
        if value is not None:
            yield Metric(f"fairq_broker_{name}", "gauge", text, (), [((), value)])
