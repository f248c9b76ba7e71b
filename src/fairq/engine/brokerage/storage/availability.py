"""The location and completeness of datasets (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import NamedTuple, TypeVar

from msgspec import Struct

from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.pool.model import Storage

Name = TypeVar("Name", str, int)

VP_SUFFIX = "_VP_DISK"
"""End of the names of endpoints with virtually placed input."""


def available_files(dataset: Dataset, rse: str, held: frozenset[str] | None, *, merging: bool) -> Set[str]:
    """Return the files of *dataset* that count as present at *rse*, which has *held* of them (None: all).

    For a merge, and for virtually placed files, any file counts as all files (PanDA AtlasDDMClient).
    """
    files: Set[str] = dataset.lfns if held is None else held & dataset.lfns
    return dataset.lfns if files and (merging or rse.endswith(VP_SUFFIX)) else files


def not_looked_up(is_whole: Mapping[str, bool], readers: Mapping[str, Collection[int]]) -> frozenset[str]:
    """Return the endpoints where single files of a dataset are not looked for (PanDA AtlasDDMClient).

    They are looked for only where a queue that reads the endpoint has no whole replica.

    Args:
        is_whole: for each endpoint with a replica, whether it is whole.
        readers: the numbers of the queues that read from each endpoint.
    """
    served = {queue for rse, whole in is_whole.items() if whole for queue in readers.get(rse, ())}
    return frozenset(rse for rse, whole in is_whole.items() if not whole and served.issuperset(readers.get(rse, ())))


class Replica(Struct, frozen=True):
    """A replica of a dataset: the endpoint, and the files found there of *total*; *vp* is a virtual one.

    *found* is None if the files were not counted.
    """

    storage: Storage
    found: int | None
    total: int
    vp: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether no file is missing."""
        return self.found == self.total

    def counts(self, max_missing: float, min_completeness: float) -> bool:
        """Return whether the replica is complete enough to be read.

        Args:
            max_missing: number of files that may be missing (``MAX_MISSING_INPUT_FILES``).
            min_completeness: percentage that is sufficient otherwise (``MIN_INPUT_COMPLETENESS``).
        """
        if self.is_complete:
            return True
        if not self.found or not self.total:
            return False
        return self.total - self.found <= max_missing or self.found / self.total * 100 >= min_completeness


class Availability(Struct, frozen=True):
    """What the replicas of a dataset come to; virtual ones left out, and all but *locations* without endpoints that can
    be read over neither LAN nor WAN.

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
    for each in replicas:
        storage = each.storage
        if each.vp or not (each.found == each.total or each.counts(max_missing, min_completeness)):
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
            complete_disk = complete_disk or each.is_complete
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
