"""What a queue is for, and its flags, read once per run (reference panda 1.1)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.catchall import Flags, read_flags
from fairq.engine.brokerage.columns import Booleans, Columns
from fairq.engine.brokerage.model import Queue
from fairq.engine.brokerage.tasks import ANALYSIS, PRODUCTION, Activity

_ACTIVITIES: dict[str, frozenset[Activity]] = {
    "production": frozenset({PRODUCTION}),
    "analysis": frozenset({ANALYSIS}),
    "unified": frozenset({PRODUCTION, ANALYSIS}),
}


def activities_of(queue: Queue, flags: Flags) -> frozenset[Activity]:
    """Return what runs at a queue: by its type, and both where ``grandly_unified`` is set."""
    return _ACTIVITIES["unified"] if flags.grandly_unified else _ACTIVITIES.get(queue.type, frozenset())


def flags_of(columns: Columns) -> tuple[Flags, ...]:
    """Return the flags of each row."""

    def make() -> tuple[Flags, ...]:
        of_units = [read_flags(unit.catchall, unit.params) for unit in columns.units]
        return tuple(of_units[unit] for unit in columns.unit_of)

    return columns.kept("flags", make)


def runs(columns: Columns, activity: Activity) -> Booleans:
    """Return for each row whether *activity* runs there; production needs a cloud as well."""

    def make() -> Booleans:
        needs_cloud = activity == PRODUCTION
        found = [
            activity in activities_of(queue, flags) and (bool(queue.cloud) or not needs_cloud)
            for queue, flags in zip(columns.queues, flags_of(columns), strict=True)
        ]
        return np.array(found, dtype=np.bool_)

    return columns.kept(("runs", activity), make)
