"""Partitionable slots that are divided: slots whose price and remaining resources change with each match.

docs/htcondor.md 3.14.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.negotiation.dynamic_slots import Permits, PslotPreemption
from fairq.engine.negotiation.evaluation import ContextOf, Evaluation, RequestContext
from fairq.engine.negotiation.offer_terms import Terms, TermsFinder
from fairq.engine.negotiation.offers import EvaluatedTerms, Offers, expressions_read
from fairq.engine.negotiation.order import Key
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.pieces import Carving
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import PreemptState

_MAX_STORED = 2_000_000
"""Maximum number of stored offers of slots to autoclusters; about 60 bytes each."""

ProposeRoom = Callable[[Offers, Permits], tuple[int, PreemptState] | None]
"""Proposes a match that preempts dynamic slots and that the limits permit; returns the slot and its preempt state."""


class Parts:
    """The divided slots of a cycle, and their offers to each kind of job.

    Args:
        partitions: the slots.
        policy: the cycle's rules.
        tie_order: every slot's position among slots that rank equally.
        any_held: whether slots with users are on lists.
        kinds: an ad of each autocluster.
        evaluate: makes an `Evaluation`.
        preempted: how dynamic slots are preempted to make room; None: they are not.
    """

    def __init__(
        self,
        partitions: Partitions,
        policy: NegotiationPolicy,
        tie_order: NDArray[np.int64],
        any_held: bool,
        kinds: Sequence[Ad],
        evaluate: Callable[..., Evaluation[Offers]],
        preempted: PslotPreemption | None,
    ) -> None:
        self.partitions, self._policy, self._any_held, self._kinds = partitions, policy, any_held, kinds
        self.preempted = preempted
        self.rows = partitions.rows.astype(np.int32)
        self.number_of = np.full(len(tie_order), -1, np.int32)
        """Per slot of the pool, its number among the divided ones, -1 for others."""
        self.number_of[self.rows] = np.arange(len(self.rows))
        self.ties = tie_order
        self._finder: TermsFinder | None = None
        requests = [f"request{name.lower()}" for name in partitions.resources]
        read = ["requirements", "rank", "requiregpus", *requests]
        self._offers = evaluate(self._find_offers, read, expressions_read(partitions, policy), partitions.ads)
        self._stored = 0

    def offers(self, kind: int, context_of: ContextOf) -> Offers:
        """Return the current offers of the slots to a kind of job."""
        offers = self._offers.get(kind, context_of)
        offers.refresh()
        return offers

    def none_has_enough(self, kind: int) -> bool:
        """Return whether what a kind of job requests remains on no slot; False if it depends on the slot."""
        amounts = self.partitions.amounts_of(self._kinds[kind])
        return amounts is not None and not self.partitions.with_enough(amounts.requested).any()

    def carve(self, row: int) -> Carving | None:
        """Take the proposed part of a slot and return it, None if the slot is not divided."""
        return self.partitions.carve(row) if self.number_of[row] >= 0 else None

    def _find_offers(self, context: RequestContext) -> Offers:
        self._stored += len(self.rows)
        if self._stored > _MAX_STORED:
            self._offers.forget()
            self._stored = len(self.rows)
        terms = EvaluatedTerms(context.ad(), self.partitions, self._policy)
        ties = self.ties[self.rows]
        return Offers(context.ad(), self.partitions, terms, lambda: self._reduced(context), self._any_held, ties)

    def _reduced(self, context: RequestContext) -> Terms | None:
        """Return terms that take long to make and are fast; None for slots that get resources back."""
        if self.preempted is not None:
            return None
        self._finder = self._finder or TermsFinder(self.partitions, self._policy)
        return self._finder.find(context)


class PartsOnList:
    """The divided slots on a list of candidates.

    Breadth first, a slot is proposed again, with its new rank, after all other free slots. Depth first, a slot is
    filled before any other. When no other slot is left, *make_room* may preempt dynamic slots.
    """

    def __init__(self, parts: Parts, offers: Offers, *, depth_first: bool, make_room: ProposeRoom | None) -> None:
        self._parts, self._offers, self._depth_first, self._make_room = parts, offers, depth_first, make_room
        self._proposed: list[int] = []
        self._filling: int | None = None
        """The slot that is being filled."""

    def in_order(
        self, undivided: NDArray[np.int32], undivided_keys: Sequence[Key], by_priority: NDArray[np.bool_]
    ) -> Iterator[NDArray[np.int32]]:
        """Yield the *undivided* slots and the parts, best first; then the proposed parts again, with their new ranks.

        Before a slot that would be preempted *by_priority*, proposed parts that rank higher or equally come again:
        while one of them suits, that slot is not preempted (docs/htcondor.md 3.9).
        """
        offers, all_parts = self._offers, self._parts
        parts = np.flatnonzero(offers.suitable)
        rows = np.concatenate([undivided, all_parts.rows[parts]])
        keys = [
            -np.concatenate([undivided_key, key[parts]])
            for undivided_key, key in zip(undivided_keys, offers.keys, strict=True)
        ]
        order = np.lexsort([all_parts.ties[rows], *reversed(keys)])
        rows, preempts = rows[order], np.append(by_priority, np.zeros(len(parts), np.bool_))[order]
        ranks = np.array(keys)[:, order].T
        changes = (np.flatnonzero(preempts[1:] != preempts[:-1]) + 1).tolist()
        for start, end in pairwise([0, *changes, len(rows)]):
            if preempts[start:end].any():
                yield from self._after_proposed(rows[start:end], ranks[start:end])
            else:
                yield rows[start:end]
        while proposed := self._suitable_proposed():
            yield self._repeat(proposed)

    def _after_proposed(self, rows: NDArray[np.int32], ranks: NDArray[np.float64]) -> Iterator[NDArray[np.int32]]:
        """Yield *rows*, whose sort keys are *ranks* (lower is better), after the proposed parts that rank higher."""

        def rank(index: int) -> tuple[float, ...]:
            return tuple(ranks[index].tolist())

        start, size = 0, len(rows)
        while start < size:
            proposed, stop = self._suitable_proposed(), size
            if proposed:
                better = bisect_right(proposed, rank(start), key=self._offers.key)
                if better:
                    yield self._repeat(proposed[:better])
                    continue
                stop = start + bisect_left(range(start, size), self._offers.key(proposed[0]), key=rank)
            yield rows[start:stop]
            start = stop

    def _suitable_proposed(self) -> list[int]:
        """Return the parts proposed before that still suit, best first."""
        if not self._proposed:
            return []
        self._offers.refresh()
        return self._offers.best_first(self._parts.number_of[self._proposed].astype(np.intp))

    def _repeat(self, parts: Sequence[int]) -> NDArray[np.int32]:
        rows = self._parts.rows[list(parts)]
        repeated = set(rows.tolist())
        self._proposed = [row for row in self._proposed if row not in repeated]
        return rows

    def price(self, row: int) -> float:
        """Return the current price of a match with a slot."""
        return float(self._offers.cost[self._parts.number_of[row]])

    def propose(self, row: int) -> None:
        """Propose a part of a slot for the next match; depth first, the following matches fill the slot."""
        self._proposed.append(row)
        self._filling = row if self._depth_first else None
        self._offers.propose(int(self._parts.number_of[row]))

    def filling(self) -> int | None:
        """Return the slot that is being filled, None if no further part of it suits."""
        if self._filling is None:
            return None
        self._offers.refresh()
        if not self._offers.suitable[self._parts.number_of[self._filling]]:
            self._filling = None
        return self._filling

    def fill(self) -> None:
        """Propose the next part of the slot that is being filled."""
        assert self._filling is not None
        self._offers.propose(int(self._parts.number_of[self._filling]))

    def stop_filling(self) -> None:
        """Stop filling the slot that is being filled."""
        assert self._filling is not None
        self._proposed.remove(self._filling)
        self._filling = None

    def pass_over(self, slot: int) -> None:
        """Skip a slot that was proposed and not taken."""
        if self._proposed[-1:] == [slot]:
            self._proposed.pop()
            self._filling = None
        elif self._parts.number_of[slot] >= 0:
            self._make_room = None

    def make_room(self, permits: Permits) -> tuple[int, PreemptState] | None:
        """Propose a match that preempts dynamic slots and return it, None if the limits permit none."""
        if self._make_room is None:
            return None
        self._offers.refresh()
        proposal = self._make_room(self._offers, permits)
        if proposal is None:
            self._make_room = None
        return proposal
