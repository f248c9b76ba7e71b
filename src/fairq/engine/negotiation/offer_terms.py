"""What jobs of one kind need of partitionable slots, and what a match costs, as functions of what the slots have left.

The rules are those of `offers`. Where the expressions of job and slots can be reduced to what they say of the
resources left, they are read once per kind of job, and not again for every match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import expression_of, parse
from fairq.engine.classad.reduced import NotReducedError, Numbers, Of, Reduced, Reducer
from fairq.engine.classad.scopes import Side
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.ranks import LOWEST, as_stored
from fairq.engine.negotiation.slots import weights_by
from fairq.records import Ad

_REQUIREMENTS, _SLOT_WEIGHT = parse("MY.Requirements"), parse("MY.SlotWeight")

Rows = NDArray[np.intp]


class OfferTerms:
    """The terms of a match for one kind of job.

    Args:
        amounts: what a match takes of each resource.
        tests: where the Requirements of both sides are true.
        ranks: the sort keys.
        weight: the weight of slots; None: each counts 1.
    """

    def __init__(self, amounts: Sequence[float], tests: Sequence[Of], ranks: Sequence[Of], weight: Of | None) -> None:
        self.amounts = np.array(amounts, np.float64)[:, None]
        self.ranks = ranks
        self._tests = tests
        self._weight = weight
        self._takes = bool((self.amounts >= 0).all() and (self.amounts > 0).any())

    def suit(self, left: Numbers, parts: Rows) -> NDArray[np.bool_]:
        """Which of *parts*, with so much *left* of each resource, suit the job."""
        suitable: NDArray[np.bool_] = np.asarray((self.amounts <= left).all(axis=0) & self._takes)
        for test in self._tests:
            suitable &= test(left, parts)
        return suitable

    def cost(self, left: Numbers, parts: Rows) -> NDArray[np.float64]:
        """The weight that a match takes of each of *parts*."""
        if self._weight is None:
            return np.ones(len(parts))
        costs: NDArray[np.float64] = self._weight(left, parts) - self._weight(left - self.amounts, parts)
        return np.maximum(costs, 0.0)


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
        if policy.use_slot_weights:
            try:
                self._weight = self._find_weight(self._reducer.reduced({}))
            except NotReducedError:
                self._works = False

    def find(self, context: RequestContext) -> OfferTerms | None:
        """The terms for the jobs of *context*; None if more than numbers of resources left decides."""
        job = context.ad()
        amounts = self._partitions.amounts_of(job)
        if not self._works or amounts is None or "requirements" not in job:
            return None
        try:
            reduced = self._reducer.reduced(job)
            tests = [
                reduced.true(expression_of(job["requirements"]), Side.AD),
                reduced.true(_REQUIREMENTS, Side.COLUMNS),
            ]
            return OfferTerms(amounts, tests, self._ranks(reduced, job), self._weight)
        except NotReducedError:
            return None

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


def _rounded(rank: Of) -> Of:
    return lambda left, parts: as_stored(rank(left, parts))
