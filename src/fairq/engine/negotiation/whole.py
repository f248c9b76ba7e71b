"""What a cycle on the slots within reach takes from one on the whole pool."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.request_columns import ColumnQueue


class Whole(Struct, frozen=True):
    """The figures of the whole pool, see `CycleDecision` for *pie* and *min_slot_weight*, and of the same jobs.

    *queues* are those that are by column, by submitter and schedd.
    """

    pie: float
    min_slot_weight: float
    autoclusters: Autoclusters
    queues: Mapping[tuple[str, str], ColumnQueue]
