"""Where the input of a task is, and whether it can be read (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.criteria.candidates import selection_of
from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.flow.plugin import Details
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.pool.storage import USER, VP_SUFFIX, units_reading
from fairq.engine.brokerage.pool.world import PRODUCTION, Storage

Name = TypeVar("Name", str, int)


def available_files(dataset: Dataset, rse: str, held: frozenset[str] | None, *, merging: bool) -> Set[str]:
    """Return the files of *dataset* that count as present at *rse*, which has *held* of them (None: all).

    For a merge, and for virtually placed files, any file counts as all files (PanDA AtlasDDMClient).
    """
    files: Set[str] = dataset.lfns if held is None else held & dataset.lfns
    return dataset.lfns if files and (merging or rse.endswith(VP_SUFFIX)) else files


def not_looked_up(is_whole: Mapping[str, bool], readers: Mapping[str, NDArray[np.intp]]) -> frozenset[str]:
    """Return the endpoints where single files of a dataset are not looked for (PanDA AtlasDDMClient).

    They are looked for only where a queue that reads the endpoint has no whole replica.

    Args:
        is_whole: for each endpoint with a replica, whether it is whole.
        readers: the numbers of the queues that read from each endpoint.
    """
    served = {
        queue for rse, complete in is_whole.items() if complete and rse in readers for queue in readers[rse].tolist()
    }
    return frozenset(
        rse
        for rse, complete in is_whole.items()
        if not complete and (rse not in readers or served.issuperset(readers[rse].tolist()))
    )


class Replica(Struct, frozen=True):
    """A replica of a dataset: its endpoint and the number of files there, out of *total*; *vp*: placed virtually.

    *file_count* is None if the files were not counted.
    """

    storage: Storage
    file_count: int | None
    total: int
    vp: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether no file is missing."""
        return self.file_count == self.total

    def counts(self, max_missing: float, min_completeness: float) -> bool:
        """Return whether the replica is complete enough to be read.

        Args:
            max_missing: number of files that may be missing (``MAX_MISSING_INPUT_FILES``).
            min_completeness: percentage that is sufficient otherwise (``MIN_INPUT_COMPLETENESS``).
        """
        if self.is_complete:
            return True
        if not self.file_count or not self.total:
            return False
        return self.total - self.file_count <= max_missing or self.file_count / self.total * 100 >= min_completeness


class Availability(Struct, frozen=True):
    """Summary of the replicas of a dataset, without virtual ones.

    Endpoints that can be read over neither LAN nor WAN count only for *locations*.

    Args:
        disk: a counting replica is on disk.
        complete_disk: a counting replica with all files is on disk.
        tape: a counting replica is on tape.
        local_source: a counting replica can be read over LAN.
        remote_source: a counting replica can be read over WAN.
        locations: the endpoints of all counting replicas.
    """

    disk: bool = False
    complete_disk: bool = False
    tape: bool = False
    local_source: bool = False
    remote_source: bool = False
    locations: tuple[str, ...] = ()

    @property
    def is_readable(self) -> bool:
        """Whether a counting replica can be read."""
        return self.local_source or self.remote_source


def availability(replicas: Iterable[Replica], max_missing: float, min_completeness: float) -> Availability:
    """Return the availability from *replicas* (PanDA get_sites_with_data); for the limits see `Replica.counts`."""
    disk = complete_disk = tape = local = remote = False
    locations = []
    for replica in replicas:
        storage = replica.storage
        if replica.vp or not replica.counts(max_missing, min_completeness):
            continue
        locations.append(storage.rse)
        near, far = storage.is_readable_near, storage.is_readable_afar
        local, remote = local or near, remote or far
        if not (near or far):
            continue
        if storage.is_tape:
            tape = True
        else:
            disk = True
            complete_disk = complete_disk or replica.is_complete
    return Availability(disk, complete_disk, tape, local, remote, tuple(locations))


class ReplicaState(NamedTuple):
    """A replica as seen from a queue that reads it: on tape, complete (exactly), virtual."""

    tape: bool
    complete: bool
    vp: bool = False


def queues_with_data(
    states: Mapping[Name, Iterable[ReplicaState]], *, include_tape: bool, use_vp: bool, use_incomplete: bool
) -> set[Name]:
    """Return the queues that have a dataset nearby (PanDA getAnalSitesWithDataDisk).

    Args:
        states: the replicas that each queue reads; queues by names or numbers.
        include_tape: replicas on tape count.
        use_vp: virtual replicas count, as long as no queue has a complete one on a normal disk.
        use_incomplete: queues with incomplete replicas are accepted beside those with complete ones, unless a complete
            one is on a normal disk. If there is no complete replica, they are always accepted.
    """
    complete, incomplete, virtual = set[Name](), set[Name](), set[Name]()
    on_disk = False
    for queue, replicas in states.items():
        for replica in replicas:
            if replica.vp:
                virtual.add(queue)
            if (replica.vp and not use_vp) or (replica.tape and not include_tape):
                continue
            if replica.complete:
                complete.add(queue)
                on_disk = on_disk or not (replica.tape or replica.vp)
            else:
                incomplete.add(queue)
    if on_disk:
        complete -= virtual
        incomplete -= virtual
    if not complete:
        return incomplete
    return complete | incomplete if use_incomplete and not on_disk else complete


CONTAINER = "/"
"""End of the names of containers of datasets."""


def dataset_availability(ask: Ask, dataset: Dataset) -> Availability:
    """Return the availability of one dataset, by the settings of the task's brokerage."""
    component, amount = "jobbroker" if ask.activity == PRODUCTION else "anal_jobbroker", ask.config.amount
    max_missing = amount(f"{component}.MAX_MISSING_INPUT_FILES")
    return availability(_replicas(ask, dataset), max_missing, amount(f"{component}.MIN_INPUT_COMPLETENESS"))


def _replicas(ask: Ask, dataset: Dataset) -> list[Replica]:
    world, names = ask.pool.world, dataset.lfns
    return [
        Replica(world.storages[rse], len(names if held is None else held & names), len(names), rse.endswith(VP_SUFFIX))
        for rse, held in world.replicas.get(dataset.name, {}).items()
        if rse in world.storages
    ]


def _is_readable_from_afar(ask: Ask, dataset: Dataset, available: Availability) -> bool:
    """Return whether input of *dataset* can be moved to another site.

    Under the rules panda, some replica that is complete enough (*available*) must be readable over WAN. Under the rules
    documented, only storage that is out of service prevents this: if there are replicas with files, one of them must be
    readable.
    """
    # A replica that is complete enough has files.
    if available.remote_source or ask.rules.incomplete_input:
        return available.remote_source
    with_files = availability(_replicas(ask, dataset), math.inf, 0)
    return with_files.remote_source or not with_files.locations


class Sources(NamedTuple):
    """Where the input of a production task is.

    Args:
        remote: all input can be read over WAN.
        complete_at: the endpoints that have all of it; None: none need be complete.
        stop: why the task must wait for its input, with the values; None: it need not wait.
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
        endpoints = frozenset(available.locations)
        complete_at = endpoints if complete_at is None else complete_at & endpoints
        if ask.task.has_rule("IS"):
            continue
        remote = remote and _is_readable_from_afar(ask, dataset, available)
        if stop is None and ask.rules.incomplete_input and not available.is_readable:
            details: Details = {"dataset": dataset.name, "files": len(dataset.lfns), "complete_at": sorted(endpoints)}
            stop = "source_unreadable" if endpoints else "incomplete_input", details
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
    distributed = frozenset(dataset.name for dataset in ask.chunk.datasets if _is_distributed(ask, dataset))
    gathered = [dataset for dataset in ask.chunk.datasets if dataset.name not in distributed]
    remote = all(_is_readable_from_afar(ask, dataset, available[dataset.name]) for dataset in gathered)
    stop: Details | None = None
    if ask.rules.incomplete_input and not ask.task.has_rule("AI"):
        missing = next(
            (dataset for dataset in gathered if not (available[dataset.name].disk or available[dataset.name].tape)),
            None,
        )
        if missing is not None:
            endpoints = list(available[missing.name].locations)
            stop = {"dataset": missing.name, "files": len(missing.lfns), "complete_at": endpoints}
    return AnalysisSources(available, distributed, remote, stop)


def _is_distributed(ask: Ask, dataset: Dataset) -> bool:
    # A container counts as distributed if a candidate has some of it; another dataset if it is marked so and no
    # candidate has all of it (PanDA AtlasAnalJobBroker).
    readers, is_candidate = units_reading(ask.pool, USER), selection_of(ask).units
    held = [
        files is None or dataset.lfns <= files
        for rse, files in ask.pool.world.replicas.get(dataset.name, {}).items()
        if rse in readers and is_candidate[readers[rse]].any()
    ]
    return bool(held) and (dataset.name.endswith(CONTAINER) or (dataset.distributed and not any(held)))
