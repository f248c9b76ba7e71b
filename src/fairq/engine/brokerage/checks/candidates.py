"""Queues that can accept no task (docs/panda.md, Queues)."""

from __future__ import annotations

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import Activity

CANDIDATES_STAGE = "candidates"
"""The line of the stage table for the first candidates."""


class NoPseudoQueue(KeyedFilter):
    """A unified queue whose slots no resource type fits has no pseudo queue that a task could go to."""

    stage = CANDIDATES_STAGE
    reads = ()
    reasons = (Reason("no_resource_type"),)

    def __init__(self, activity: Activity) -> None:
        self.name = f"pseudo queues of {activity}"
        self.activities = frozenset({activity})

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse unified queues themselves, which are among the rows only if they have no pseudo queue."""
        return request.columns.flags("unified", lambda queue: queue.is_unified)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the cores of the queue and the resource types."""
        kinds = [kind.name for kind in request.world.resource_types]
        return {"corecount": request.columns.queues[row].corecount, "resource_types": kinds}
