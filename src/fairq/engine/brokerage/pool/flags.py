"""The flags and activities of queues (docs/panda.md, Queues; PanDA SiteSpec)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity, Queue

NUCLEUS_MODES = ("only", "allow")
"""The valid values of ``bareNucleus``."""


class Flags(Struct, frozen=True):
    """The flags of one queue.

    Args:
        gpu: the queue has GPUs (obsolete).
        use_jumbo_jobs: it accepts jumbo jobs.
        grandly_unified: production and analysis both run here, whatever the queue's type.
        use_only_local_data: no input may be moved here.
        disable_reassign: waiting jobs stay here.
        per_core_attr: memory and scratch are given per core.
        allow_no_pilot: the queue needs no recent pilots.
        sim_events, min_events_for_jumbo, max_disk_per_core, job_chunk_size: whole numbers, None is not given.
        bare_nucleus: ``only`` or ``allow``.
        secondary_nucleus: the nucleus that it also belongs to.
        allowed_processing, excluded_processing: processing types; None is not given.
        max_io_intensity: maximum kB/s of tasks; only in ``params``.

    Flags that PanDA's brokers no longer read are kept for filters of plugins.
    """

    gpu: bool = False
    use_jumbo_jobs: bool = False
    grandly_unified: bool = False
    use_only_local_data: bool = False
    disable_reassign: bool = False
    per_core_attr: bool = False
    allow_no_pilot: bool = False
    sim_events: int | None = None
    min_events_for_jumbo: int | None = None
    max_disk_per_core: int | None = None
    job_chunk_size: int | None = None
    bare_nucleus: str | None = None
    secondary_nucleus: str | None = None
    allowed_processing: tuple[str, ...] | None = None
    excluded_processing: tuple[str, ...] | None = None
    max_io_intensity: float | None = None


def read_flags(catchall: str | None, params: Mapping[str, Any] | None = None) -> Flags:
    """Return the flags in *catchall* (``name`` or ``name=value``, between commas) and *params*, which comes first.

    A flag is set if an item begins with its name, or if *params* has the name, whatever its value. An invalid number or
    word counts as not given.
    """
    source = _Source((catchall or "").split(",") if catchall else [], params or {})
    return Flags(
        gpu=source.has("gpu"),
        use_jumbo_jobs=source.has("useJumboJobs"),
        grandly_unified=source.has("grandly_unified"),
        use_only_local_data=source.has("use_only_local_data"),
        disable_reassign=source.has("disableReassign"),
        per_core_attr=source.has("per_core_attr"),
        allow_no_pilot=source.has("allow_no_pilot"),
        sim_events=source.integer("nSimEvents"),
        min_events_for_jumbo=source.integer("minEventsForJumbo"),
        max_disk_per_core=source.integer("maxDiskPerCore"),
        job_chunk_size=source.integer("jobChunkSize"),
        bare_nucleus=source.one_of("bareNucleus", NUCLEUS_MODES),
        secondary_nucleus=source.word("secondaryNucleus"),
        allowed_processing=source.words("allowed_processing"),
        excluded_processing=source.words("excluded_processing"),
        max_io_intensity=_number((params or {}).get("max_io_intensity")),
    )


class _Source(Struct, frozen=True):
    items: list[str]
    params: Mapping[str, Any]

    def has(self, name: str) -> bool:
        return name in self.params or any(item.startswith(name) for item in self.items)

    def value(self, name: str) -> Any:
        if name in self.params:
            return self.params[name]
        start = f"{name}="
        return next((item[len(start) :] for item in self.items if item.startswith(start) and item != start), None)

    def integer(self, name: str) -> int | None:
        value = self.value(name)
        try:
            return None if value is None else int(value)
        except (TypeError, ValueError, OverflowError):
            return None

    def word(self, name: str) -> str | None:
        value = self.value(name)
        return str(value) if value else None

    def one_of(self, name: str, valid: tuple[str, ...]) -> str | None:
        value = self.value(name)
        return value if value in valid else None

    def words(self, name: str) -> tuple[str, ...] | None:
        value = self.value(name)
        if not value:
            return None
        return tuple(map(str, value)) if isinstance(value, list) else tuple(str(value).split("|"))


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


_ACTIVITIES: dict[str, frozenset[Activity]] = {
    "production": frozenset({PRODUCTION}),
    "analysis": frozenset({ANALYSIS}),
    "unified": frozenset({PRODUCTION, ANALYSIS}),
}


def activities_of(queue: Queue, flags: Flags) -> frozenset[Activity]:
    """Return the activities of a queue: by its type, or both if ``grandly_unified`` is set."""
    return _ACTIVITIES["unified"] if flags.grandly_unified else _ACTIVITIES.get(queue.type, frozenset())


def flags_of(pool: Pool) -> tuple[Flags, ...]:
    """Return the flags of each row."""

    def make() -> tuple[Flags, ...]:
        flags_by_unit = [read_flags(unit.catchall, unit.params) for unit in pool.units]
        return tuple(flags_by_unit[unit] for unit in pool.unit_of)

    return pool.kept("flags", make)


def _runs_by_type(pool: Pool, activity: Activity) -> Booleans:
    """Return for each row whether *activity* runs there by the queue's type."""

    def make() -> Booleans:
        queues = zip(pool.queues, flags_of(pool), strict=True)
        return np.array([activity in activities_of(queue, flags) for queue, flags in queues], dtype=np.bool_)

    return pool.kept(("runs", activity), make)


def listed(pool: Pool) -> Booleans:
    """Return for each row whether PanDA knows the queue: it drops production queues without a cloud."""
    return pool.flags("cloud", lambda queue: bool(queue.cloud)) | ~_runs_by_type(pool, PRODUCTION)


def runs(pool: Pool, activity: Activity) -> Booleans:
    """Return for each row whether *activity* runs there: by the queue's type, if PanDA knows the queue.

    Under the rule ``every_queue``, production runs everywhere, and a queue needs no cloud to be known.
    """
    if not pool.rules.every_queue:
        return _runs_by_type(pool, activity) & listed(pool)
    return np.ones(len(pool), dtype=np.bool_) if activity == PRODUCTION else _runs_by_type(pool, activity)


def runs_all_of(pool: Pool, row: int) -> Booleans:
    """Return for each row whether all activities of *row* run there as well."""
    both = [runs(pool, activity) for activity in (PRODUCTION, ANALYSIS)]
    result: Booleans = np.logical_and.reduce([rows | ~rows[row] for rows in both])
    return result


def has_flag(pool: Pool, name: str) -> Booleans:
    """Return for each row whether the flag *name* of `Flags` is set."""
    return pool.kept(
        ("flag of queue", name), lambda: np.array([getattr(flags, name) for flags in flags_of(pool)], np.bool_)
    )


def flag_numbers(pool: Pool, name: str) -> Floats:
    """Return the number *name* among the `Flags` of each row; NaN where it is not given."""

    def make() -> Floats:
        numbers = [getattr(flags, name) for flags in flags_of(pool)]
        return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)

    return pool.kept(("flag number", name), make)


def takes_jumbo_jobs(pool: Pool) -> Booleans:
    """Return for each row whether jumbo jobs run there."""
    return has_flag(pool, "use_jumbo_jobs")


def other_than_jumbo(pool: Pool, rows: Booleans, jumbo: bool) -> Booleans:
    """Return *rows*, without queues for jumbo jobs if the task uses them (*jumbo*)."""
    return rows & ~takes_jumbo_jobs(pool) if jumbo else rows
