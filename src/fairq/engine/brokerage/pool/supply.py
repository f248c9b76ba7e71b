"""The supply of a queue: job counts, pilots, batch workers, and requested slots (``numSlots``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.world import Slots

QUEUED = ("defined", "assigned", "activated", "starting")
"""States of jobs that wait at a queue."""

SUMMED = (*QUEUED, "running", "transferring")
"""The states that the brokerage reads."""

JobStats = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Jobs by queue, share and state."""


def count_jobs(stats: JobStats, queue: str, states: Iterable[str], share: str | None = None) -> int:
    """Return the jobs of *queue* in *states*, of one share or of all."""
    state_names = tuple(states)
    shares = stats.get(queue, {})
    rows = shares.values() if share is None else (shares.get(share, {}),)
    return sum(row.get(state, 0) for row in rows for state in state_names)


def queued_to_running(stats: JobStats, share: str | None = None) -> float | None:
    """Return the ratio of waiting to running jobs over all queues; None if none runs (PanDA get_total_nq_nr_ratio)."""
    running = sum(count_jobs(stats, queue, ("running",), share) for queue in stats)
    queued = sum(count_jobs(stats, queue, QUEUED, share) for queue in stats)
    return queued / running if running else None


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

    The row of the share precedes that of all shares; in the row, the type precedes all types. Without a type, types are
    summed.
    """
    row = table.get(share) or table.get(None)
    if row is None:
        return None
    if resource_type is None:
        return sum(row.values())
    return row.get(resource_type, row.get(None))


MOST_WORKERS = 20
"""Batch workers that stand in for running jobs where hardly any run."""

WORKING = ("submitted", "running")
"""States of batch workers that count."""


def pilot_counts(pool: Pool) -> Floats:
    """Return the pilots of each row in the last 3 hours."""

    def count(name: str) -> int:
        pilots = pool.world.pilots.get(name)
        return 0 if pilots is None else pilots.get_job + pilots.update_job

    return pool.unit_numbers_of("pilots", lambda unit: count(unit.name))


def worker_counts(pool: Pool) -> Floats:
    """Return the batch workers of each row in the last hour."""
    workers = pool.world.workers
    return pool.unit_numbers_of(
        "workers", lambda unit: sum(workers.get(unit.name, {}).get(state, 0) for state in WORKING)
    )


def slots_asked(pool: Pool, share: str | None, resource_type: str | None) -> Floats:
    """Return ``numSlots`` of each row for a share and resource type; NaN where there is no such request."""

    def make() -> Floats:
        tables: dict[str, SlotTable] = pool.kept("slot tables", lambda: slot_tables(pool.world.slots, pool.world.now))
        requested = [
            num_slots(tables[name], share, resource_type) if name in tables else None for name in pool.unit_names
        ]
        return pool.spread([np.nan if number is None else number for number in requested])

    return pool.kept(("slots", share, resource_type), make)


def largest_running(pool: Pool, running: Floats, share: str | None, resource_type: str | None) -> Floats:
    """Return the maximum of *running* jobs, batch workers, ``numSlots`` and starting jobs.

    Up to 20 batch workers count where fewer jobs run; starting jobs count where ``numSlots`` is 0.
    """
    workers = np.where(running < MOST_WORKERS, np.minimum(worker_counts(pool), MOST_WORKERS), 0)
    requested = slots_asked(pool, share, resource_type)
    slots = np.where(requested == 0, pool.job_counts(share, "starting"), np.nan_to_num(requested))
    return np.maximum(running, np.maximum(workers, slots))


def with_workers(pool: Pool, running: Floats, pulling: Booleans) -> Floats:
    """Return *running* jobs, or up to 20 workers at *pulling* rows with pilots where fewer jobs run."""
    workers = np.minimum(worker_counts(pool), MOST_WORKERS)
    stand_in = pulling & (pilot_counts(pool) > 0) & (running < MOST_WORKERS) & (workers > running)
    return np.where(stand_in, workers, running)


def with_slots(pool: Pool, running: Floats, share: str | None, resource_type: str | None) -> Floats:
    """Return *running* jobs, or the jobs that fit into ``numSlots`` if more; plus starting jobs if it is 0."""
    requested = slots_asked(pool, share, resource_type)
    cores = np.maximum(pool.numbers("corecount", lambda queue: queue.corecount), 1)
    starting = pool.job_counts(share, "starting")
    filled = np.where(requested == 0, starting + running, np.maximum(np.floor(requested / cores), running))
    return np.where(np.isnan(requested), running, filled)
