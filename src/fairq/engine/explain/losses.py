"""The test by which a job loses each slot of the pool.

The tests are those of the negotiator (docs/htcondor.md 3.7), in the order in which people ask. A slot counts for the
first test that it fails.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import evaluate_in_ad, expression_of
from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.participants import slots_shutting_down, slots_taking_part, slots_usable
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.rolled_up import rolled_up
from fairq.engine.negotiation.slot_tests import SlotTests
from fairq.engine.negotiation.slots import candidate_slots, holders_of
from fairq.engine.negotiation.snapshot import PoolSlots


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
    """One number per slot of the pool: the place in `TESTS` of the first test that the slot fails."""

    def __init__(self, codes: NDArray[np.uint8]) -> None:
        self.codes = codes

    def counts(self) -> dict[LostTo, int]:
        """Number of slots lost to each test, in the order of the tests."""
        counts = np.bincount(self.codes, minlength=len(TESTS)).tolist()
        return dict(zip(TESTS, counts, strict=True))

    def rows(self, test: LostTo) -> NDArray[np.intp]:
        """The slots lost to *test*."""
        return np.flatnonzero(self.codes == TESTS.index(test))


class Observer:
    """Sorts the slots of one pool by the test that they fail, for any job."""

    def __init__(self, pool: PoolSlots, policy: NegotiationPolicy) -> None:
        self._pool = pool
        size = len(pool.ads)
        self._draining = np.zeros(size, np.bool_)
        self._draining[list(pool.draining)] = True
        self._unusable = ~slots_usable(pool.ads, policy)
        self._candidates = candidate_slots(pool, policy)
        if (theirs := rolled_up(pool.ads, policy)) is not None:
            self._candidates &= ~theirs
        self._kept_out = ~slots_taking_part(pool.ads, policy) | slots_shutting_down(pool.ads, policy)
        self.holders = holders_of(pool.ads)
        self._own: dict[str, NDArray[np.bool_]] = {}

    def losses(self, context: RequestContext, candidates: Candidates, limited: bool = False) -> Losses:
        """Sort all slots for *context* as *candidates* stand; *limited*: a concurrency limit refuses its job."""
        return self.sort(candidates.tests(context), self.accepted(context), context.submitter, limited)

    def accepted(self, context: RequestContext) -> NDArray[np.bool_]:
        """The slots for which the job's own Requirements are true."""
        job = context.ad()
        if "requirements" not in job:
            return np.zeros(len(self._pool.ads), np.bool_)
        return evaluate_in_ad(expression_of(job["requirements"]), job, self._pool.ads).is_true()

    def sort(self, tests: SlotTests, accepted: NDArray[np.bool_], submitter: str, limited: bool) -> Losses:
        """Sort all slots by *tests*; *accepted* are those for which the job's own Requirements are true."""
        busy = ~self._candidates & ~self._draining
        own = self._held_by(submitter)
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
        rest = LostTo.CONCURRENCY_LIMIT if limited else LostTo.LIMIT
        codes = np.full(len(accepted), TESTS.index(rest), np.uint8)
        for test, fails in reversed(failed.items()):
            codes[fails] = TESTS.index(test)
        return Losses(codes)

    def _held_by(self, submitter: str) -> NDArray[np.bool_]:
        held = self._own.get(submitter)
        if held is None:
            is_own = np.array([name == submitter for name in self.holders.distinct], np.bool_)
            # The last place is nobody's.
            held = self._own[submitter] = np.append(is_own, False)[self.holders.codes]
        return held
