"""What jobs of one kind need of partitionable slots, and what a match costs, as functions of what the slots have left.

The rules are those of `offers`. Where the expressions of job and slots can be reduced to what they say of the
resources left, they are read once per kind of job, and not again for every match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import EVERY_ATTRIBUTE, columns_read, expression_of, parse
from fairq.engine.classad.reduced import NotReducedError, Numbers, Of, Reduced, Reducer
from fairq.engine.classad.scopes import Side
from fairq.engine.negotiation.evaluation import LOWEST, RequestContext, as_stored
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import weights_by
from fairq.engine.negotiation.requests import CORES, MODIFIED, Alone, price

_REQUIREMENTS, _SLOT_WEIGHT = parse("MY.Requirements"), parse("MY.SlotWeight")

Rows = NDArray[np.intp]


class OfferTerms:
    """The terms of a match for one kind of job.

    Args:
        asked: what the job asks of each resource, with whole cores.
        raised: the same with memory and disk raised.
        tests: where the Requirements of both sides are true.
        tests_raised: the same for the job that asks for the raised amounts.
        ranks: the sort keys.
        weight: the weight of slots; None: each counts 1.
    """

    def __init__(
        self,
        partitions: Partitions,
        known: Alone,
        tests: Sequence[Of],
        tests_raised: Sequence[Of],
        ranks: Sequence[Of],
        weight: Of | None,
    ) -> None:
        self._partitions = partitions
        self.asked = np.array(known.asked, np.float64)[:, None]
        self._raised = np.array(known.raised, np.float64)[:, None]
        self.ranks = ranks
        self._tests = tests
        self._tests_raised = tests_raised
        self._weight = weight

    def suit(self, left: Numbers, parts: Rows) -> NDArray[np.bool_]:
        """Which of *parts*, with so much *left* of each resource, suit the job."""
        suitable: NDArray[np.bool_] = self._partitions.suffices(self.asked, left, parts)
        for test in self._tests:
            suitable &= test(left, parts)
        return suitable

    def carved(self, left: Numbers, parts: Rows) -> NDArray[np.float64]:
        """What a match takes of each of *parts*, which suit the job."""
        suits = np.ones(len(parts), np.bool_)
        for test in self._tests_raised:
            suits &= test(left, parts)
        return self._partitions.carved(self.asked, self._raised, suits, left, parts)

    def cost(self, left: Numbers, parts: Rows, amounts: Numbers) -> NDArray[np.float64]:
        """The weight that a match takes of each of *parts* with these *amounts*."""
        if self._weight is None:
            return np.ones(len(parts))
        return price(
            self._weight(left, parts), self._weight(left - amounts, parts), self._partitions.share(amounts, parts)
        )


class TermsFinder:
    """Finds the terms for one kind of job after the other, while the slots of *partitions* get nothing back."""

    def __init__(self, partitions: Partitions, policy: NegotiationPolicy) -> None:
        self._partitions = partitions
        self._policy = policy
        partitions.show()
        resources = [name.lower() for name in partitions.resources]
        self._reducer = Reducer(partitions.ads, resources, partitions.left, partitions.has)
        self._weight: Of | None = None
        self._works = True
        on_slots = [_REQUIREMENTS, _SLOT_WEIGHT, policy.slot_weight, policy.pre_job_rank, policy.post_job_rank]
        self._gpus_read_by_slots = _names_gpus(columns_read(on_slots, "target", partitions.ads))
        if policy.use_slot_weights:
            try:
                self._weight = self._find_weight(self._reducer.reduced({}))
            except NotReducedError:
                self._works = False

    def find(self, context: RequestContext) -> OfferTerms | None:
        """The terms for the jobs of *context*; None if more than numbers of resources left decides."""
        job, asking = context.ad(), self._partitions.asking
        known = self._partitions.amounts_of(job)
        if not self._works or known is None or "requirements" not in job or self._reads_gpus(job):
            return None
        try:
            reduced = self._reducer.reduced(seen := asking.shown(job, known.asked[:CORES]))
            tests = tests_raised = self._tests(reduced, job)
            if (raised := asking.shown(job, known.raised[:MODIFIED])) != seen:
                tests_raised = self._tests(self._reducer.reduced(raised), job)
            return OfferTerms(self._partitions, known, tests, tests_raised, self._ranks(reduced, job), self._weight)
        except NotReducedError:
            return None

    def _reads_gpus(self, job: Ad) -> bool:
        """Whether it matters for *job* which GPUs are left, and not only how many."""
        if not self._partitions.binds_gpus:
            return False
        own = [expression_of(job[name]) for name in ("requirements", "rank") if name in job]
        return (
            "requiregpus" in job
            or self._gpus_read_by_slots
            or _names_gpus(columns_read(own, "my", self._partitions.ads))
        )

    def _tests(self, reduced: Reduced, job: Ad) -> list[Of]:
        return [
            reduced.true(expression_of(job["requirements"]), Side.AD),
            reduced.true(_REQUIREMENTS, Side.COLUMNS),
        ]

    def _ranks(self, reduced: Reduced, job: Ad) -> list[Of]:
        policy = self._policy
        ranks = [_rounded(reduced.number(policy.pre_job_rank, Side.COLUMNS, LOWEST))]
        if not policy.ignore_job_ranks and "rank" in job:
            ranks.append(reduced.number(expression_of(job["rank"]), Side.AD, 0.0))
        ranks.append(_rounded(reduced.number(policy.post_job_rank, Side.COLUMNS, LOWEST)))
        return ranks

    def _find_weight(self, reduced: Reduced) -> Of:
        policy = self._policy
        of_pool = reduced.number(policy.slot_weight, Side.COLUMNS, np.nan)
        if policy.force_slot_weight:
            return lambda left, parts: weights_by(None, lambda: of_pool(left, parts))
        own = reduced.number(_SLOT_WEIGHT, Side.COLUMNS, np.nan)
        return lambda left, parts: weights_by(own(left, parts), lambda: of_pool(left, parts))


def _names_gpus(read: frozenset[str]) -> bool:
    return not read.isdisjoint(("availablegpus", EVERY_ATTRIBUTE))


def _rounded(rank: Of) -> Of:
    return lambda left, parts: as_stored(rank(left, parts))
