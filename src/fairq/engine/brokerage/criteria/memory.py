"""Memory of a slot compared with the need of a job, and the resource types of a task.

Source: docs/panda.md, Estimates and Queues; PanDA ResourceSpec.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.jobs.tasks import Chunk, Task
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import PRODUCTION, ResourceType

COMPENSATION = 0.9
"""Factor that lets jobs slightly above a limit run outside queues for high memory."""

MERGE_MINIMUM = 2000
"""Minimum MiB of a merge job if the task states its memory."""


def is_per_core(unit: str | None) -> bool:
    """Return whether memory is stated for each core."""
    return unit in {"MBPerCore", "MBPerCoreFixed"}


def compensated(memory: float) -> int:
    """Return memory after PanDA's compensation, truncated."""
    return int(memory * COMPENSATION)


def stated_memory(task: Task, chunk: Chunk) -> float | None:
    """Return the larger of the MiB that the task states and that the chunk has needed; per core if the unit says so.

    None or 0: unknown, and memory is not checked (PanDA InputChunk.getMaxRamCount).
    """
    if chunk.is_merging:
        if not task.merge_ram_count:
            return chunk.ram_count
        return max(task.merge_ram_count, chunk.ram_count or 0, MERGE_MINIMUM)
    if not task.ram_count:
        return chunk.ram_count
    return max(task.ram_count, chunk.ram_count or 0)


def job_memory(
    stated: float,
    cores: int,
    unit: str | None,
    base: float | None,
    *,
    merging: bool,
    base_always: bool,
    production: bool = True,
) -> float:
    """Return the MiB that a job on *cores* will need.

    Args:
        stated: MiB, for each core if *unit* says so (see `stated_memory`).
        cores: cores of the queue; 0 counts as 1.
        unit: the task's ``ramUnit``.
        base: MiB that do not depend on cores, ``baseRamCount``.
        merging: the job merges: memory is never per core.
        base_always: add *base* whatever the unit, and do not truncate; False: add it for memory per
            core in production alone, and truncate.
        production: the production brokerage asks.
    """
    # The page's formula for production multiplies by cores unless the task has a unit without "PerCore".
    per_core = (is_per_core(unit) or (base_always and production and not unit)) and not merging
    memory = stated * cores if per_core and cores > 0 else stated
    if base_always:
        return (memory + (base or 0)) * COMPENSATION
    if per_core and production:
        memory += base or 0
    return compensated(memory)


LOW, HIGH = Reason("lowmemory"), Reason("highmemory")


def _reads_memory(ask: Ask) -> Values | None:
    task, stated = ask.task, stated_memory(ask.task, ask.chunk)
    production = ask.activity == PRODUCTION
    return (stated, task.ram_unit, task.base_ram_count, ask.chunk.is_merging, production) if stated else None


@refuses("memory", "memory check", LOW, HIGH, reads=_reads_memory)
def memory(
    pool: Pool, stated: float, unit: str | None, base: float | None, merging: bool, production: bool
) -> Refusals:
    """Refuse queues unless a job's memory (MiB) is between minimum and maximum of their slots, both included."""

    def need_on(cores: int) -> float:
        always = pool.rules.base_memory_always
        return job_memory(stated, cores, unit, base, merging=merging, base_always=always, production=production)

    # The estimate depends only on the number of cores.
    core_counts, index_of = pool.different("cores", lambda queue: queue.corecount)
    need = np.array([need_on(cores) for cores in core_counts], np.float64)[index_of]
    maxrss = pool.numbers("maxrss", lambda queue: queue.maxrss or 0)
    minrss = pool.numbers("minrss", lambda queue: queue.minrss or 0)

    def figures(row: int, limit: str) -> Details:
        queue = pool.queues[row]
        needed = need_on(queue.corecount)
        return {"memory_need_mb": needed, limit: getattr(queue, limit), "corecount": queue.corecount}

    yield Refusal(LOW, (maxrss > 0) & (need > maxrss), lambda row: figures(row, "maxrss"))
    yield Refusal(HIGH, (minrss > 0) & (need < minrss) & (need != 0), lambda row: figures(row, "minrss"))


analysis_memory = memory._replace(name="analysis memory")


CORES_OF_ANY = 8
"""Cores assumed for a task that accepts any number, to find its resource type."""


def matching_resource_types(
    core_count: int | None,
    ram_count: float | None,
    base_ram_count: float | None,
    ram_unit: str | None,
    types: Iterable[ResourceType],
) -> list[str]:
    """Return the resource types whose bounds a task meets; the first is its own (PanDA ResourceSpec).

    Without a number of cores, the task has one; 0 (any) counts as eight. Memory is per core, after PanDA's
    compensation.
    """
    cores = CORES_OF_ANY if core_count == 0 else core_count or 1
    memory = (ram_count or 0) * (cores if is_per_core(ram_unit) else 1) + (base_ram_count or 0)
    per_core = compensated(memory / cores)
    return [resource_type.name for resource_type in types if _contains(resource_type, cores, per_core)]


def _contains(resource_type: ResourceType, cores: int, memory: float) -> bool:
    return (
        cores >= resource_type.mincore
        and (resource_type.maxcore is None or cores <= resource_type.maxcore)
        and (resource_type.minrampercore is None or memory >= resource_type.minrampercore)
        and (resource_type.maxrampercore is None or memory <= resource_type.maxrampercore)
    )
