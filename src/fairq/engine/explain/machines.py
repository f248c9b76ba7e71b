"""What a job asks for, against whole slots: what is left of them at the moment comes second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_columns, parse

_DYNAMIC = parse("DynamicSlot")
_RESOURCES = ("Cpus", "Memory", "Disk", "GPUs")


class TooLarge(Struct, frozen=True):
    """A job asks for more of a resource than any whole slot has; *machine* is the most that one machine has."""

    resource: str
    asked: float
    largest: float
    machine: float


def too_large(job: Mapping[str, Any], slots: AdColumns) -> list[TooLarge]:
    """Return of which resources the *job* (names in lower case) asks for more than any slot has when nobody uses it."""
    if not len(slots):
        return []
    whole = ~evaluate_in_columns(_DYNAMIC, slots, {}).is_true()
    found = []
    for name in _RESOURCES:
        asked = job.get(f"request{name.lower()}")
        if isinstance(asked, bool) or not isinstance(asked, int | float) or asked <= 0:
            continue
        own = evaluate_in_columns(name, slots, {}).as_rank(0.0)
        total = evaluate_in_columns(f"TotalSlot{name}", slots, {}).as_rank(0.0)
        size = np.where(whole, np.maximum(own, total), 0.0)
        largest = float(size.max())
        if asked > largest:
            found.append(TooLarge(name, float(asked), largest, _of_machine(name, slots, size)))
    return found


def _of_machine(name: str, slots: AdColumns, size: NDArray[np.float64]) -> float:
    """Return the most that one machine has: what its slots tell of it, or what they have together."""
    told = evaluate_in_columns(f"Total{name}", slots, {}).as_rank(0.0).max()
    machines = evaluate_in_columns("Machine", slots, {}).text_codes()
    known = machines >= 0
    together = np.bincount(machines[known], weights=size[known]).max() if known.any() else 0.0
    return float(max(told, together))
