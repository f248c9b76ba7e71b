"""Changes that may start many waiting jobs of one kind, not just the first of them; none is verified here."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from fairq.engine.explain.alternatives import asks_for_nothing
from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis
from fairq.engine.explain.losses import LostTo
from fairq.engine.explain.remedies import Remedy, job_name, more, remedies, weight

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
