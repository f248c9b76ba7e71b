"""The offers of partitionable slots to one autocluster: suitable slots, their order and their price.

docs/htcondor.md 3.14; consumption_policy.cpp (cp_override_requested, cp_sufficient_assets, cp_deduct_assets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import Expression, evaluate_in_ad, evaluate_in_columns, expression_of, parse
from fairq.engine.distinct import distinct
from fairq.engine.negotiation.evaluation import negotiator_rank, requirements_met
from fairq.engine.negotiation.offer_terms import Offer, Terms
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import slot_weights
from fairq.engine.negotiation.preemption import NONE
from fairq.engine.negotiation.requests import CORES, MODIFIED, price

_REQUIREMENTS = parse("Requirements")

_BINDABLE = parse("(RequestGPUs > 0) =!= true || countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs")
"""Whether the GPUs that a job requires remain on a slot; a startd refuses other jobs."""


class Offers:
    """The offers of all partitionable slots to one autocluster, updated as the slots are used.

    Arrays are per part: `suitable`; `cost`, the weight of a match; `requested`, the amount of every resource that must
    remain; `amounts`, which a match takes; `keys`, the sort keys, as in an `Order`.

    Args:
        job: an ad of the autocluster.
        partitions: the slots.
        terms: computes the offers to the job. *reduced* returns terms that are faster if asked again; None: there are
            none.
        any_held: whether any slot has a holder, so that the order has keys for preemption.
        tie_order: each part's position among parts that rank equally.
    """

    def __init__(
        self,
        job: Ad,
        partitions: Partitions,
        terms: Terms,
        reduced: Callable[[], Terms | None],
        any_held: bool,
        tie_order: NDArray[np.int64],
    ) -> None:
        self._job, self._partitions, self._tie_order = job, partitions, tie_order
        self._terms, self._reduced = terms, reduced
        self._is_first = True
        size = len(partitions.rows)
        first = terms.offer(np.arange(size))
        self.suitable = np.zeros(size, np.bool_)
        self.cost = np.zeros(size)
        self.requested, self.amounts = np.zeros_like(partitions.remaining), np.zeros_like(partitions.remaining)
        self.keys = np.zeros((len(first.keys) + 2 * any_held, size))
        if any_held:
            self.keys[-2] = float(NONE)
        self._changes_seen = len(partitions.changed)
        self._store(np.arange(size), first)

    def refresh(self) -> None:
        """Update the offers after the latest matches."""
        changed = self._partitions.changed
        if self._changes_seen < len(changed):
            if self._is_first:
                self._is_first, self._terms = False, self._reduced() or self._terms
            parts = distinct(changed[self._changes_seen :])
            self._store(parts, self._terms.offer(parts))
            self._changes_seen = len(changed)

    def best_first(self, among: NDArray[np.intp]) -> list[int]:
        """Return the suitable parts of *among*, best first."""
        parts = among[self.suitable[among]]
        order = np.lexsort([self._tie_order[parts], *(-self.keys[::-1, parts])])
        ordered: list[int] = parts[order].tolist()
        return ordered

    def key(self, part: int) -> tuple[float, ...]:
        """Return the sort key of a part among other slots; lower is better."""
        return tuple((-self.keys[:, part]).tolist())

    def propose(
        self,
        part: int,
        cost: float | None = None,
        victims: tuple[int, ...] = (),
        returned: NDArray[np.float64] | None = None,
    ) -> None:
        """Propose *part* for the next match, at its price or at *cost*.

        The dynamic slots *victims* are preempted for it and return the amounts *returned*.
        """
        price = float(self.cost[part]) if cost is None else cost
        self._partitions.propose(part, price, self.amounts[:, part], self._job, victims, returned)

    def drop_unclaimable(self, part: int) -> bool:
        """Return whether *part* has no claim left for a match; if so, stop offering it."""
        if self._partitions.claims[part] > 0:
            return False
        self._partitions.withdraw(part)
        return True

    def cost_with(self, part: int, remaining: NDArray[np.float64]) -> float | None:
        """Return the price of a match if *remaining* were left of *part*, None if it would not suit.

        It sets `amounts` to what the match would take.
        """
        remaining_of_all = self._partitions.remaining.copy()
        remaining_of_all[:, part] = remaining
        offer = self._terms.offer(np.array([part]), remaining_of_all)
        if not offer.suits[0]:
            return None
        self.amounts[:, part] = offer.amounts[:, 0]
        return float(offer.cost[0])

    def _store(self, parts: NDArray[np.intp], offer: Offer) -> None:
        self.requested[:, parts], self.suitable[parts] = offer.requested, offer.suits
        suitable_parts = parts[offer.suits]
        if len(suitable_parts):
            self.amounts[:, suitable_parts], self.cost[suitable_parts] = offer.amounts, offer.cost
            self.keys[: len(offer.keys), suitable_parts] = offer.keys


class EvaluatedTerms:
    """The terms of one kind of job (*job* is its ad), whose expressions are evaluated again for what remains."""

    def __init__(self, job: Ad, partitions: Partitions, policy: NegotiationPolicy) -> None:
        self._job, self._partitions, self._policy = job, partitions, policy
        # Today's negotiator takes the price from the slot's ad, even if slot weights are off (cp_deduct_assets).
        self._is_whole = policy.partitionable_slots == "whole"
        self._weighing = replace(policy, use_slot_weights=True) if self._is_whole else policy
        self._ranks_by_job = not policy.ignore_job_ranks and "rank" in job
        self._requires_gpus = partitions.binds_gpus and "requiregpus" in job

    def offer(self, parts: NDArray[np.intp], remaining: NDArray[np.float64] | None = None) -> Offer:
        """Return what *parts* offer (`Terms`)."""
        partitions = self._partitions
        partitions.show(remaining)
        remaining_now = partitions.remaining if remaining is None else remaining
        requested = self._requested(parts)
        suits = partitions.suffices(requested, remaining_now[:, parts], parts)
        keys = np.zeros((2 + self._ranks_by_job, len(parts)))
        enough = np.flatnonzero(suits)
        for job, indices in self._jobs_with_requests(parts[enough], requested[:, enough]):
            equal = enough[indices]
            suits[equal] = fitting = self._is_accepted(job, parts[equal])
            # Today's negotiator restores the job's own requests before it ranks (cp_restore_requested).
            self._rank(self._job if self._is_whole else job, parts, equal[fitting], keys)
        suitable_parts, requested_of_suitable = parts[suits], requested[:, suits]
        amounts = self._carved(suitable_parts, requested_of_suitable, remaining_now[:, suitable_parts])
        return Offer(requested, suits, amounts, self._cost(suitable_parts, amounts, remaining_now), keys[:, suits])  # type: ignore[arg-type]

    def _carved(
        self, parts: NDArray[np.intp], requested: NDArray[np.float64], remaining: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what a match takes of *parts*; with a consumption policy, that is what it requests."""
        partitions = self._partitions
        raised = partitions.request_rules.raised(self._job, requested, partitions.ads, parts)
        policy = partitions.has_policy[parts]
        raised[:, policy] = requested[:, policy]
        suits = np.ones(len(parts), np.bool_)
        differs = np.flatnonzero((raised != requested).any(axis=0))
        for job, equal in self._jobs_by_amounts(raised[:MODIFIED, differs], differs):
            suits[equal] = self._is_accepted(job, parts[equal])
        amounts = partitions.carved(requested, raised, suits, remaining, parts)
        amounts[:, policy] = requested[:, policy]
        return amounts

    def _cost(
        self, parts: NDArray[np.intp], amounts: NDArray[np.float64], remaining: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the weight of a match that takes *amounts* of each of *parts*."""
        partitions, policy = self._partitions, self._weighing
        dominant = partitions.dominant_price(amounts, parts)
        if dominant is not None:
            return dominant
        weight_before = slot_weights(partitions.ads, policy, parts)
        if not policy.use_slot_weights or not len(parts):
            return weight_before
        after = remaining.copy()
        after[:, parts] -= amounts
        partitions.show(after)
        weight_after = slot_weights(partitions.ads, policy, parts)
        if self._is_whole:
            # Today's negotiator takes the loss of weight, even if it is 0 (cp_deduct_assets).
            return np.maximum(weight_before - weight_after, 0.0)
        return price(weight_before, weight_after, partitions.share(amounts, parts))

    def _requested(self, parts: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the amount of every resource that a match takes from each of *parts*; infinite if not a number."""
        partitions = self._partitions
        amounts = partitions.request_rules.requested(self._job, partitions.ads, parts)
        by_policy = np.flatnonzero(partitions.has_policy[parts])
        cores = amounts[:CORES, by_policy]
        for number, name in enumerate(partitions.resources if len(by_policy) else ()):
            policy = parse(f"MY.Consumption{name}")
            is_defined = partitions.ads.has(f"Consumption{name}")[parts[by_policy]]
            for job, equal in self._jobs_by_amounts(cores, by_policy):
                used = evaluate_in_columns(policy, partitions.ads, job, parts[equal])
                amounts[number, equal] = used.as_rank(np.inf)
            amounts[number, by_policy[~is_defined]] = 0.0
        return amounts

    def _jobs_with_requests(
        self, parts: NDArray[np.intp], amounts: NDArray[np.float64]
    ) -> Iterator[tuple[Ad, NDArray[np.intp]]]:
        """Yield the job with the requests that parts see, and the indices of these parts: a policy overrides all."""
        by_policy = self._partitions.has_policy[parts]
        plain, others = np.flatnonzero(~by_policy), np.flatnonzero(by_policy)
        yield from self._jobs_by_amounts(amounts[:CORES, plain], plain)
        names = [f"request{name.lower()}" for name in self._partitions.resources]
        for values, equal in _distinct(amounts[:, others], others):
            requests = [int(amount) if amount.is_integer() else amount for amount in values]
            yield {**self._job, **dict(zip(names, requests, strict=True))}, equal

    def _jobs_by_amounts(
        self, amounts: NDArray[np.float64], indices: NDArray[np.intp]
    ) -> Iterator[tuple[Ad, NDArray[np.intp]]]:
        """Yield the job with each different column of *amounts* of the first resources, and its *indices*."""
        for values, equal in _distinct(amounts, indices):
            yield self._partitions.request_rules.with_requests(self._job, values), equal

    def _is_accepted(self, job: Ad, parts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of *parts* and the job accept each other; required GPUs must also be there to bind."""
        is_agreed = requirements_met(job, self._partitions.ads, parts)
        if self._requires_gpus and is_agreed.any():
            is_agreed &= evaluate_in_ad(_BINDABLE, job, self._partitions.ads, parts).is_true()
        return is_agreed

    def _rank(self, job: Ad, parts: NDArray[np.intp], indices: NDArray[np.intp], keys: NDArray[np.float64]) -> None:
        """Write the sort keys of the parts at *indices* into *keys*."""
        if not len(indices):
            return
        ads, policy, rows = self._partitions.ads, self._policy, parts[indices]
        keys[0, indices] = negotiator_rank(policy.pre_job_rank, ads, job, rows)
        if self._ranks_by_job:
            keys[1, indices] = evaluate_in_ad(expression_of(job["rank"]), job, ads, rows).as_rank(0.0)
        keys[-1, indices] = negotiator_rank(policy.post_job_rank, ads, job, rows)


def _distinct(
    amounts: NDArray[np.float64], indices: NDArray[np.intp]
) -> Iterator[tuple[list[float], NDArray[np.intp]]]:
    """Yield the different columns of *amounts*, each with those of *indices* that have it."""
    if not len(indices):
        return
    columns, column_numbers = np.unique(amounts, axis=1, return_inverse=True)
    for number, values in enumerate(columns.T.tolist()):
        yield values, indices[column_numbers.reshape(-1) == number]


def expressions_read(partitions: Partitions, policy: NegotiationPolicy) -> list[Expression]:
    """Return the slots' expressions that decide what is offered to a job."""
    policies = [parse(f"MY.Consumption{name}") for name in partitions.resources]
    return [_REQUIREMENTS, policy.pre_job_rank, policy.post_job_rank, *policies]
