"""The offers of partitionable slots to one autocluster: suitable slots, their order and their price.

docs/htcondor.md 3.14; consumption_policy.cpp (cp_override_requested, cp_sufficient_assets, cp_deduct_assets).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import Expression, evaluate_in_ad, evaluate_in_columns, expression_of, parse
from fairq.engine.distinct import distinct
from fairq.engine.negotiation.evaluation import agreed, negotiator_rank
from fairq.engine.negotiation.offer_terms import Offer, Terms
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import slot_weights
from fairq.engine.negotiation.preemption import NONE
from fairq.engine.negotiation.requests import CORES, MODIFIED, price

_REQUIREMENTS = parse("Requirements")

_BINDABLE = parse("(RequestGPUs > 0) =!= true || countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs")
"""Whether a slot has left the GPUs that a job requires; a startd refuses other jobs."""


class Offers:
    """The view of all partitionable slots for one autocluster, updated as they are used.

    Arrays are per part: `suitable`; `cost`, the weight of a match; `asked`, the amount of every resource that must be
    left; `amounts`, that a match takes; `keys`, the sort keys, as in an `Order`.

    Args:
        job: its ad.
        partitions: the slots.
        terms: what they offer to the job.
        any_held: whether any slot has a holder, so that the order has keys for preemption.
        tie_order: each part's place among equals.
    """

    def __init__(
        self, job: Ad, partitions: Partitions, terms: Terms, any_held: bool, tie_order: NDArray[np.int64]
    ) -> None:
        self._job, self._partitions, self._terms, self._tie_order = job, partitions, terms, tie_order
        size = len(partitions.rows)
        first = terms.offer(np.arange(size))
        self.suitable = np.zeros(size, np.bool_)
        self.cost = np.zeros(size)
        self.asked, self.amounts = np.zeros_like(partitions.left), np.zeros_like(partitions.left)
        self.keys = np.zeros((len(first.keys) + 2 * any_held, size))
        if any_held:
            self.keys[-2] = float(NONE)
        self._seen = len(partitions.changed)
        self._note(np.arange(size), first)

    def refresh(self) -> None:
        """Update the offers after the latest matches."""
        changed = self._partitions.changed
        if self._seen < len(changed):
            parts = distinct(changed[self._seen :])
            self._note(parts, self._terms.offer(parts))
            self._seen = len(changed)

    def best_first(self, among: NDArray[np.intp]) -> list[int]:
        """Return the suitable parts *among* some, best first."""
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
        given_back: NDArray[np.float64] | None = None,
    ) -> None:
        """Propose *part* for the next match, at its price unless another one is given.

        The dynamic slots *victims* are preempted for it and return the amounts *given_back*.
        """
        price = float(self.cost[part]) if cost is None else cost
        self._partitions.propose(part, price, self.amounts[:, part], self._job, victims, given_back)

    def drop_unclaimable(self, part: int) -> bool:
        """Return whether *part* has no claim left for a match; nobody is offered it any more then."""
        if self._partitions.claims[part] > 0:
            return False
        self._partitions.drop(part)
        return True

    def cost_with(self, part: int, left: NDArray[np.float64]) -> float | None:
        """Return the price of a match if *left* were the rest of *part*; None if it would not suit.

        `amounts` are then what it would take.
        """
        rest = self._partitions.left.copy()
        rest[:, part] = left
        offer = self._terms.offer(np.array([part]), rest)
        if not offer.suits[0]:
            return None
        self.amounts[:, part] = offer.amounts[:, 0]
        return float(offer.cost[0])

    def _note(self, parts: NDArray[np.intp], offer: Offer) -> None:
        self.asked[:, parts], self.suitable[parts] = offer.asked, offer.suits
        suiting = parts[offer.suits]
        if len(suiting):
            self.amounts[:, suiting], self.cost[suiting] = offer.amounts, offer.cost
            self.keys[: len(offer.keys), suiting] = offer.keys


class EvaluatedTerms:
    """The terms of one kind of job (*job* is its ad), whose expressions are evaluated anew for what is left."""

    def __init__(self, job: Ad, partitions: Partitions, policy: NegotiationPolicy) -> None:
        self._job, self._partitions, self._policy = job, partitions, policy
        # Today's negotiator takes the price from the slot's ad, even if slot weights are off (cp_deduct_assets).
        self._is_whole = policy.partitionable_slots == "whole"
        self._weighing = replace(policy, use_slot_weights=True) if self._is_whole else policy
        self._ranks_by_job = not policy.ignore_job_ranks and "rank" in job
        self._requires_gpus = partitions.binds_gpus and "requiregpus" in job

    def offer(self, parts: NDArray[np.intp], left: NDArray[np.float64] | None = None) -> Offer:
        """Return what *parts* offer (`Terms`)."""
        partitions = self._partitions
        partitions.show(left)
        rest = partitions.left if left is None else left
        asked = self._requested(parts)
        suits = partitions.suffices(asked, rest[:, parts], parts)
        keys = np.zeros((2 + self._ranks_by_job, len(parts)))
        enough = np.flatnonzero(suits)
        for job, places in self._jobs(parts[enough], asked[:, enough]):
            alike = enough[places]
            suits[alike] = fitting = self._agreed(job, parts[alike])
            # Today's negotiator takes the overridden requests back before it ranks (cp_restore_requested).
            self._rank(self._job if self._is_whole else job, parts, alike[fitting], keys)
        suiting, asked_of = parts[suits], asked[:, suits]
        amounts = self._carved(suiting, asked_of, rest[:, suiting])
        return Offer(asked, suits, amounts, self._cost(suiting, amounts, rest), keys[:, suits])  # type: ignore[arg-type]

    def _carved(
        self, parts: NDArray[np.intp], asked: NDArray[np.float64], left: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What a match takes of *parts*; a consumption policy has said it already."""
        partitions = self._partitions
        raised = partitions.asking.raised(self._job, asked, partitions.ads, parts)
        policy = partitions.has_policy[parts]
        raised[:, policy] = asked[:, policy]
        suits = np.ones(len(parts), np.bool_)
        differs = np.flatnonzero((raised != asked).any(axis=0))
        for job, alike in self._alike(raised[:MODIFIED, differs], differs):
            suits[alike] = self._agreed(job, parts[alike])
        amounts = partitions.carved(asked, raised, suits, left, parts)
        amounts[:, policy] = asked[:, policy]
        return amounts

    def _cost(
        self, parts: NDArray[np.intp], amounts: NDArray[np.float64], left: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The weight of a match with each of *parts*, of which it takes *amounts*."""
        partitions, policy = self._partitions, self._weighing
        dominant = partitions.dominant_price(amounts, parts)
        if dominant is not None:
            return dominant
        before = slot_weights(partitions.ads, policy, parts)
        if not policy.use_slot_weights or not len(parts):
            return before
        after = left.copy()
        after[:, parts] -= amounts
        partitions.show(after)
        remaining = slot_weights(partitions.ads, policy, parts)
        if self._is_whole:
            # Today's negotiator takes what the weight loses, nothing too (cp_deduct_assets).
            return np.maximum(before - remaining, 0.0)
        return price(before, remaining, partitions.share(amounts, parts))

    def _requested(self, parts: NDArray[np.intp]) -> NDArray[np.float64]:
        """The amount of every resource that a match takes from each of *parts*; infinite if not a number."""
        partitions = self._partitions
        amounts = partitions.asking.asked(self._job, partitions.ads, parts)
        by_policy = np.flatnonzero(partitions.has_policy[parts])
        cores = amounts[:CORES, by_policy]
        for number, name in enumerate(partitions.resources if len(by_policy) else ()):
            policy = parse(f"MY.Consumption{name}")
            has = partitions.ads.has(f"Consumption{name}")[parts[by_policy]]
            for job, alike in self._alike(cores, by_policy):
                used = evaluate_in_columns(policy, partitions.ads, job, parts[alike])
                amounts[number, alike] = used.as_rank(np.inf)
            amounts[number, by_policy[~has]] = 0.0
        return amounts

    def _jobs(self, parts: NDArray[np.intp], amounts: NDArray[np.float64]) -> Iterator[tuple[Ad, NDArray[np.intp]]]:
        """The job as it asks *parts* for these *amounts*, and at which places: a consumption policy overrides all."""
        by_policy = self._partitions.has_policy[parts]
        plain, others = np.flatnonzero(~by_policy), np.flatnonzero(by_policy)
        yield from self._alike(amounts[:CORES, plain], plain)
        names = [f"request{name.lower()}" for name in self._partitions.resources]
        for values, alike in _distinct(amounts[:, others], others):
            requests = [int(amount) if amount.is_integer() else amount for amount in values]
            yield {**self._job, **dict(zip(names, requests, strict=True))}, alike

    def _alike(self, amounts: NDArray[np.float64], places: NDArray[np.intp]) -> Iterator[tuple[Ad, NDArray[np.intp]]]:
        """The job with each of the different *amounts* of the first resources, and at which *places* it has them."""
        for values, alike in _distinct(amounts, places):
            yield self._partitions.asking.shown(self._job, values), alike

    def _agreed(self, job: Ad, parts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Where both sides agree; a job that requires certain GPUs also needs one that can be bound."""
        found = agreed(job, self._partitions.ads, parts)
        if self._requires_gpus and found.any():
            found &= evaluate_in_ad(_BINDABLE, job, self._partitions.ads, parts).is_true()
        return found

    def _rank(self, job: Ad, parts: NDArray[np.intp], places: NDArray[np.intp], keys: NDArray[np.float64]) -> None:
        """Write the sort keys of the parts at *places* into *keys*."""
        if not len(places):
            return
        ads, policy, rows = self._partitions.ads, self._policy, parts[places]
        keys[0, places] = negotiator_rank(policy.pre_job_rank, ads, job, rows)
        if self._ranks_by_job:
            keys[1, places] = evaluate_in_ad(expression_of(job["rank"]), job, ads, rows).as_rank(0.0)
        keys[-1, places] = negotiator_rank(policy.post_job_rank, ads, job, rows)


def _distinct(amounts: NDArray[np.float64], places: NDArray[np.intp]) -> Iterator[tuple[list[float], NDArray[np.intp]]]:
    """Yield the different columns of *amounts*, each with those of *places* that have it."""
    if not len(places):
        return
    found, which = np.unique(amounts, axis=1, return_inverse=True)
    for number, values in enumerate(found.T.tolist()):
        yield values, places[which.reshape(-1) == number]


def expressions_read(partitions: Partitions, policy: NegotiationPolicy) -> list[Expression]:
    """Return the expressions on the slots' side that decide what is offered to a job."""
    policies = [parse(f"MY.Consumption{name}") for name in partitions.resources]
    return [_REQUIREMENTS, policy.pre_job_rank, policy.post_job_rank, *policies]
