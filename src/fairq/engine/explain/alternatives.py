"""Other changes than the smallest: those that let a job run by themselves, and those that start many of its kind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.explain.changes import OWNERS, Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis
from fairq.engine.explain.losses import LostTo
from fairq.engine.explain.remedies import Remedy, job_name, more, remedies, weight
from fairq.engine.explain.search import World

_OF_EACH = 2


class Alternatives(Struct, frozen=True):
    """Changes that were tried in a cycle, which matched the job: any of *owners*, or any of *administrators*."""

    owners: tuple[Remedy, ...]
    administrators: tuple[Remedy, ...]


def alternatives(world: World, diagnosis: Diagnosis) -> Alternatives:
    """Try single remedies; waiting for a slot and asking for nothing are none."""
    owners: list[Remedy] = []
    administrators: list[Remedy] = []
    for remedy in remedies(diagnosis):
        kinds = {change.kind for change in remedy}
        if ChangeKind.FREE_SLOT in kinds or any(map(asks_for_nothing, remedy)):
            continue
        found = owners if kinds <= OWNERS else administrators
        is_needed = len(found) < _OF_EACH and not any(_same_targets(remedy, other) for other in found)
        if is_needed and world.changed(remedy).is_matched():
            found.append(remedy)
    return Alternatives(tuple(owners), tuple(administrators))


def _same_targets(remedy: Remedy, other: Remedy) -> bool:
    """Say whether two remedies change the same to different values: the first, the smallest change, is enough."""

    def targets(changes: Remedy) -> list[tuple[object, ...]]:
        return [(change.kind, change.of, change.attribute, change.clause) for change in changes]

    return targets(remedy) == targets(other)


def asks_for_nothing(change: Change) -> bool:
    """Say whether a job would have to ask for nothing of a resource: what is left of a machine that is full."""
    is_request = change.kind is ChangeKind.JOB_ATTRIBUTE and (change.attribute or "").lower().startswith("request")
    return is_request and isinstance(change.to, int | float) and change.to <= 0


_MOST_SLOTS = 1000
_WHOSE_TURN = frozenset(
    {
        ChangeKind.FREE_SLOT,
        ChangeKind.JOB_PRIORITY,
        ChangeKind.FACTOR,
        ChangeKind.PRIORITY,
        ChangeKind.FLOOR,
    }
)
"""Kinds of changes that start one job instead of another, or as soon as another ends."""


def wider(of: Diagnosis, jobs: int) -> Iterator[Remedy]:
    """Yield changes that may start *jobs* jobs like the one of the diagnosis, the smallest first."""
    seen: list[Remedy] = []
    smaller = tuple(_smaller(of))
    # What is left of a machine is no advice to a job that not even a whole machine can run.
    for remedy in (smaller,) if smaller else (*remedies(of), *more(of)):
        if any(change.kind in _WHOSE_TURN or asks_for_nothing(change) for change in remedy):
            continue
        widened = tuple(one for change in remedy for one in _widened(change, of, jobs))
        if widened and widened not in seen:
            seen.append(widened)
            yield widened


def _smaller(of: Diagnosis) -> Iterator[Change]:
    """Requests that whole slots can meet, for a job that asks for more."""
    names = {"Cpus": "RequestCpus", "Memory": "RequestMemory", "Disk": "RequestDisk", "GPUs": "RequestGPUs"}
    for one in of.too_large:
        yield Change(ChangeKind.JOB_ATTRIBUTE, job_name(of.job), int(one.largest), names[one.resource], now=one.asked)


def _widened(change: Change, of: Diagnosis, jobs: int) -> Iterator[Change]:
    """The same change, large enough for *jobs* jobs."""
    match change.kind:
        case ChangeKind.CEILING | ChangeKind.QUOTA:
            yield replace(change, to=change.to + math.ceil((jobs - 1) * weight(of)))
        case ChangeKind.CONCURRENCY_LIMIT:
            amount = of.limit_amounts.get(change.of, 1.0)
            yield replace(change, to=change.to + math.ceil((jobs - 1) * amount))
        case ChangeKind.ADD_SLOT:
            yield replace(change, to=min(_MOST_SLOTS, _machines(change.of, of, jobs)))
        case ChangeKind.UNDRAIN:
            for row in of.losses.rows(LostTo.DRAINING)[:jobs].tolist():
                yield replace(change, of=of.outcome.labels[row])
        case _:
            yield change


def _machines(like: str, of: Diagnosis, jobs: int) -> int:
    """The number of slots like the slot *like* that *jobs* jobs need, by their cores."""
    ad = of.outcome.given.ads[of.outcome.labels.index(like)]
    cores, asked = ad.get("TotalSlotCpus", ad.get("Cpus")), of.context.job.get("requestcpus", 1)
    if ad.get("PartitionableSlot") is not True or not isinstance(cores, int | float) or not asked:
        return jobs
    return max(1, math.ceil(jobs / max(1, cores // asked))) if isinstance(asked, int | float) else jobs
