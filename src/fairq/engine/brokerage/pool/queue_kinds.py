"""The activities of a queue and its flags, computed once per run (docs/panda.md, Queues)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.pool.activity import ANALYSIS, PRODUCTION, Activity
from fairq.engine.brokerage.pool.catchall import Flags, read_flags
from fairq.engine.brokerage.pool.columns import Booleans, Columns, Floats
from fairq.engine.brokerage.pool.model import Queue

_ACTIVITIES: dict[str, frozenset[Activity]] = {
    "production": frozenset({PRODUCTION}),
    "analysis": frozenset({ANALYSIS}),
    "unified": frozenset({PRODUCTION, ANALYSIS}),
}


def activities_of(queue: Queue, flags: Flags) -> frozenset[Activity]:
    """Return the activities of a queue: by its type, or both if ``grandly_unified`` is set."""
    return _ACTIVITIES["unified"] if flags.grandly_unified else _ACTIVITIES.get(queue.type, frozenset())


def flags_of(columns: Columns) -> tuple[Flags, ...]:
    """Return the flags of each row."""

    def make() -> tuple[Flags, ...]:
        # Most queues say nothing in params, and what they say in catchall repeats.
        of_catchall = {text: read_flags(text) for text in {unit.catchall for unit in columns.units}}
        of_units = [
            read_flags(unit.catchall, unit.params) if unit.params else of_catchall[unit.catchall]
            for unit in columns.units
        ]
        return tuple(of_units[unit] for unit in columns.unit_of)

    return columns.kept("flags", make)


def listed(columns: Columns) -> Booleans:
    """Return for each row whether PanDA knows the queue: it drops production queues without a cloud."""

    def make() -> Booleans:
        kinds = [activities_of(queue, flags) for queue, flags in zip(columns.queues, flags_of(columns), strict=True)]
        known = [bool(q.cloud) or PRODUCTION not in kind for q, kind in zip(columns.queues, kinds, strict=True)]
        return np.array(known, dtype=np.bool_)

    return columns.kept("listed", make)


def runs(columns: Columns, activity: Activity, *, every: bool) -> Booleans:
    """Return for each row whether *activity* runs there: by the queue's type, if PanDA knows the queue.

    With *every* (rule ``every_queue``) production runs everywhere, and a queue needs no cloud to be known.
    """

    def make() -> Booleans:
        if every and activity == PRODUCTION:
            return np.ones(len(columns), dtype=np.bool_)
        kinds = [activities_of(queue, flags) for queue, flags in zip(columns.queues, flags_of(columns), strict=True)]
        of_kind = np.array([activity in kind for kind in kinds], dtype=np.bool_)
        return of_kind if every else of_kind & listed(columns)

    return columns.kept(("runs", activity, every), make)


def runs_all_of(columns: Columns, row: int, *, every: bool) -> Booleans:
    """Return for each row whether everything that runs at *row* runs there as well (*every*: see `runs`)."""
    both = [runs(columns, activity, every=every) for activity in (PRODUCTION, ANALYSIS)]
    result: Booleans = np.logical_and.reduce([kind | ~kind[row] for kind in both])
    return result


def has_flag(columns: Columns, name: str) -> Booleans:
    """Return for each row whether the flag *name* of `Flags` is set."""
    return columns.kept(
        ("flag of queue", name), lambda: np.array([getattr(flags, name) for flags in flags_of(columns)], np.bool_)
    )


def flag_numbers(columns: Columns, name: str) -> Floats:
    """Return the number *name* among the `Flags` of each row; NaN where it is not given."""

    def make() -> Floats:
        numbers = [getattr(flags, name) for flags in flags_of(columns)]
        return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)

    return columns.kept(("flag number", name), make)


def takes_jumbo_jobs(columns: Columns) -> Booleans:
    """Return for each row whether jumbo jobs run there."""
    return has_flag(columns, "use_jumbo_jobs")


def other_than_jumbo(columns: Columns, rows: Booleans, jumbo: bool) -> Booleans:
    """Return *rows*; of a task that uses jumbo jobs (*jumbo*), without the queues for these."""
    return rows & ~takes_jumbo_jobs(columns) if jumbo else rows
