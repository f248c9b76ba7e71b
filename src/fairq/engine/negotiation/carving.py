"""What a match takes of a partitionable slot, and what earlier ones took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Carving:
    """What a match takes of a partitionable slot: the weight it costs, and how much of which resource.

    *victims* are the dynamic slots that are preempted to make room, indices in the pool.
    """

    cost: float
    amounts: Mapping[str, float]
    victims: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Carved:
    """A dynamic slot of the pool: what was *taken* of which slot (*parent*, an index in the pool)."""

    parent: int
    taken: Mapping[str, float]
