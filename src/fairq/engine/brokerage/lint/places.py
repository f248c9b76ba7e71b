"""Queues without storage, and records about queues that do not exist (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fairq.engine.brokerage.lint.finding import Finding, finding, nearest
from fairq.engine.brokerage.pool.model import Queue
from fairq.engine.brokerage.pool.world import World

PRODUCTION_TYPE = "DATADISK"


def storage_findings(queue: Queue, world: World) -> Iterator[Finding]:
    """Yield the missing storage of *queue*; nothing if no storage was imported."""
    found = partial(finding, queue.name, "relations")
    if not world.relations or not world.storages:
        return
    used = world.relations.get(queue.name, ())
    unknown = sorted({relation.rse for relation in used} - world.storages.keys())
    if unknown:
        listed = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        yield found("unknown endpoint", listed, meant=nearest(unknown[0], world.storages))
    known = [relation for relation in used if relation.rse in world.storages]
    for role in ("read_lan", "write_lan"):
        able = [relation for relation in known if role in relation.roles]
        if not able:
            yield found("no storage", role, f"no storage to {role}", role=role)
        elif queue.type == "production" and not any(
            world.storages[relation.rse].type == PRODUCTION_TYPE for relation in able
        ):
            yield found("no datadisk", role, f"no datadisk to {role}", type=PRODUCTION_TYPE)
    if used and not any(relation.default_write for relation in known):
        yield found("no default", "default_write")


def stray_findings(world: World) -> Iterator[Finding]:
    """Yield the records about queues that do not exist."""
    described = {
        "software": sorted(set(world.software) - {"ALL"}),
        "slots": sorted({one.queue for one in world.slots}),
        "relations": sorted(world.relations),
    }
    names = {*world.queues, *(f"{name}/{kind.name}" for name in world.queues for kind in world.resource_types)}
    for field, queues in described.items():
        for name in queues:
            if name not in names:
                yield finding(name, field, "unknown queue", name, meant=nearest(name, world.queues))
    types = {kind.name for kind in world.resource_types}
    for one in world.slots:
        if one.resource_type and one.resource_type not in types:
            meant = nearest(one.resource_type, types)
            yield finding(one.queue, "slots", "unknown type", one.resource_type, "unknown resource type", meant=meant)
