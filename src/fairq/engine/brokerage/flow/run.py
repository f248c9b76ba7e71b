"""One brokerage run: the pool as columns once, then task by task."""

from __future__ import annotations

from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.pseudo_queues import candidates_of
from fairq.engine.brokerage.pool.world import World


def columns_of(world: World) -> Columns:
    """Return the queues of *world* as columns, pseudo queues in the place of unified ones."""
    return Columns(world, candidates_of(world.queues.values(), world.resource_types))
