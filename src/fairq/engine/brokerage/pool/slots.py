"""How many slots a queue is asked to keep filled: ``numSlots`` (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairq.engine.brokerage.pool.model import Slots

SlotTable = Mapping[str | None, Mapping[str | None, int]]
"""Slots of one queue by share and resource type; None is all of them."""


def slot_tables(requests: Iterable[Slots], now: float) -> dict[str, SlotTable]:
    """Return the requests of each queue that hold at *now*: expired and negative ones are left out."""
    tables: dict[str, dict[str | None, dict[str | None, int]]] = {}
    for request in requests:
        if request.number >= 0 and (request.expires is None or request.expires > now):
            by_share = tables.setdefault(request.queue, {})
            by_share.setdefault(request.share or None, {})[request.resource_type or None] = request.number
    return {queue: dict(table) for queue, table in tables.items()}


def num_slots(table: SlotTable, share: str | None, resource_type: str | None) -> int | None:
    """Return the slots requested for a share and resource type; None: no request holds for them.

    The share's own row goes before that of all shares; in the row, the type before all types; no type is their sum.
    """
    row = table.get(share) or table.get(None)
    if row is None:
        return None
    if resource_type is None:
        return sum(row.values())
    return row.get(resource_type, row.get(None))
