"""The autoclusters of jobs whose kinds are known from earlier cycles, without a look at their ads.

Jobs are of one kind if they agreed in all attributes that mattered in the cycle that found the kind. They are in one
autocluster now if nothing else matters now: what matters follows from values in which they agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.distinct import distinct
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.requests import has_priorities
from fairq.idle_jobs import IdleJobs, Kinds

_NONE, _NEW = -1, -2
"""In the place of a kind's autocluster: not just one, or the kind is not known; or no job of the kind was seen yet."""


class KindsInCycle:
    """Finds the autoclusters of jobs of known *kinds*, and numbers the *autoclusters* of new ones as they come."""

    def __init__(self, kinds: Kinds, autoclusters: Autoclusters) -> None:
        self._kinds, self._autoclusters = kinds, autoclusters
        # Kinds are numbered from 1 on. Any other number finds the first place or the last one: it is not known.
        self._numbers = np.array([_NONE, *[_NEW] * len(kinds.known), _NONE], np.int64)

    def autoclusters_of(self, idle: IdleJobs) -> NDArray[np.int64] | None:
        """Return the autocluster of every range; None if a range has not just one, or a priority of its own."""
        kinds, autoclusters = self._kinds, self._autoclusters
        column = idle.columns["kind"]
        numbers = self._numbers.take(column, mode="clip")
        least = numbers.min(initial=0)
        if least == _NEW:
            for kind in distinct(column[numbers == _NEW]).tolist():
                self._numbers[kind] = autoclusters.of_kind(kinds.known.get(kind))
            numbers = self._numbers.take(column, mode="clip")
            least = numbers.min()
        if least >= 0:
            return numbers
        for row in np.flatnonzero(numbers < 0).tolist():
            jobs = idle[row]
            if has_priorities(autoclusters.shared_ad(jobs.ad_id)) or (jobs.own and has_priorities(jobs.own)):
                return None
            number = autoclusters.only_one(jobs, kinds)
            if number is None:
                return None
            numbers[row] = number
        return numbers
