"""Partitionable slots that are divided: rows of the pool whose price and remains change with each match.

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
from fairq.engine.negotiation.evaluation import Ask, Evaluation, RequestContext
from fairq.engine.negotiation.offer_terms import Terms, TermsFinder
from fairq.engine.negotiation.offers import EvaluatedTerms, Offers, expressions_read
from fairq.engine.negotiation.order import Key
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.pieces import Carving
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import PreemptState

_MOST_KEPT = 2_000_000
"""Number of offers of slots to autoclusters that are kept, at most; about 60 bytes each."""

MakeRoom = Callable[[Offers, Permits], tuple[int, PreemptState] | None]
"""Proposes a match that the limits permit, for which dynamic slots are preempted: the slot and its preempt state."""


class Parts:
    """The divided slots of a cycle, and what each offers to a kind of job.

    Args:
        partitions: the slots.
        policy: the cycle's rules.
        tie_order: every slot's place among slots that rank equally.
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
        self.of = np.full(len(tie_order), -1, np.int32)
        """By slot of the pool its number among the divided ones, -1 for others."""
        self.of[self.rows] = np.arange(len(self.rows))
        self.ties = tie_order
        # What is told once of all that is left does not hold for slots that get something back.
        self._terms = None if preempted is not None else TermsFinder(partitions, policy)
        requests = [f"request{name.lower()}" for name in partitions.resources]
        read = ["requirements", "rank", "requiregpus", *requests]
        self._offers = evaluate(self._find, read, expressions_read(partitions, policy), partitions.ads)
        self._kept = 0

    def offers(self, kind: int, ask: Ask) -> Offers:
        """Return what the slots offer to a kind of job now."""
        offers = self._offers.get(kind, ask)
        offers.refresh()
        return offers

    def none_has_enough(self, kind: int) -> bool:
        """Whether no slot has left what a kind of job requests; no where numbers alone do not tell."""
        amounts = self.partitions.amounts_of(self._kinds[kind])
        return amounts is not None and not self.partitions.with_enough(amounts.asked).any()

    def carve(self, row: int) -> Carving | None:
        """Take the proposed part of a slot; None if it is not divided."""
        return self.partitions.carve(row) if self.of[row] >= 0 else None

    def _find(self, context: RequestContext) -> Offers:
        self._kept += len(self.rows)
        if self._kept > _MOST_KEPT:
            self._offers.forget()
            self._kept = len(self.rows)
        reduced = None if self._terms is None else self._terms.find(context)
        terms: Terms = reduced or EvaluatedTerms(context.ad(), self.partitions, self._policy)
        return Offers(context.ad(), self.partitions, terms, self._any_held, self.ties[self.rows])


class PartsOnList:
    """The divided slots on a list of candidates.

    Breadth first, a slot comes up again, with its new rank, when all others that are free had their turn. Depth first,
    it is filled before any other slot. Once no other slot is left, *make_room* may preempt dynamic slots.
    """

    def __init__(self, parts: Parts, offers: Offers, *, depth_first: bool, make_room: MakeRoom | None) -> None:
        self._parts, self._offers, self._depth_first, self._make_room = parts, offers, depth_first, make_room
        self._given: list[int] = []
        self._filling: int | None = None
        """The slot that is filled before others."""

    def in_order(
        self, whole: NDArray[np.int32], whole_keys: Sequence[Key], by_priority: NDArray[np.bool_]
    ) -> Iterator[NDArray[np.int32]]:
        """Yield the *whole* slots and parts, best first; then again those given meanwhile, with their new ranks.

        Before a slot that would be preempted *by_priority*, the given ones that rank higher or equally come up again:
        as long as one of them suits, nobody leaves that slot (docs/htcondor.md 3.9).
        """
        offers, of_parts = self._offers, self._parts
        parts = np.flatnonzero(offers.suitable)
        rows = np.concatenate([whole, of_parts.rows[parts]])
        keys = [-np.concatenate([own, key[parts]]) for own, key in zip(whole_keys, offers.keys, strict=True)]
        order = np.lexsort([of_parts.ties[rows], *reversed(keys)])
        rows, preempts = rows[order], np.append(by_priority, np.zeros(len(parts), np.bool_))[order]
        ranks = np.array(keys)[:, order].T
        changes = (np.flatnonzero(preempts[1:] != preempts[:-1]) + 1).tolist()
        for start, end in pairwise([0, *changes, len(rows)]):
            if preempts[start:end].any():
                yield from self._after_given(rows[start:end], ranks[start:end])
            else:
                yield rows[start:end]
        while given := self._suitable_given():
            yield self._give_again(given)

    def _after_given(self, rows: NDArray[np.int32], ranks: NDArray[np.float64]) -> Iterator[NDArray[np.int32]]:
        """Yield *rows*, which have these sort keys (lower is better), after the given parts that rank higher."""

        def rank(place: int) -> tuple[float, ...]:
            return tuple(ranks[place].tolist())

        start, size = 0, len(rows)
        while start < size:
            given, stop = self._suitable_given(), size
            if given:
                better = bisect_right(given, rank(start), key=self._offers.key)
                if better:
                    yield self._give_again(given[:better])
                    continue
                stop = start + bisect_left(range(start, size), self._offers.key(given[0]), key=rank)
            yield rows[start:stop]
            start = stop

    def _suitable_given(self) -> list[int]:
        """The parts given before that suit again, best first."""
        if not self._given:
            return []
        self._offers.refresh()
        return self._offers.best_first(self._parts.of[self._given].astype(np.intp))

    def _give_again(self, parts: Sequence[int]) -> NDArray[np.int32]:
        rows = self._parts.rows[list(parts)]
        again = set(rows.tolist())
        self._given = [row for row in self._given if row not in again]
        return rows

    def price(self, row: int) -> float:
        """What a match with a slot costs now."""
        return float(self._offers.cost[self._parts.of[row]])

    def propose(self, row: int) -> None:
        """Propose a part of a slot for the next match; depth first, the slot is filled by the following ones."""
        self._given.append(row)
        self._filling = row if self._depth_first else None
        self._offers.propose(int(self._parts.of[row]))

    def filling(self) -> int | None:
        """Return the slot that is filled, if a further part of it suits."""
        if self._filling is None:
            return None
        self._offers.refresh()
        if not self._offers.suitable[self._parts.of[self._filling]]:
            self._filling = None
        return self._filling

    def fill(self) -> None:
        """Propose the next part of the slot that is filled."""
        assert self._filling is not None
        self._offers.propose(int(self._parts.of[self._filling]))

    def stop_filling(self) -> None:
        """Offer no more of the slot that is filled."""
        assert self._filling is not None
        self._given.remove(self._filling)
        self._filling = None

    def pass_over(self, slot: int) -> None:
        """Leave out a slot that was proposed and not taken."""
        if self._given[-1:] == [slot]:
            self._given.pop()
            self._filling = None
        elif self._parts.of[slot] >= 0:
            self._make_room = None

    def make_room(self, permits: Permits) -> tuple[int, PreemptState] | None:
        """Propose a match that preempts dynamic slots, if there is one that the limits permit."""
        if self._make_room is None:
            return None
        self._offers.refresh()
        found = self._make_room(self._offers, permits)
        if found is None:
            self._make_room = None
        return found
