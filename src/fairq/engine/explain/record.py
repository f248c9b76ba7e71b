"""The decision record of a cycle: for every rejection, how many slots were lost to each test."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fairq.engine.explain.losses import LostTo, Observer, Standing
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.negotiation.kind_slots import Kinds
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.rejections import Rejection, RejectReason


class ExplainedRejection(Struct, frozen=True):
    """One rejection, with the first test that each slot of the pool failed."""

    rejection: Rejection
    lost: dict[LostTo, int]


class CycleRecorder:
    """Observes a cycle and collects `explained`, one entry per rejection in order."""

    def __init__(self, pool: PoolSlots, policy: NegotiationPolicy) -> None:
        self._observer = Observer(pool, policy)
        self._standing: Standing | None = None
        self._explained: list[ExplainedRejection] = []

    @property
    def explained(self) -> Sequence[ExplainedRejection]:
        """What was seen so far."""
        return self._explained

    def __call__(self, rejection: Rejection, context: RequestContext, kinds: Kinds) -> None:
        """Count the slots that the request lost, at the moment of its rejection."""
        limited = rejection.reason is RejectReason.CONCURRENCY_LIMIT
        self._standing = self._standing or Standing(kinds)
        lost = self._observer.losses(context, self._standing, limited).counts()
        self._explained.append(ExplainedRejection(rejection, lost))
