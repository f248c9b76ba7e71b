"""The autoclusters of jobs whose kinds are known from earlier cycles, without a look at their ads.

Jobs are of one kind if they agreed in all attributes that mattered in the cycle that found the kind. They are in one
autocluster now if nothing else matters now: what matters follows from values in which they agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.requests import has_priorities
from fairq.idle_jobs import IdleJobs, Kinds


def autoclusters_of(idle: IdleJobs, kinds: Kinds, autoclusters: Autoclusters) -> NDArray[np.int64] | None:
    """Return the autocluster of every range; None if a range has not just one, or a priority of its own."""
    found, which = np.unique(idle.columns["kind"], return_inverse=True)
    numbers = np.array([autoclusters.of_kind(kind, kinds) for kind in found.tolist()], np.int64)[which]
    for row in np.flatnonzero(numbers < 0).tolist():
        jobs = idle[row]
        if has_priorities(autoclusters.shared_ad(jobs.ad_id)) or (jobs.own and has_priorities(jobs.own)):
            return None
        number = autoclusters.only_one(jobs, kinds)
        if number is None:
            return None
        numbers[row] = number
    return numbers
