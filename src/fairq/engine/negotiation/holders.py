"""The users of slots at the start of a cycle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.negotiation.expression_cache import LiveAttributes
from fairq.engine.slot_names import SlotNames


class Holders(Struct, frozen=True):
    """The holders of slots that a match would preempt.

    Args:
        held: per slot, whether a match would preempt its holder.
        names: per slot, its holder; None if there is none.
        running: the same; for a slot that is being preempted, the submitter of the job that it still runs.
        priorities: per slot, the holder's effective priority at the cycle's start.
        changing: attributes of the slots' ads about holders that change within the cycle; None if no slot has a holder.
        groups: per slot, the place of its holder's group in the tree; None: no hard cap reads it.
    """

    held: NDArray[np.bool_]
    names: SlotNames
    running: Sequence[str | None]
    priorities: NDArray[np.float64]
    changing: LiveAttributes | None = None
    groups: NDArray[np.int32] | None = None
