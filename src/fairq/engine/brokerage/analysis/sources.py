"""Where the input of an analysis task is, as far as the task as a whole is concerned.

Source: docs/panda.md, Production filters and Analysis.
"""

from __future__ import annotations

from typing import NamedTuple

from fairq.engine.brokerage.analysis.selection import select
from fairq.engine.brokerage.checks.input import dataset_availability, is_readable_from_afar
from fairq.engine.brokerage.flow.plugin import Details
from fairq.engine.brokerage.flow.request import Question, once_per_task
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.storage.availability import Availability
from fairq.engine.brokerage.storage.endpoints import USER, units_reading

HIGH_PRIORITY = 2000
"""Task priority from which input need not be nearby."""

CONTAINER = "/"
"""End of the names of containers of datasets."""


class Sources(NamedTuple):
    """What is known of the input's replicas.

    Args:
        available: of each dataset, by name.
        distributed: names of datasets whose files lie at many places by intention.
        remote: all of them can be read over WAN from somewhere, those that are distributed apart.
    """

    available: dict[str, Availability]
    distributed: frozenset[str]
    remote: bool


@once_per_task
def sources_of(question: Question) -> Sources:
    """Return what is known of the input's replicas, found once."""
    available = {dataset.name: dataset_availability(question, dataset) for dataset in question.chunk.datasets}
    distributed = frozenset(each.name for each in question.chunk.datasets if _is_distributed(question, each))
    remote = all(
        is_readable_from_afar(question, dataset, available[dataset.name])
        for dataset in question.chunk.datasets
        if dataset.name not in distributed
    )
    return Sources(available, distributed, remote)


def _is_distributed(question: Question, dataset: Dataset) -> bool:
    # A container is taken for distributed wherever a candidate has some of it; another dataset if it says so and no
    # candidate has all of it (PanDA AtlasAnalJobBroker).
    readers, is_candidate = units_reading(question.columns, USER), select(question).units
    held = [
        files is None or dataset.lfns <= files
        for rse, files in question.world.replicas.get(dataset.name, {}).items()
        if rse in readers and is_candidate[readers[rse]].any()
    ]
    return bool(held) and (dataset.name.endswith(CONTAINER) or (dataset.distributed and not any(held)))


def incomplete_input(question: Question) -> Details | None:
    """Return the dataset that no endpoint which can be read has completely enough; None: there is no such.

    By the page that is no matter; tasks may allow it by rule *AI*.
    """
    if question.task.has_rule("AI") or not question.rules.incomplete_input:
        return None
    sources = sources_of(question)
    for dataset in question.chunk.datasets:
        available = sources.available[dataset.name]
        if dataset.name not in sources.distributed and not (available.disk or available.tape):
            return {"dataset": dataset.name, "files": len(dataset.lfns), "complete_at": list(available.locations)}
    return None


def needs_no_locality(question: Question) -> bool:
    """Return whether the page suppresses the check of locality: for a high priority, and for little I/O."""
    cutoff = question.config.number("anal_jobbroker.IO_INTENSITY_CUTOFF_USER")
    intensity = question.task.io_intensity
    little = cutoff is not None and intensity is not None and intensity <= cutoff
    return question.rules.locality_suppressed and (little or question.task.task_priority >= HIGH_PRIORITY)


def ignores_locality(question: Question) -> bool:
    """Return whether, by PanDA's code, the task may leave its input: high priority, little I/O, failing for long."""
    task, config, now = question.task, question.config, question.world.now
    if task.task_priority >= HIGH_PRIORITY:
        return True
    cutoff = config.amount("anal_jobbroker.IO_INTENSITY_CUTOFF_USER")
    if cutoff and task.io_intensity and task.io_intensity <= cutoff:
        return True
    hours = config.amount("anal_jobbroker.DATA_CHECK_TIMEOUT_USER")
    return bool(hours) and task.frozen_time is not None and now - task.frozen_time > hours * 3600


def has_second_pass(question: Question) -> bool:
    """Return whether queues without the input are tried if none is left with it."""
    found = bool(question.chunk.datasets)
    return found and (not question.rules.second_pass_needs_source or sources_of(question).remote)
