"""The decision record of a cycle: for every rejection, how many slots were lost to each test."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fairq.engine.explain.losses import LostTo, Observer
from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.reject_reason import RejectReason
from fairq.engine.negotiation.rejections import Rejection
from fairq.engine.negotiation.snapshot import PoolSlots


class ExplainedRejection(Struct, frozen=True):
    """One rejection, with the first test that each slot of the pool failed."""

    rejection: Rejection
    lost: dict[LostTo, int]


class CycleRecorder:
    """Observes a cycle and collects `explained`, one entry per rejection in order."""

    def __init__(self, pool: PoolSlots, policy: NegotiationPolicy) -> None:
        self._observer = Observer(pool, policy)
        self._explained: list[ExplainedRejection] = []

    @property
    def explained(self) -> Sequence[ExplainedRejection]:
        """What was seen so far."""
        return self._explained

    def __call__(self, rejection: Rejection, context: RequestContext, candidates: Candidates) -> None:
        """Count the slots that the request lost, at the moment of its rejection."""
        limited = rejection.reason is RejectReason.CONCURRENCY_LIMIT
        lost = self._observer.losses(context, candidates, limited).counts()
        self._explained.append(ExplainedRejection(rejection, lost))
