"""The resources that a match takes from a partitionable slot, and those taken earlier."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Carving(Struct, frozen=True):
    """The part of a partitionable slot that a match takes: its weight, and the amount of each resource.

    *victims* are the dynamic slots that are preempted to make room, indices in the pool. *gpus* are the names of its
    GPUs; empty if the slot does not name as many.
    """

    cost: float
    amounts: Mapping[str, float]
    victims: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()


class Carved(Struct, frozen=True):
    """A dynamic slot of the pool: the amounts *taken* from its *parent*, an index in the pool."""

    parent: int
    taken: Mapping[str, float]
