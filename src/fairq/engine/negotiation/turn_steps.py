"""What a turn yields, and which requests it skips."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.negotiation.matches import ProcRange
from fairq.engine.negotiation.preemption import PreemptState
from fairq.engine.negotiation.reject_reason import OF_MANY, RejectReason
from fairq.engine.negotiation.request_columns import PassedOver
from fairq.engine.negotiation.requests import JobRequest, SkipBy

JobId = tuple[int, int]


class Found(Struct, frozen=True):
    """A slot for a job, to be charged before the turn goes on.

    Args:
        job: the job; *request* is the first one of its request.
        autocluster: of the job.
        slot: the slot, and its preempt *state*.
        concurrency_limits: what the job uses there.
    """

    job: JobId
    request: JobId
    autocluster: int
    slot: int
    state: PreemptState
    concurrency_limits: str | None


class FoundMany(Struct, frozen=True):
    """Slots for alike jobs, that nobody uses and that weigh the same: as so many times `Found`.

    Args:
        jobs: the jobs; *request* is the first one of their request, None: each is one of its own.
        autocluster: of the jobs.
        slots: a slot for each, of weight *cost*.
    """

    jobs: list[ProcRange]
    request: JobId | None
    autocluster: int
    slots: list[int]
    cost: float


class Refused(Struct, frozen=True):
    """A request offered in vain.

    Args:
        request: its first job when the turn began.
        reason: why.
        autocluster: of the job.
        limits: the concurrency limits that were used up.
    """

    request: JobId
    reason: RejectReason
    autocluster: int
    limits: tuple[str, ...] = ()


class RefusedMany(Struct, frozen=True):
    """Requests offered in vain one after the other: as so many times `Refused`.

    Args:
        requests: their autoclusters and first jobs.
        why: the place in `OF_MANY` of each one's reason.
    """

    requests: PassedOver
    why: NDArray[np.uint8]

    def reasons(self) -> set[RejectReason]:
        """Why they were refused."""
        return {OF_MANY[place] for place in set(self.why.tolist())}


TurnStep = Found | FoundMany | Refused | RefusedMany | None
"""What a turn yields; None: others may have a match before it goes on (the last dealing)."""


class Skips:
    """The requests that a turn skips by the rule *skip_by*, after others were refused."""

    def __init__(self, skip_by: SkipBy) -> None:
        self._skip_by = skip_by
        self._rejected: set[object] = set()
        self._failed: set[int] = set()
        self._stopped: set[int] = set()

    def skips(self, request: JobRequest) -> bool:
        """Whether to skip *request*."""
        if request.key in self._rejected:
            return True
        if request.autocluster in self._failed:
            # It would find no slot either, and so its cluster is passed over, too.
            self._rejected.add(request.key)
            return True
        return request.autocluster in self._stopped

    def refuse(self, request: JobRequest, *, is_failure: bool) -> None:
        """Note that *request* was refused; *is_failure*: it could not be matched at all."""
        if self._skip_by == "autocluster":
            self._rejected.add(request.key)
        elif self._skip_by == "cluster" and is_failure:
            self._rejected.add(request.key)
            self._failed.add(request.autocluster)
        elif self._skip_by == "cluster":
            self._stopped.add(request.autocluster)
