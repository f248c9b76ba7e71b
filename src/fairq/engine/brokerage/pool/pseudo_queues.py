"""Unified queues and their pseudo queues (docs/panda.md, Queues; PanDA SiteMapper)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from fairq.engine.brokerage.pool.model import Queue, ResourceType


def split_queue(queue: Queue, types: Iterable[ResourceType]) -> list[Queue]:
    """Return the pseudo queues of a unified *queue*, one for each resource type that its slots can hold.

    Unlimited memory stays unlimited. The minimum memory of a pseudo queue may exceed its maximum; it then accepts no
    task.
    """
    slot_cores = max(1, queue.corecount)
    return [_pseudo_queue(queue, slot_cores, kind) for kind in types if slot_cores >= kind.mincore]


def candidates_of(queues: Iterable[Queue], types: Iterable[ResourceType]) -> list[Queue]:
    """Return the possible candidates: *queues*, with pseudo queues in place of each unified queue.

    A unified queue without pseudo queues stays, so that its refusal can be explained.
    """
    kinds = tuple(types)
    return [each for queue in queues for each in ((split_queue(queue, kinds) if queue.is_unified else []) or [queue])]


def _pseudo_queue(queue: Queue, slot_cores: int, kind: ResourceType) -> Queue:
    cores = max(min(slot_cores, kind.maxcore) if kind.maxcore else slot_cores, kind.mincore)
    part = cores / slot_cores
    least, most = queue.minrss or 0, queue.maxrss
    if kind.minrampercore is not None:
        minrss = max(cores * kind.minrampercore - cores + 1, least * part)
    else:
        minrss = max(least * part, least)
    if most is None:
        maxrss = None if kind.maxrampercore is None else cores * kind.maxrampercore
    elif kind.maxrampercore is not None:
        maxrss = min(cores * kind.maxrampercore, most * part)
    else:
        maxrss = min(most * part, most)
    return replace(
        queue,
        name=f"{queue.name}/{kind.name}",
        unified=queue.name,
        resource_type=kind.name,
        corecount=cores,
        minrss=minrss,
        maxrss=maxrss,
    )
