"""Who has the slots at the start of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.expression_cache import LiveAttributes


@dataclass(frozen=True, slots=True)
class Holders:
    """Who has the slots that a match would take from somebody.

    Args:
        held: per slot, whether a match would preempt its holder.
        names: per slot, its holder; None where nobody.
        running: the same, but where somebody waits to preempt the slot whose job it runs still.
        priorities: per slot, the holder's effective priority at the cycle's start.
        changing: what the slots' ads tell of them that changes within the cycle; None if nobody has any.
    """

    held: NDArray[np.bool_]
    names: Sequence[str | None]
    running: Sequence[str | None]
    priorities: NDArray[np.float64]
    changing: LiveAttributes | None = None
