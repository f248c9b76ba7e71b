"""How far a submitter may go in one turn, in slot weight, and how far it has gone."""

from __future__ import annotations

from bisect import bisect_left

from fairq.engine.negotiation.preemption import NONE, RANK, PreemptionLimits, PreemptState
from fairq.engine.quotas.enforcement import Caps, Freed
from fairq.engine.sums import added, is_exact


class Limits(PreemptionLimits, kw_only=True):
    """How far a submitter may go in one turn, in slot weight, and how far it has gone.

    Args:
        unclaimed_limit: limit of matches without preemption (within the group's quota).
        used_unclaimed: the used part of that limit.
        ceiling: the maximum of all matches.
        pie_left: the rest of the pie for all submitters.
        exact: no match without preemption exceeds its limit or the ceiling. Otherwise the first match may exceed the
            limit, and a match that begins below the ceiling may exceed it.
        least: the smallest possible weight of a match.
        tolerance: the weight above an exact limit that counts as nothing.
        caps: the hard caps on all matches of the group's turn; None: there are none.
        stopped_by: the group whose cap last refused a match.
    """

    unclaimed_limit: float
    ceiling: float
    pie_left: float = 0.0
    used_unclaimed: float = 0.0
    exact: bool = False
    least: float = 0.0
    tolerance: float = 0.0
    caps: Caps | None = None
    stopped_by: str | None = None

    @property
    def permits_nothing_free(self) -> bool:
        """Whether the rest of an exact limit is less than the weight of any free slot."""
        if not self._caps_permit(self.least):
            return True
        return self.exact and self.unclaimed_limit - self.used_unclaimed + self.tolerance < self.least

    def use(self, cost: float, claimed: bool) -> None:
        """Count a match of that cost; *claimed*: it preempts a job."""
        self.used += cost
        if not claimed:
            self.used_unclaimed += cost
        self.pie_left -= cost

    def use_free(self, cost: float, slots: int) -> None:
        """Count so many matches of that cost without preemption."""
        self.used = added(self.used, cost, slots)
        self.used_unclaimed = added(self.used_unclaimed, cost, slots)
        self.pie_left = added(self.pie_left, -cost, slots)

    def permit_unclaimed(self, cost: float) -> bool:
        """Whether a slot of that cost may be taken without preemption (matchmaker.cpp, SubmitterLimitPermits)."""
        return self._permits(cost, self.used, self.used_unclaimed)

    @property
    def permit_some_unclaimed(self) -> bool:
        """Whether a slot of the least cost may be taken without preemption."""
        return self.permit_unclaimed(self.least)

    def _permits(self, cost: float, used: float, used_unclaimed: float) -> bool:
        """The same, if so much of the limits were used."""
        limit = self.unclaimed_limit
        if not self._caps_permit(cost, used - self.used):
            return False
        if self.exact:
            return used_unclaimed + cost <= limit + self.tolerance and used + cost <= self.ceiling + self.tolerance
        return used_unclaimed + cost <= limit or used_unclaimed <= 0 < limit

    def in_a_row(self, cost: float, most: int, *, first_is_tested: bool, up_to_least: bool) -> int:
        """How many slots of that cost may be taken without preemption until a turn ends at a limit, at most *most*.

        *first_is_tested*: the first slot need not be permitted. *up_to_least*: the turn also ends where
        `permits_nothing_free`.
        """
        bound, up_to_least = min(self.limit, self.ceiling), up_to_least and self.exact

        def ends(number: int, used: float, unclaimed: float) -> bool:
            """Whether the turn ends after so many slots, by which so much is used."""
            if used >= bound or (up_to_least and self.unclaimed_limit - unclaimed + self.tolerance < self.least):
                return True
            return not (self._permits(cost, used, unclaimed) or (first_is_tested and not number))

        if is_exact(self.used, cost, most) and is_exact(self.used_unclaimed, cost, most):
            # Once it ends, it ends with more slots, too.
            places = range(most)
            return bisect_left(
                places, True, key=lambda each: ends(each, self.used + cost * each, self.used_unclaimed + cost * each)
            )
        used, unclaimed = self.used, self.used_unclaimed
        for number in range(most):
            if ends(number, used, unclaimed):
                return number
            used += cost
            unclaimed += cost
        return most

    def permit_on_list(self, cost: float, state: PreemptState, freed: Freed = ()) -> bool:
        """The test when the list is built; preemption by machine rank is limited there by caps alone.

        *freed* is what the match preempts.
        """
        if state == NONE:
            return self.permit_unclaimed(cost)
        return self._caps_permit(cost, freed=freed) and (state == RANK or self.permit_by_priority(cost))

    def permit_popped(self, cost: float, state: PreemptState, freed: Freed = ()) -> bool:
        """The test when a slot is taken off the list; for a preempting match, either limit is sufficient."""
        if state == NONE:
            return self.permit_unclaimed(cost)
        if not self._caps_permit(cost, freed=freed):
            return False
        return self.permit_preempting(cost, state) or (self.share is None and self.permit_unclaimed(cost))

    def _caps_permit(self, cost: float, more: float = 0.0, freed: Freed = ()) -> bool:
        """Whether the caps permit a match, after *more* was matched without preemption; it notes which one does not."""
        if self.caps is None:
            return True
        stopping = self.caps.stopping(cost, more, freed)
        self.stopped_by = stopping or self.stopped_by
        return stopping is None
