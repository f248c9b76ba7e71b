"""Alternatives to the smallest change: changes that alone let a job run, and changes that start many jobs like it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from fairq.engine.explain.changes import Change, ChangeKind, maker
from fairq.engine.explain.diagnosis import Diagnosis
from fairq.engine.explain.losses import LostTo
from fairq.engine.explain.remedies import Remedy, job_name, one_more_slot, remedies, weight
from fairq.engine.explain.search import World

_MOST_PER_GROUP = 2


def alternatives(world: World, diagnosis: Diagnosis) -> dict[str, list[Remedy]]:
    """Return changes with each of which a cycle matched the job, by who can make them (`maker`).

    Single remedies are tried, but not waiting for a slot, nor requests of 0.
    """
    found: dict[str, list[Remedy]] = {"owner": [], "administrator": []}
    for remedy in remedies(diagnosis):
        if any(change.kind is ChangeKind.FREE_SLOT or asks_for_nothing(change) for change in remedy):
            continue
        group = found[maker(remedy)]
        is_needed = len(group) < _MOST_PER_GROUP and not any(_same_targets(remedy, other) for other in group)
        if is_needed and world.changed(remedy).is_matched():
            group.append(remedy)
    return found


def _same_targets(remedy: Remedy, other: Remedy) -> bool:
    """Return whether two remedies change the same things to different values; the first, smallest one is enough."""

    def targets(changes: Remedy) -> list[tuple[object, ...]]:
        return [(change.kind, change.of, change.attribute, change.clause) for change in changes]

    return targets(remedy) == targets(other)


def asks_for_nothing(change: Change) -> bool:
    """Return whether *change* sets a request of the job to 0, which is all that a full machine has left."""
    is_request = change.kind is ChangeKind.JOB_ATTRIBUTE and (change.attribute or "").lower().startswith("request")
    return is_request and isinstance(change.to, int | float) and change.to <= 0


_MOST_SLOTS = 1000
_DISPLACING = frozenset(
    {
        ChangeKind.FREE_SLOT,
        ChangeKind.JOB_PRIORITY,
        ChangeKind.FACTOR,
        ChangeKind.PRIORITY,
        ChangeKind.FLOOR,
    }
)
"""Kinds of changes that start one job instead of another, or after another ends."""


def widened_remedies(diagnosis: Diagnosis, jobs: int) -> Iterator[Remedy]:
    """Yield changes that may start *jobs* jobs like the diagnosed one, the smallest first."""
    yielded: list[Remedy] = []
    smaller_requests = tuple(_smaller_requests(diagnosis))
    # A job that does not fit a whole machine gets no advice about what is free on a machine.
    for remedy in (smaller_requests,) if smaller_requests else (*remedies(diagnosis), *one_more_slot(diagnosis)):
        if any(change.kind in _DISPLACING or asks_for_nothing(change) for change in remedy):
            continue
        widened = tuple(part for change in remedy for part in _widen(change, diagnosis, jobs))
        if widened and widened not in yielded:
            yielded.append(widened)
            yield widened


def _smaller_requests(diagnosis: Diagnosis) -> Iterator[Change]:
    """Yield requests that whole slots can meet, for a job that asks for more."""
    attributes = {"Cpus": "RequestCpus", "Memory": "RequestMemory", "Disk": "RequestDisk", "GPUs": "RequestGPUs"}
    for excess in diagnosis.too_large:
        yield Change(
            ChangeKind.JOB_ATTRIBUTE,
            job_name(diagnosis.job),
            int(excess.largest),
            attributes[excess.resource],
            now=excess.asked,
        )


def _widen(change: Change, diagnosis: Diagnosis, jobs: int) -> Iterator[Change]:
    """Yield the same change, large enough for *jobs* jobs."""
    match change.kind:
        case ChangeKind.CEILING | ChangeKind.QUOTA:
            yield replace(change, to=change.to + math.ceil((jobs - 1) * weight(diagnosis)))
        case ChangeKind.CONCURRENCY_LIMIT:
            amount = diagnosis.limit_amounts.get(change.of, 1.0)
            yield replace(change, to=change.to + math.ceil((jobs - 1) * amount))
        case ChangeKind.ADD_SLOT:
            yield replace(change, to=min(_MOST_SLOTS, _slots_needed(change.of, diagnosis, jobs)))
        case ChangeKind.UNDRAIN:
            for row in diagnosis.losses.rows(LostTo.DRAINING)[:jobs].tolist():
                yield replace(change, of=diagnosis.outcome.labels[row])
        case _:
            yield change


def _slots_needed(model: str, diagnosis: Diagnosis, jobs: int) -> int:
    """Return how many slots like the slot *model* the cores of *jobs* jobs need."""
    ad = diagnosis.outcome.input.ads[diagnosis.outcome.labels.index(model)]
    cores, requested = ad.get("TotalSlotCpus", ad.get("Cpus")), diagnosis.context.job.get("requestcpus", 1)
    if ad.get("PartitionableSlot") is not True or not isinstance(cores, int | float) or not requested:
        return jobs
    return max(1, math.ceil(jobs / max(1, cores // requested))) if isinstance(requested, int | float) else jobs
