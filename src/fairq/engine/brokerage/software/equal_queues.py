"""Groups of queues that publish the same software: each group is checked once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.pool.columns import Columns


def by_software(columns: Columns, code: Callable[[int], int]) -> NDArray[np.uint8]:
    """Return *code* of each row's unit, called once for all units with equal releases, software and GPUs."""
    first, kind_of = columns.kept("software kinds", lambda: _kinds(columns))
    return np.array([code(unit) for unit in first], dtype=np.uint8)[kind_of][columns.unit_of]


def _kinds(columns: Columns) -> tuple[list[int], NDArray[np.intp]]:
    world = columns.world
    numbers: dict[str, int] = {}
    first: list[int] = []
    kind_of = []
    for unit, queue in enumerate(columns.units):
        # Equal texts are equal values; equal values with names in another order are only checked twice.
        key = repr((queue.releases, world.software.get(queue.name), world.gpus.get(queue.name)))
        if key not in numbers:
            numbers[key] = len(first)
            first.append(unit)
        kind_of.append(numbers[key])
    return first, np.array(kind_of, dtype=np.intp)
