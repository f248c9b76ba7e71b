"""The terms of partitionable slots for one kind of job, as functions of what the slots have left.

The rules are those of `offers.EvaluatedTerms`. If the expressions of job and slots can be reduced to functions of the
remaining resources, this is done once per kind of job, and they are not evaluated again for every match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import EVERY_ATTRIBUTE, columns_read, expression_of, parse
from fairq.engine.classad.partial_evaluation import NotReducedError, Numbers, Reduced, Reducer, RowFunction
from fairq.engine.classad.references import Side
from fairq.engine.negotiation.evaluation import LOWEST, RequestContext, as_stored
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import weights_by
from fairq.engine.negotiation.requests import CORES, MODIFIED, FixedAmounts, price

_REQUIREMENTS, _SLOT_WEIGHT = parse("MY.Requirements"), parse("MY.SlotWeight")

Rows = NDArray[np.intp]


class Offer(NamedTuple):
    """The offers of some parts to a job.

    Args:
        requested: per resource and part, the amount that must remain.
        suits: per part, whether it suits the job.
        amounts: per resource and part that suits, what a match takes.
        cost: per part that suits, the weight of a match.
        keys: the sort keys of the parts that suit.
    """

    requested: Numbers
    suits: NDArray[np.bool_]
    amounts: Numbers
    cost: Numbers
    keys: Sequence[NDArray[np.floating]]


class Terms(Protocol):
    """Computes the offers of parts to one kind of job."""

    def offer(self, parts: Rows, remaining: Numbers | None = None) -> Offer:
        """Return the offers of *parts* if *remaining* is left of each resource and part; None: what remains now."""


class ReducedTerms:
    """The terms of one kind of job as functions of the remaining resources.

    Args:
        amounts: what the job requests of each resource, and the same with memory and disk raised.
        tests: the Requirements of both sides.
        tests_raised: the Requirements of both sides for a job with the raised requests.
        ranks: the sort keys.
        weight: the weight of slots; None: each counts 1, or weights are dominant.
    """

    def __init__(
        self,
        partitions: Partitions,
        amounts: FixedAmounts,
        tests: Sequence[RowFunction],
        tests_raised: Sequence[RowFunction],
        ranks: Sequence[RowFunction],
        weight: RowFunction | None,
    ) -> None:
        self._partitions, self._tests, self._tests_raised = partitions, tests, tests_raised
        self._ranks, self._weight = ranks, weight
        self._requested = np.array(amounts.requested, np.float64)[:, None]
        self._raised = np.array(amounts.raised, np.float64)[:, None]

    def offer(self, parts: Rows, remaining: Numbers | None = None) -> Offer:
        """Return what *parts* offer (`Terms`)."""
        partitions = self._partitions
        remaining_parts = (partitions.remaining if remaining is None else remaining)[:, parts]
        suits = partitions.suffices(self._requested, remaining_parts, parts)
        for test in self._tests:
            suits &= test(remaining_parts, parts)
        parts, remaining_parts = parts[suits], remaining_parts[:, suits]
        suits_raised = np.ones(len(parts), np.bool_)
        for test in self._tests_raised:
            suits_raised &= test(remaining_parts, parts)
        amounts = partitions.carved(self._requested, self._raised, suits_raised, remaining_parts, parts)
        cost = partitions.dominant_price(amounts, parts)
        if cost is None:
            cost = np.ones(len(parts))
            if self._weight is not None:
                before, after = self._weight(remaining_parts, parts), self._weight(remaining_parts - amounts, parts)
                cost = price(before, after, partitions.share(amounts, parts))
        return Offer(self._requested, suits, amounts, cost, [rank(remaining_parts, parts) for rank in self._ranks])


class TermsFinder:
    """Finds the reduced terms of kinds of jobs; the slots of *partitions* must get no resources back meanwhile."""

    def __init__(self, partitions: Partitions, policy: NegotiationPolicy) -> None:
        self._partitions = partitions
        self._policy = policy
        partitions.show()
        resources = [name.lower() for name in partitions.resources]
        self._reducer = Reducer(partitions.ads, resources, partitions.remaining, partitions.has)
        self._weight: RowFunction | None = None
        self._is_weight_reduced = True
        on_slots = [_REQUIREMENTS, _SLOT_WEIGHT, policy.slot_weight, policy.pre_job_rank, policy.post_job_rank]
        self._gpus_read_by_slots = _names_gpus(columns_read(on_slots, "target", partitions.ads))
        if policy.use_slot_weights and policy.dominant is None:
            try:
                self._weight = self._reduce_weight(self._reducer.reduced({}))
            except NotReducedError:
                self._is_weight_reduced = False

    def find(self, context: RequestContext) -> ReducedTerms | None:
        """Return the terms for the jobs of *context*, None if more than remaining amounts decides."""
        job, request_rules = context.ad(), self._partitions.request_rules
        amounts = self._partitions.amounts_of(job)
        if not self._is_weight_reduced or amounts is None or "requirements" not in job or self._reads_gpus(job):
            return None
        try:
            reduced = self._reducer.reduced(visible_job := request_rules.with_requests(job, amounts.requested[:CORES]))
            tests = tests_raised = self._tests(reduced, job)
            if (raised := request_rules.with_requests(job, amounts.raised[:MODIFIED])) != visible_job:
                tests_raised = self._tests(self._reducer.reduced(raised), job)
            return ReducedTerms(self._partitions, amounts, tests, tests_raised, self._ranks(reduced, job), self._weight)
        except NotReducedError:
            return None

    def _reads_gpus(self, job: Ad) -> bool:
        """Return whether *job* depends on which GPUs remain, not only on their number."""
        if not self._partitions.binds_gpus:
            return False
        own = [expression_of(job[name]) for name in ("requirements", "rank") if name in job]
        return (
            "requiregpus" in job
            or self._gpus_read_by_slots
            or _names_gpus(columns_read(own, "my", self._partitions.ads))
        )

    def _tests(self, reduced: Reduced, job: Ad) -> list[RowFunction]:
        return [
            reduced.true(expression_of(job["requirements"]), Side.AD),
            reduced.true(_REQUIREMENTS, Side.COLUMNS),
        ]

    def _ranks(self, reduced: Reduced, job: Ad) -> list[RowFunction]:
        policy = self._policy
        ranks = [_rounded(reduced.number(policy.pre_job_rank, Side.COLUMNS, LOWEST))]
        if not policy.ignore_job_ranks and "rank" in job:
            ranks.append(reduced.number(expression_of(job["rank"]), Side.AD, 0.0))
        ranks.append(_rounded(reduced.number(policy.post_job_rank, Side.COLUMNS, LOWEST)))
        return ranks

    def _reduce_weight(self, reduced: Reduced) -> RowFunction:
        policy = self._policy
        pool_weight = reduced.number(policy.slot_weight, Side.COLUMNS, np.nan)
        if policy.force_slot_weight:
            return lambda remaining, parts: weights_by(None, lambda: pool_weight(remaining, parts))
        own = reduced.number(_SLOT_WEIGHT, Side.COLUMNS, np.nan)
        return lambda remaining, parts: weights_by(own(remaining, parts), lambda: pool_weight(remaining, parts))


def _names_gpus(read: frozenset[str]) -> bool:
    return not read.isdisjoint(("availablegpus", EVERY_ATTRIBUTE))


def _rounded(rank: RowFunction) -> RowFunction:
    return lambda remaining, parts: as_stored(rank(remaining, parts))
