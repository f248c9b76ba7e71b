"""How far a submitter may go in one turn, in slot weight, and how far it has gone."""

from __future__ import annotations

from dataclasses import dataclass

from fairq.engine.negotiation.preemption import NONE, RANK, PreemptionLimits, PreemptState

TOLERANCE = 1e-6
"""By how much slot weights that are sums of fractions may exceed an exact limit."""


@dataclass(slots=True, kw_only=True)
class Limits(PreemptionLimits):
    """How far a submitter may go in one turn, in slot weight, and how far it has gone.

    Args:
        unclaimed_limit: binds matches that preempt nobody (it respects the group's quota).
        used_unclaimed: how much of that is used.
        ceiling: the most that all matches may have.
        pie_left: what is left of the pie for everybody.
        exact: no match that preempts nobody goes beyond its limit or the ceiling; otherwise the first one may go
            beyond that limit, and any beyond the ceiling that begins below it.
        least: the smallest weight that a match can have.
    """

    unclaimed_limit: float
    ceiling: float
    pie_left: float = 0.0
    used_unclaimed: float = 0.0
    exact: bool = False
    least: float = 0.0

    @property
    def permits_nothing_free(self) -> bool:
        """Whether an exact limit has less left than any free slot weighs."""
        return self.exact and self.unclaimed_limit - self.used_unclaimed + TOLERANCE < self.least

    def use(self, cost: float, claimed: bool) -> None:
        """Count a match of that cost; *claimed*: it takes the slot from somebody."""
        self.used += cost
        if not claimed:
            self.used_unclaimed += cost
        self.pie_left -= cost

    def permit_unclaimed(self, cost: float) -> bool:
        """Whether a slot of that cost may be taken that nobody has to leave (matchmaker.cpp, SubmitterLimitPermits)."""
        used, limit = self.used_unclaimed, self.unclaimed_limit
        if self.exact:
            return used + cost <= limit + TOLERANCE and self.used + cost <= self.ceiling + TOLERANCE
        return used + cost <= limit or used <= 0 < limit

    def permit_on_list(self, cost: float, state: PreemptState) -> bool:
        """The test when the list is built; preemption by machine rank is not limited there."""
        return state == RANK or (self.permit_unclaimed(cost) if state == NONE else self.permit_by_priority(cost))

    def permit_popped(self, cost: float, state: PreemptState) -> bool:
        """The test when a slot is taken off the list; for one that preempts either limit may do."""
        if state == NONE:
            return self.permit_unclaimed(cost)
        return self.permit_preempting(cost, state) or (self.share is None and self.permit_unclaimed(cost))
