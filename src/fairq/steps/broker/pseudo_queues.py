"""Data derived from the queues: pseudo queues and nuclei."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairq.engine.brokerage.criteria.nucleus import ROLE, nucleus
from fairq.engine.brokerage.pool.columns import columns_of
from fairq.engine.brokerage.pool.world import World
from fairq.state.connection import State, reading
from fairq.steps.broker.world import load_queues, load_relations, load_storages, load_types

Record = dict[str, Any]


def pseudo_queues(path: Path) -> list[Record]:
    """Return the pseudo queues of every unified queue, as the brokerage makes them."""
    with reading(path) as state:
        columns = columns_of(_world(state))
    return [
        {
            "queue": queue.name,
            "unified": queue.unit,
            "resource_type": queue.resource_type,
            "status": queue.status,
            "corecount": queue.corecount,
            "minrss": queue.minrss,
            "maxrss": queue.maxrss,
            "maxwdir": queue.maxwdir,
            "maxtime": queue.maxtime,
        }
        for queue in columns.queues
        if queue.resource_type
    ]


def nuclei(path: Path, *, every: bool) -> list[Record]:
    """Return the nuclei: sites with that role, with their queues and output endpoints.

    *every*: queues of every kind count (``broker.every_queue``), not only production queues with a cloud.
    """
    with reading(path) as state:
        columns = columns_of(_world(state))
    sites = sorted({queue.site for queue in columns.queues if queue.role == ROLE})
    found = []
    for site in sites:
        one = nucleus(columns, site, every=every)
        members = [queue.unit for queue, is_member in zip(columns.queues, one.members, strict=True) if is_member]
        sharing = [queue.unit for queue, shares in zip(columns.queues, one.sharing, strict=True) if shares]
        output = one.output
        found.append(
            {
                "nucleus": site,
                "queues": list(dict.fromkeys(members)),
                "output": None if output is None else output.rse,
                "write_wan": None if output is None else output.activities.get("write_wan"),
                "bareNucleus": one.bare,
                "sharing": list(dict.fromkeys(name for name in sharing if name not in members)),
            }
        )
    return found


def _world(state: State) -> World:
    return World(
        queues=load_queues(state),
        resource_types=load_types(state),
        storages=load_storages(state),
        relations=load_relations(state),
    )
