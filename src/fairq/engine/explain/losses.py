"""The test by which a job loses each slot of the pool, and the record of a cycle that counts them for each rejection.

The tests are those of the negotiator (docs/htcondor.md 3.7), in the order in which people ask. A slot counts for the
first test that it fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import evaluate_in_ad, expression_of, parse
from fairq.engine.negotiation.dynamic_slots import rolled_up
from fairq.engine.negotiation.evaluation import RequestContext, requirements_met
from fairq.engine.negotiation.kind_slots import Kinds
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import (
    PoolSlots,
    candidate_slots,
    holders_of,
    slots_shutting_down,
    slots_taking_part,
    slots_usable,
)
from fairq.engine.negotiation.preemption import PRIO, RANK, RANKS
from fairq.engine.negotiation.rejections import Rejection, RejectReason


class LostTo(StrEnum):
    """A test that excludes a slot for a job; the last one stands for all limits of the submitter.

    UNUSABLE: drained by its machine, offline or absent. KEPT_OUT: by NEGOTIATOR_SLOT_CONSTRAINT, or about to shut down.
    """

    JOB_REQUIREMENTS = "job_requirements"
    SLOT_REQUIREMENTS = "slot_requirements"
    DRAINING = "draining"
    UNUSABLE = "unusable"
    KEPT_OUT = "kept_out"
    TAKEN = "taken_in_cycle"
    CLAIMED_OWN = "claimed_own"
    CLAIMED_OTHERS = "claimed_others"
    OUTRANKED = "outranked"
    PREEMPTION_POLICY = "preemption_requirements"
    PRIORITY = "priority_delta"
    CONCURRENCY_LIMIT = "concurrency_limit"
    LIMIT = "limit"


TESTS = tuple(LostTo)
"""All tests in order; `Losses` refers to them by number."""


class Losses:
    """One number per slot of the pool: the index in `TESTS` of the first test that the slot fails."""

    def __init__(self, codes: NDArray[np.uint8]) -> None:
        self.codes = codes

    def counts(self) -> dict[LostTo, int]:
        """Return the number of slots lost to each test, in the order of the tests."""
        counts = np.bincount(self.codes, minlength=len(TESTS)).tolist()
        return dict(zip(TESTS, counts, strict=True))

    def rows(self, test: LostTo) -> NDArray[np.intp]:
        """Return the slots lost to *test*."""
        return np.flatnonzero(self.codes == TESTS.index(test))


class SlotTests(Struct, frozen=True):
    """The relation of every slot of the pool to one kind of job at one moment.

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


class Standing:
    """Tests all slots of the pool for the kinds of jobs of a cycle, at this moment."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds, preemption = kinds, kinds.preemption
        self._rows = np.arange(len(kinds.pool.ads))
        self._suitable = kinds.evaluation(self._find_suitable, ["requirements"], [parse("Requirements")])
        self._claims = kinds.evaluation(lambda context: preemption.claims(context.ad()), [], RANKS)
        self._positions = kinds.evaluation_of_order(self._find_positions, lists_held=preemption.any_held)

    def tests(self, context: RequestContext) -> SlotTests:
        """Return the tests of every slot for the job."""
        kinds, preemption, kind = self._kinds, self._kinds.preemption, context.autocluster
        state = self._claims.get(kind, lambda _: context)
        meeting = preemptable = preemption.held
        if preemption.any_held:
            meeting = preemption.meeting.get(kind, lambda _: context)
            preemptable = preemption.preemptable(kind, lambda _: context)
        free = ~kinds.taken.marks
        if kinds.parts is not None:
            free[kinds.parts.rows] &= kinds.parts.offers(kind, lambda _: context).suitable
        return SlotTests(
            suitable=self._suitable.get(kind, lambda _: context),
            free=free,
            held=preemption.held,
            own=preemption.held & preemption.own(context.submitter),
            preferred=state == RANK,
            outranked=state < PRIO,
            meets_preemption_requirements=meeting,
            preemptable=preemptable,
        )

    def positions(self, context: RequestContext) -> NDArray[np.int64]:
        """Return the position of every slot, suitable or not, in the job's order of preference; 0 is the best."""
        return self._positions.get(context.autocluster, lambda _: context)

    def _find_suitable(self, context: RequestContext) -> NDArray[np.bool_]:
        return requirements_met(context.ad(), self._kinds.pool.ads, self._rows)

    def _find_positions(self, context: RequestContext) -> NDArray[np.int64]:
        order = self._kinds.order_of(context, self._rows, lists_held=self._kinds.preemption.any_held)
        positions = np.empty(len(self._rows), np.int64)
        positions[order.rows] = np.arange(len(self._rows))
        return positions


class Observer:
    """Sorts the slots of one pool by the test that they fail, for any job."""

    def __init__(self, pool: PoolSlots, policy: NegotiationPolicy) -> None:
        self._pool = pool
        size = len(pool.ads)
        self._draining = np.zeros(size, np.bool_)
        self._draining[list(pool.draining)] = True
        self._unusable = ~slots_usable(pool.ads, policy)
        self._candidates = candidate_slots(pool, policy)
        if (rolled_up_slots := rolled_up(pool.ads, policy)) is not None:
            self._candidates &= ~rolled_up_slots
        self._kept_out = ~slots_taking_part(pool.ads, policy) | slots_shutting_down(pool.ads, policy)
        self.holders = holders_of(pool.ads)

    def losses(self, context: RequestContext, standing: Standing, limited: bool = False) -> Losses:
        """Sort all slots for *context* by their *standing*; *limited*: a concurrency limit refuses its job."""
        tests, accepted = standing.tests(context), self.accepted(context)
        busy = ~self._candidates & ~self._draining
        is_own = np.array([*(name == context.submitter for name in self.holders.distinct), False], np.bool_)
        own = is_own[self.holders.codes]  # code -1, a slot without a holder, finds the False at the end
        contested = tests.held & ~tests.preferred
        failed = {
            LostTo.JOB_REQUIREMENTS: ~accepted,
            LostTo.SLOT_REQUIREMENTS: ~tests.suitable,
            LostTo.DRAINING: self._draining,
            LostTo.UNUSABLE: self._unusable,
            LostTo.KEPT_OUT: self._kept_out,
            LostTo.TAKEN: self._candidates & ~tests.free,
            LostTo.CLAIMED_OWN: (busy & own) | (contested & tests.own & ~tests.outranked),
            LostTo.CLAIMED_OTHERS: busy,
            LostTo.OUTRANKED: tests.outranked,
            LostTo.PREEMPTION_POLICY: contested & ~tests.meets_preemption_requirements,
            LostTo.PRIORITY: contested & ~tests.preemptable,
        }
        remaining_test = LostTo.CONCURRENCY_LIMIT if limited else LostTo.LIMIT
        codes = np.full(len(accepted), TESTS.index(remaining_test), np.uint8)
        for test, fails in reversed(failed.items()):
            codes[fails] = TESTS.index(test)
        return Losses(codes)

    def accepted(self, context: RequestContext) -> NDArray[np.bool_]:
        """Return the slots for which the job's own Requirements are true."""
        job = context.ad()
        if "requirements" not in job:
            return np.zeros(len(self._pool.ads), np.bool_)
        return evaluate_in_ad(expression_of(job["requirements"]), job, self._pool.ads).is_true()


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
        """The rejections so far."""
        return self._explained

    def __call__(self, rejection: Rejection, context: RequestContext, kinds: Kinds) -> None:
        """Count the slots that the request lost, at the moment of its rejection."""
        limited = rejection.reason is RejectReason.CONCURRENCY_LIMIT
        self._standing = self._standing or Standing(kinds)
        lost = self._observer.losses(context, self._standing, limited).counts()
        self._explained.append(ExplainedRejection(rejection, lost))
