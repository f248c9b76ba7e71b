"""Queues whose storage is not told, and what is told of queues that are not there (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fairq.engine.brokerage.lint.finding import Finding, nearest
from fairq.engine.brokerage.pool.model import Queue
from fairq.engine.brokerage.pool.world import World

_PRODUCTION_TYPE = "DATADISK"


def storage_findings(queue: Queue, world: World) -> Iterator[Finding]:
    """Yield what of the storage of *queue* is missing; nothing if the pool's storage is not told."""
    found = partial(Finding, queue.name)
    if not world.relations or not world.storages:
        return
    used = world.relations.get(queue.name, ())
    unknown = sorted({relation.rse for relation in used} - world.storages.keys())
    if unknown:
        yield found(
            "relations",
            "unknown endpoint",
            ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""),
            "nothing is known of it: it is not looked at",
            _perhaps(unknown[0], world.storages),
        )
    known = [relation for relation in used if relation.rse in world.storages]
    for role, what in (("read_lan", "read input from"), ("write_lan", "write output to")):
        able = [relation for relation in known if role in relation.roles]
        if not able:
            yield found(
                "relations",
                "no storage",
                role,
                f"it has no endpoint to {what}: every production task is refused",
                f"relate it to an endpoint with the role {role}",
            )
        elif queue.type == "production" and not any(
            world.storages[relation.rse].type == _PRODUCTION_TYPE for relation in able
        ):
            yield found(
                "relations",
                "no datadisk",
                role,
                f"production looks at endpoints of type {_PRODUCTION_TYPE} only, and it has none to {what}",
                f"relate it to a {_PRODUCTION_TYPE}",
            )
    if used and not any(relation.default_write for relation in known):
        yield found(
            "relations",
            "no default",
            "default_write",
            "it has no default endpoint for output: no link and no free space can be looked at",
            "say default_write of one of its endpoints",
        )


def stray_findings(world: World) -> Iterator[Finding]:
    """Yield what is told of queues that are not there."""
    told = {
        "software": sorted(set(world.software) - {"ALL"}),
        "slots": sorted({one.queue for one in world.slots}),
        "relations": sorted(world.relations),
    }
    names = {*world.queues, *(f"{name}/{kind.name}" for name in world.queues for kind in world.resource_types)}
    for field, queues in told.items():
        for name in queues:
            if name not in names:
                yield Finding(
                    name,
                    field,
                    "unknown queue",
                    name,
                    "there is no such queue: it is not looked at",
                    _perhaps(name, world.queues),
                )
    types = {kind.name for kind in world.resource_types}
    for one in world.slots:
        if one.resource_type and one.resource_type not in types:
            yield Finding(
                one.queue,
                "slots",
                "unknown type",
                one.resource_type,
                "no task is of that resource type",
                _perhaps(one.resource_type, types),
            )


def _perhaps(name: str, known: object) -> str:
    assert hasattr(known, "__iter__")
    close = nearest(name, known)
    return f"write {close}" if close else "add it, or take this out"
