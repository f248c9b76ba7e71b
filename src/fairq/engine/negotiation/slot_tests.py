"""How every slot of the pool stands to a kind of job, for explanations."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class SlotTests(Struct, frozen=True):
    """The relation of every slot of the pool to one autocluster at one moment.

    Args:
        suitable: both sides' Requirements are true.
        free: a candidate not yet matched in this cycle.
        held: a match would preempt the slot's holder.
        own: the holder is the submitter itself.
        preferred: its machine ranks the job above the one it runs.
        outranked: its machine ranks the job below the one it runs.
        meets_preemption_requirements: PREEMPTION_REQUIREMENTS is true, or there is no such policy.
        preemptable: the same, and the holder's priority is worse, by the margin that the rules demand.
    """

    suitable: NDArray[np.bool_]
    free: NDArray[np.bool_]
    held: NDArray[np.bool_]
    own: NDArray[np.bool_]
    preferred: NDArray[np.bool_]
    outranked: NDArray[np.bool_]
    meets_preemption_requirements: NDArray[np.bool_]
    preemptable: NDArray[np.bool_]
