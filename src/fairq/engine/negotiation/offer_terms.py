"""The terms of partitionable slots for one kind of job, as functions of what the slots have left.

The rules are those of `offers.EvaluatedTerms`. Where the expressions of job and slots can be reduced to what they say
of the resources left, they are read once per kind of job, and not again for every match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import EVERY_ATTRIBUTE, columns_read, expression_of, parse
from fairq.engine.classad.partial_evaluation import NotReducedError, Numbers, Of, Reduced, Reducer
from fairq.engine.classad.references import Side
from fairq.engine.negotiation.evaluation import LOWEST, RequestContext, as_stored
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import weights_by
from fairq.engine.negotiation.requests import CORES, MODIFIED, Alone, price

_REQUIREMENTS, _SLOT_WEIGHT = parse("MY.Requirements"), parse("MY.SlotWeight")

Rows = NDArray[np.intp]


class Offer(NamedTuple):
    """What some parts offer to a job.

    Args:
        asked: per resource and part, the amount that must be left.
        suits: per part, whether it suits the job.
        amounts: per resource and part that suits, what a match takes.
        cost: per part that suits, the weight of a match.
        keys: the sort keys of the parts that suit.
    """

    asked: Numbers
    suits: NDArray[np.bool_]
    amounts: Numbers
    cost: Numbers
    keys: Sequence[NDArray[np.floating]]


class Terms(Protocol):
    """What parts offer to one kind of job."""

    def offer(self, parts: Rows, left: Numbers | None = None) -> Offer:
        """Return what *parts* offer if so much is *left* of each resource and part of all; None: what is left now."""


class ReducedTerms:
    """The terms of one kind of job as functions of what is left.

    Args:
        known: what the job asks of each resource, and the same with memory and disk raised.
        tests: where the Requirements of both sides are true.
        tests_raised: the same for the job that asks for the raised amounts.
        ranks: the sort keys.
        weight: the weight of slots; None: each counts 1, or weights are dominant.
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
        self._partitions, self._tests, self._tests_raised = partitions, tests, tests_raised
        self._ranks, self._weight = ranks, weight
        self._asked = np.array(known.asked, np.float64)[:, None]
        self._raised = np.array(known.raised, np.float64)[:, None]

    def offer(self, parts: Rows, left: Numbers | None = None) -> Offer:
        """Return what *parts* offer (`Terms`)."""
        partitions = self._partitions
        rest = (partitions.left if left is None else left)[:, parts]
        suits = partitions.suffices(self._asked, rest, parts)
        for test in self._tests:
            suits &= test(rest, parts)
        parts, rest = parts[suits], rest[:, suits]
        suits_raised = np.ones(len(parts), np.bool_)
        for test in self._tests_raised:
            suits_raised &= test(rest, parts)
        amounts = partitions.carved(self._asked, self._raised, suits_raised, rest, parts)
        cost = partitions.dominant_price(amounts, parts)
        if cost is None:
            cost = np.ones(len(parts))
            if self._weight is not None:
                before, after = self._weight(rest, parts), self._weight(rest - amounts, parts)
                cost = price(before, after, partitions.share(amounts, parts))
        return Offer(self._asked, suits, amounts, cost, [rank(rest, parts) for rank in self._ranks])


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
        if policy.use_slot_weights and policy.dominant is None:
            try:
                self._weight = self._find_weight(self._reducer.reduced({}))
            except NotReducedError:
                self._works = False

    def find(self, context: RequestContext) -> ReducedTerms | None:
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
            return ReducedTerms(self._partitions, known, tests, tests_raised, self._ranks(reduced, job), self._weight)
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
