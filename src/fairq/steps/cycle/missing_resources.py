"""Resources that the settings weigh and no slot has: mostly a name that is spelled wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from fairq.state.connection import reading
from fairq.steps.cycle.load import load_without_jobs
from fairq.steps.cycle.negotiation_policy import dominance

if TYPE_CHECKING:
    from fairq.settings import Settings


def missing_resources(path: Path, settings: Settings, now: int) -> list[str]:
    """Return the resources of dominant weights and prices that no slot of the pool at *path* has, if it has slots."""
    weights = dominance(settings)
    if weights is None:
        return []
    with reading(path) as state:
        slots = load_without_jobs(state, settings, now).slots.ads
    named = replace(weights, chosen=(*weights.chosen, *(price.resource for price in weights.prices)))
    units = named.of_pool(slots, np.ones(len(slots), bool)).units if len(slots) else {}
    return [name for name, unit in units.items() if name in named.chosen and not unit]
