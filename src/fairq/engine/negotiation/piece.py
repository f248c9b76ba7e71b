"""What a match takes of a partitionable slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """What a match takes of a partitionable slot: the weight it costs, and how much of which resource."""

    cost: float
    amounts: Mapping[str, float]
