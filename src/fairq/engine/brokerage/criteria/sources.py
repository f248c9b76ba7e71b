"""Where the input of a task can be read (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

import math
from typing import NamedTuple

from fairq.engine.brokerage.criteria.selection import selection_of
from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.flow.plugin import Details
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.storage.availability import VP_SUFFIX, Availability, Replica, availability
from fairq.engine.brokerage.storage.endpoints import USER, units_reading

CONTAINER = "/"
"""End of the names of containers of datasets."""


def dataset_availability(ask: Ask, dataset: Dataset) -> Availability:
    """Return the availability of one dataset, by the settings of the task's brokerage."""
    component, config = "jobbroker" if ask.activity == PRODUCTION else "anal_jobbroker", ask.config
    limits = ask.pool.kept(
        ("completeness", component),
        lambda: [config.amount(f"{component}.{of}") for of in ("MAX_MISSING_INPUT_FILES", "MIN_INPUT_COMPLETENESS")],
    )
    return availability(_replicas(ask, dataset), *limits)


def _replicas(ask: Ask, dataset: Dataset) -> list[Replica]:
    # Most replicas have all files, however many these are: then the same object stands for all at an endpoint.
    world = ask.pool.world
    whole = ask.pool.kept(
        "whole replicas",
        lambda: {rse: Replica(storage, 0, 0, rse.endswith(VP_SUFFIX)) for rse, storage in world.storages.items()},
    )

    def counted(one: Replica, held: frozenset[str]) -> Replica:
        return Replica(one.storage, len(held & dataset.lfns), len(dataset.lfns), one.vp)

    replicas = world.replicas.get(dataset.name, {}).items()
    return [whole[rse] if held is None else counted(whole[rse], held) for rse, held in replicas if rse in whole]


def _is_readable_from_afar(ask: Ask, dataset: Dataset, available: Availability) -> bool:
    """Return whether input of *dataset* can be moved to another site.

    Under the rules panda, some replica that is complete enough (*available*) must be readable over WAN. Under the rules
    documented, only storage that is out of service prevents this: if there are replicas with files, one of them must be
    readable.
    """
    # What is complete enough has files.
    if available.remote_source or ask.rules.incomplete_input:
        return available.remote_source
    with_files = availability(_replicas(ask, dataset), math.inf, 0)
    return with_files.remote_source or not with_files.locations


class Sources(NamedTuple):
    """Where the input of a production task is.

    Args:
        remote: all input can be read over WAN.
        complete_at: the endpoints that have all of it; None: none need be complete.
        stop: why the task must wait for its input, with the numbers; None: it need not.
    """

    remote: bool
    complete_at: frozenset[str] | None
    stop: tuple[str, Details] | None


@once_per_task
def sources_of(ask: Ask) -> Sources:
    """Return where the input of a production task is; distributed datasets need not be complete anywhere.

    Tasks whose input is staged in advance need not wait. Under the rules documented, no task waits.
    """
    remote, complete_at, stop = True, None, None
    for dataset in ask.chunk.datasets:
        if not dataset.files or dataset.distributed:
            continue
        available = dataset_availability(ask, dataset)
        places = frozenset(available.locations)
        complete_at = places if complete_at is None else complete_at & places
        if ask.task.has_rule("IS"):
            continue
        remote = remote and _is_readable_from_afar(ask, dataset, available)
        if stop is None and ask.rules.incomplete_input and not available.is_readable:
            told: Details = {"dataset": dataset.name, "files": len(dataset.lfns), "complete_at": sorted(places)}
            stop = "source_unreadable" if places else "incomplete_input", told
    return Sources(remote, complete_at, stop)


class AnalysisSources(NamedTuple):
    """The replicas of the input of an analysis task.

    Args:
        available: of each dataset, by name.
        distributed: names of datasets whose files are spread over many sites on purpose.
        remote: all datasets, except distributed ones, can be read over WAN.
        stop: the dataset that no readable endpoint has completely enough, and where it is; None if there is none.
    """

    available: dict[str, Availability]
    distributed: frozenset[str]
    remote: bool
    stop: Details | None


@once_per_task
def analysis_sources_of(ask: Ask) -> AnalysisSources:
    """Return the replicas of the input of an analysis task.

    Under the rules documented, no task waits for its input; tasks may allow incomplete input by rule *AI*.
    """
    available = {dataset.name: dataset_availability(ask, dataset) for dataset in ask.chunk.datasets}
    distributed = frozenset(each.name for each in ask.chunk.datasets if _is_distributed(ask, each))
    gathered = [each for each in ask.chunk.datasets if each.name not in distributed]
    remote = all(_is_readable_from_afar(ask, each, available[each.name]) for each in gathered)
    stop: Details | None = None
    if ask.rules.incomplete_input and not ask.task.has_rule("AI"):
        lost = next((each for each in gathered if not (available[each.name].disk or available[each.name].tape)), None)
        if lost is not None:
            places = list(available[lost.name].locations)
            stop = {"dataset": lost.name, "files": len(lost.lfns), "complete_at": places}
    return AnalysisSources(available, distributed, remote, stop)


def _is_distributed(ask: Ask, dataset: Dataset) -> bool:
    # A container is taken for distributed wherever a candidate has some of it; another dataset if it says so and no
    # candidate has all of it (PanDA AtlasAnalJobBroker).
    readers, is_candidate = units_reading(ask.pool, USER), selection_of(ask).units
    held = [
        files is None or dataset.lfns <= files
        for rse, files in ask.pool.world.replicas.get(dataset.name, {}).items()
        if rse in readers and is_candidate[readers[rse]].any()
    ]
    return bool(held) and (dataset.name.endswith(CONTAINER) or (dataset.distributed and not any(held)))
