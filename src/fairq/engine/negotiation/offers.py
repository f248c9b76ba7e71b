"""The offers of partitionable slots to one autocluster: suitable slots, their order and their price.

docs/htcondor.md 3.14; consumption_policy.cpp (cp_override_requested, cp_sufficient_assets, cp_deduct_assets).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import (
    AdColumns,
    Expression,
    evaluate_in_ad,
    evaluate_in_columns,
    expression_of,
    parse,
)
from fairq.engine.distinct import distinct
from fairq.engine.negotiation.evaluation import RequestContext, agreed, negotiator_rank
from fairq.engine.negotiation.offer_terms import OfferTerms
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import slot_weights
from fairq.engine.negotiation.preemption import NONE
from fairq.engine.negotiation.requests import CORES, MODIFIED, price

_REQUIREMENTS = parse("Requirements")

_BINDABLE = parse("(RequestGPUs > 0) =!= true || countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs")
"""Whether a slot has left the GPUs that a job requires; a startd refuses other jobs."""

_MOST_LEVELS = 4096
"""Number of consecutive matches computed at once."""


class Offers:
    """The view of all partitionable slots for one autocluster, updated as they are used.

    Arrays are per part: `suitable`; `cost`, the weight of a match; `asked`, the amount of every resource that must be
    left; `amounts`, that a match takes; `keys`, the sort keys, as in an `Ordering`.

    Args:
        context: the request.
        partitions: the slots.
        policy: the cycle's rules.
        any_held: whether any slot has a holder, so that the order has keys for preemption.
        tie_order: each part's place among equals.
        terms: what the job needs and takes, if that can be told from what is left.
    """

    def __init__(
        self,
        context: RequestContext,
        partitions: Partitions,
        policy: NegotiationPolicy,
        any_held: bool,
        tie_order: NDArray[np.int64],
        terms: OfferTerms | None = None,
    ) -> None:
        self._terms = terms
        self._job = context.ad()
        self._partitions = partitions
        self._policy = policy
        # Today's negotiator takes the price from the slot's ad, even if slot weights are off (cp_deduct_assets).
        self._weighing = replace(policy, use_slot_weights=True) if policy.partitionable_slots == "whole" else policy
        self._ranks_by_job = not policy.ignore_job_ranks and "rank" in self._job
        self._requires_gpus = partitions.binds_gpus and "requiregpus" in self._job
        self._tie_order = tie_order
        size = len(partitions.rows)
        self.suitable = np.zeros(size, np.bool_)
        self.cost = np.zeros(size)
        self.amounts = np.zeros_like(partitions.left)
        self.asked = np.zeros_like(partitions.left)
        if terms is not None:
            self.asked += terms.asked
        self.keys = np.zeros((2 + self._ranks_by_job + 2 * any_held, size))
        if any_held:
            self.keys[-2] = float(NONE)
        self._seen = len(partitions.changed)
        self._work_out(np.arange(size))

    def refresh(self) -> None:
        """Update the offers after the latest matches."""
        changed = self._partitions.changed
        if self._seen < len(changed):
            self._work_out(distinct(changed[self._seen :]))
            self._seen = len(changed)

    def best_first(self, among: NDArray[np.intp] | None = None) -> list[int]:
        """The suitable parts, of all or *among* some, best first."""
        parts = np.flatnonzero(self.suitable) if among is None else among[self.suitable[among]]
        order = np.lexsort([self._tie_order[parts], *(-self.keys[::-1, parts])])
        ordered: list[int] = parts[order].tolist()
        return ordered

    def key(self, part: int) -> tuple[float, ...]:
        """The sort key of a part among other slots; lower is better."""
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
        """Whether *part* has no claim left for a match; nobody is offered it any more then."""
        if self._partitions.claims[part] > 0:
            return False
        self._partitions.drop(part)
        return True

    def cost_with(self, part: int, left: NDArray[np.float64]) -> float | None:
        """The price of a match if *left* were the rest of *part*; None if it would not be suitable.

        `amounts` are then what it would take.
        """
        asked = self.asked[:, part]
        if not (asked > 0).any():
            return None
        ads = self._partitions.levels(part, asked, 0, left)
        if not self._agreed(self._seen_by(part, asked), ads, np.arange(1))[0]:
            return None
        amounts = self._carved(np.array([part]), asked[:, None], left[:, None], ads, np.arange(1))[:, 0]
        self.amounts[:, part] = amounts
        weights = slot_weights(self._partitions.levels(part, amounts, 1, left), self._weighing)
        share = self._partitions.share(amounts[:, None], np.array([part]))
        return float(self._price(weights[:1], weights[1:], share)[0])

    def costs_in_a_row(self, part: int) -> list[float]:
        """The prices of the consecutive matches that *part* can take now, all of the same amounts."""
        amounts = self.amounts[:, part]
        wanted = amounts > 0
        fits = np.floor(self._partitions.left[wanted, part] / amounts[wanted] + 1e-9)
        count = int(min(fits.min(), self._partitions.claims[part], _MOST_LEVELS))
        if self._requires_gpus:
            count = int(min(count, self._partitions.times_by_gpus(part, amounts, self._job)))
        ads = self._partitions.levels(part, amounts, count)
        suits = self._agreed(self._seen_by(part, amounts), ads, np.arange(count))
        in_a_row = count if suits.all() else int(np.argmin(suits))
        weights = slot_weights(ads, self._weighing)
        share = self._partitions.share(amounts[:, None], np.array([part]))
        return self._price(weights[:-1], weights[1:], share)[:in_a_row].tolist()  # type: ignore[no-any-return]

    def _seen_by(self, part: int, amounts: NDArray[np.float64]) -> Ad:
        """The job as it asks a slot for these *amounts*."""
        if self._partitions.has_policy[part]:
            return self._overridden(amounts)
        return self._partitions.asking.shown(self._job, amounts[:MODIFIED].tolist())

    def _work_out(self, parts: NDArray[np.intp]) -> None:
        """Bring everything up to date for *parts*."""
        if self._terms is None:
            self._evaluate(parts)
            return
        left = self._partitions.left[:, parts]
        self.suitable[parts] = suitable = self._terms.suit(left, parts)
        parts, left = parts[suitable], left[:, suitable]
        if len(parts):
            self.keys[: len(self._terms.ranks), parts] = [rank(left, parts) for rank in self._terms.ranks]
            amounts = self.amounts[:, parts] = self._terms.carved(left, parts)
            self.cost[parts] = self._terms.cost(left, parts, amounts)

    def _evaluate(self, parts: NDArray[np.intp]) -> None:
        partitions = self._partitions
        partitions.show()
        asked = self.asked[:, parts] = self._requested(parts)
        self.suitable[parts] = False
        enough = partitions.suffices(asked, partitions.left[:, parts], parts)
        if not enough.any():
            return
        parts, asked = parts[enough], asked[:, enough]
        for job, alike in self._jobs(parts, asked):
            fitting = alike[self._agreed(job, partitions.ads, alike)]
            self.suitable[fitting] = True
            if len(fitting):
                # Today's negotiator takes the overridden requests back before it ranks (cp_restore_requested).
                ranked = self._job if self._policy.partitionable_slots == "whole" else job
                self.keys[: 2 + self._ranks_by_job, fitting] = self._ranked(ranked, fitting)
        suiting = self.suitable[parts]
        if not suiting.any():
            return
        parts, asked = parts[suiting], asked[:, suiting]
        amounts = self.amounts[:, parts] = self._carved(parts, asked, partitions.left[:, parts], partitions.ads, parts)
        before = slot_weights(partitions.ads, self._weighing, parts)
        partitions.show(parts, amounts)
        self.cost[parts] = self._price(
            before, slot_weights(partitions.ads, self._weighing, parts), partitions.share(amounts, parts)
        )

    def _carved(
        self,
        parts: NDArray[np.intp],
        asked: NDArray[np.float64],
        left: NDArray[np.float64],
        ads: AdColumns,
        rows: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """What a match takes of *parts*, the *rows* of *ads*; a consumption policy has said it already."""
        partitions = self._partitions
        raised = partitions.asking.raised(self._job, asked, ads, rows)
        policy = partitions.has_policy[parts]
        raised[:, policy] = asked[:, policy]
        suits = np.ones(len(parts), np.bool_)
        differs = np.flatnonzero((raised != asked).any(axis=0))
        if len(differs):
            for job, alike in self._alike(raised[:MODIFIED, differs], differs):
                suits[alike] = self._agreed(job, ads, rows[alike])
        amounts = partitions.carved(asked, raised, suits, left, parts)
        amounts[:, policy] = asked[:, policy]
        return amounts

    def _price(
        self, before: NDArray[np.float64], after: NDArray[np.float64], share: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if not self._weighing.use_slot_weights:
            return before
        # Today's negotiator takes what the weight loses, nothing too (cp_deduct_assets).
        is_whole = self._policy.partitionable_slots == "whole"
        return np.maximum(before - after, 0.0) if is_whole else price(before, after, share)

    def _requested(self, parts: NDArray[np.intp]) -> NDArray[np.float64]:
        """The amount of every resource that a match takes from each of *parts*; infinite if not a number."""
        partitions = self._partitions
        amounts = partitions.asking.asked(self._job, partitions.ads, parts)
        by_policy = np.flatnonzero(partitions.has_policy[parts])
        if len(by_policy):
            cores = amounts[:CORES, by_policy]
            for number, name in enumerate(partitions.resources):
                policy = parse(f"MY.Consumption{name}")
                has = partitions.ads.has(f"Consumption{name}")[parts[by_policy]]
                for job, alike in self._alike(cores, by_policy):
                    used = evaluate_in_columns(policy, partitions.ads, job, parts[alike])
                    amounts[number, alike] = used.as_rank(np.inf)
                amounts[number, by_policy[~has]] = 0.0
        return amounts

    def _jobs(self, parts: NDArray[np.intp], amounts: NDArray[np.float64]) -> Sequence[tuple[Ad, NDArray[np.intp]]]:
        """The job as it asks the slots for these *amounts*, with those slots: a consumption policy overrides all."""
        by_policy = self._partitions.has_policy[parts]
        plain = np.flatnonzero(~by_policy)
        groups = [(job, parts[alike]) for job, alike in self._alike(amounts[:CORES, plain], plain)]
        if by_policy.any():
            distinct, which = np.unique(amounts[:, by_policy], axis=1, return_inverse=True)
            for number in range(distinct.shape[1]):
                overridden = self._overridden(distinct[:, number])
                groups.append((overridden, parts[by_policy][which.reshape(-1) == number]))
        return groups

    def _alike(self, amounts: NDArray[np.float64], places: NDArray[np.intp]) -> Iterator[tuple[Ad, NDArray[np.intp]]]:
        """The job with each of the different *amounts* of the first resources, and at which *places* it has them."""
        if not len(places):
            return
        distinct, which = np.unique(amounts, axis=1, return_inverse=True)
        for number in range(distinct.shape[1]):
            job = self._partitions.asking.shown(self._job, distinct[:, number].tolist())
            yield job, places[which.reshape(-1) == number]

    def _overridden(self, amounts: NDArray[np.float64]) -> Ad:
        requests = {
            f"request{name.lower()}": int(amount) if amount.is_integer() else amount
            for name, amount in zip(self._partitions.resources, amounts.tolist(), strict=True)
        }
        return {**self._job, **requests}

    def _agreed(self, job: Ad, ads: AdColumns, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Where both sides agree; a job that requires certain GPUs also needs one that can be bound."""
        found = agreed(job, ads, rows)
        if self._requires_gpus and found.any():
            found &= evaluate_in_ad(_BINDABLE, job, ads, rows).is_true()
        return found

    def _ranked(self, job: Ad, parts: NDArray[np.intp]) -> NDArray[np.float64]:
        ads, policy = self._partitions.ads, self._policy
        keys: list[NDArray[np.floating]] = [negotiator_rank(policy.pre_job_rank, ads, job, parts)]
        if self._ranks_by_job:
            keys.append(evaluate_in_ad(expression_of(job["rank"]), job, ads, parts).as_rank(0.0))
        keys.append(negotiator_rank(policy.post_job_rank, ads, job, parts))
        return np.array(keys, np.float64)


def expressions_read(partitions: Partitions, policy: NegotiationPolicy) -> list[Expression]:
    """The expressions on the slots' side that decide what is offered to a job."""
    policies = [parse(f"MY.Consumption{name}") for name in partitions.resources]
    return [_REQUIREMENTS, policy.pre_job_rank, policy.post_job_rank, *policies]
