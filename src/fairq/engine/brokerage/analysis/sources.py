"""The replicas of the input of an analysis task as a whole.

Source: docs/panda.md, Production filters and Analysis.
"""

from __future__ import annotations

from typing import NamedTuple

from fairq.engine.brokerage.analysis.selection import select
from fairq.engine.brokerage.checks.input import dataset_availability, is_readable_from_afar
from fairq.engine.brokerage.flow.plugin import Details
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.storage.availability import Availability
from fairq.engine.brokerage.storage.endpoints import USER, units_reading

HIGH_PRIORITY = 2000
"""Task priority from which input need not be nearby."""

CONTAINER = "/"
"""End of the names of containers of datasets."""


class Sources(NamedTuple):
    """The replicas of the input.

    Args:
        available: of each dataset, by name.
        distributed: names of datasets whose files are spread over many sites on purpose.
        remote: all datasets, except distributed ones, can be read over WAN.
    """

    available: dict[str, Availability]
    distributed: frozenset[str]
    remote: bool


@once_per_task
def sources_of(request: BrokerageRequest) -> Sources:
    """Return the replicas of the input; they are computed once per task."""
    available = {dataset.name: dataset_availability(request, dataset) for dataset in request.chunk.datasets}
    distributed = frozenset(each.name for each in request.chunk.datasets if _is_distributed(request, each))
    remote = all(
        is_readable_from_afar(request, dataset, available[dataset.name])
        for dataset in request.chunk.datasets
        if dataset.name not in distributed
    )
    return Sources(available, distributed, remote)


def _is_distributed(request: BrokerageRequest, dataset: Dataset) -> bool:
    # A container is taken for distributed wherever a candidate has some of it; another dataset if it says so and no
    # candidate has all of it (PanDA AtlasAnalJobBroker).
    readers, is_candidate = units_reading(request.columns, USER), select(request).units
    held = [
        files is None or dataset.lfns <= files
        for rse, files in request.world.replicas.get(dataset.name, {}).items()
        if rse in readers and is_candidate[readers[rse]].any()
    ]
    return bool(held) and (dataset.name.endswith(CONTAINER) or (dataset.distributed and not any(held)))


def incomplete_input(request: BrokerageRequest) -> Details | None:
    """Return the dataset that no readable endpoint has completely enough; None if there is none.

    Under the rules documented, this is not checked; tasks may allow it by rule *AI*.
    """
    if request.task.has_rule("AI") or not request.rules.incomplete_input:
        return None
    sources = sources_of(request)
    for dataset in request.chunk.datasets:
        available = sources.available[dataset.name]
        if dataset.name not in sources.distributed and not (available.disk or available.tape):
            return {"dataset": dataset.name, "files": len(dataset.lfns), "complete_at": list(available.locations)}
    return None


def needs_no_locality(request: BrokerageRequest) -> bool:
    """Return whether the rules suppress the locality check: for a high priority, and for little I/O."""
    cutoff = request.config.number("anal_jobbroker.IO_INTENSITY_CUTOFF_USER")
    intensity = request.task.io_intensity
    little = cutoff is not None and intensity is not None and intensity <= cutoff
    return request.rules.locality_suppressed and (little or request.task.task_priority >= HIGH_PRIORITY)


def ignores_locality(request: BrokerageRequest) -> bool:
    """Return whether, under the rules panda, the task may leave its input.

    That is for a high priority, little I/O, or a task that has failed for long.
    """
    task, config, now = request.task, request.config, request.world.now
    if task.task_priority >= HIGH_PRIORITY:
        return True
    cutoff = config.amount("anal_jobbroker.IO_INTENSITY_CUTOFF_USER")
    if cutoff and task.io_intensity and task.io_intensity <= cutoff:
        return True
    hours = config.amount("anal_jobbroker.DATA_CHECK_TIMEOUT_USER")
    return bool(hours) and task.frozen_time is not None and now - task.frozen_time > hours * 3600


def has_second_pass(request: BrokerageRequest) -> bool:
    """Return whether queues without the input are tried if none is left with it."""
    found = bool(request.chunk.datasets)
    return found and (not request.rules.second_pass_needs_source or sources_of(request).remote)
