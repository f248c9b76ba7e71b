"""The resource types of a task (docs/panda.md, Queues; PanDA ResourceSpec)."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.engine.brokerage.jobs.memory import compensated, is_per_core
from fairq.engine.brokerage.pool.model import ResourceType

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
    return [kind.name for kind in types if _holds(kind, cores, per_core)]


def _holds(kind: ResourceType, cores: int, memory: float) -> bool:
    return (
        cores >= kind.mincore
        and (kind.maxcore is None or cores <= kind.maxcore)
        and (kind.minrampercore is None or memory >= kind.minrampercore)
        and (kind.maxrampercore is None or memory <= kind.maxrampercore)
    )
