"""Which slots in use PREEMPTION_REQUIREMENTS or priorities keep from a job: asked for every request without a match."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.preemption import RANK, PreemptionPolicy

_AT_ONCE = 64


class KeptOut:
    """Tells whether the preemption policy excludes any slot that a job could use otherwise, over one cycle.

    One such slot is answer enough, and mostly the first one looked at is: to work out all slots for every request
    took longer than all the rest of a cycle on a pool in use.
    """

    def __init__(self, preemption: PreemptionPolicy, free: FreeSlots) -> None:
        self._preemption = preemption
        self._free = free
        self._rows: dict[tuple[int, ...], tuple[NDArray[np.int32], object]] = {}
        self._preemptable: object = None

    def any(
        self,
        submitter: str,
        suitable: NDArray[np.bool_],
        state: NDArray[np.int8],
        preemptable: NDArray[np.bool_],
        scanned: NDArray[np.bool_] | None,
    ) -> bool:
        """Whether a slot is *suitable*, held by another submitter, not `RANK` by its *state*, and not *preemptable*.

        It must still be a candidate, and *scanned*, unless all are.
        """
        found = self._find(suitable, state, preemptable)
        own = self._preemption.code_of(submitter)
        for start in range(0, len(found), _AT_ONCE):
            rows = found[start : start + _AT_ONCE]
            left = self._free.among(rows) & (self._preemption.holder_codes[rows] != own)
            if (left if scanned is None else left & scanned[rows]).any():
                return True
        return False

    def _find(
        self, suitable: NDArray[np.bool_], state: NDArray[np.int8], preemptable: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """The slots that the policy excludes, whoever asks and whatever is taken by now."""
        if self._preemptable is not preemptable:
            # Where priorities decide, each submitter has its own: those of all would fill the memory.
            self._rows.clear()
            self._preemptable = preemptable
        key = (id(suitable), id(state))
        if key not in self._rows:
            rows = np.flatnonzero(suitable & self._preemption.held & (state != RANK) & ~preemptable).astype(np.int32)
            # The arrays are kept with it, so that their ids stay their own.
            self._rows[key] = rows, (suitable, state)
        return self._rows[key][0]
