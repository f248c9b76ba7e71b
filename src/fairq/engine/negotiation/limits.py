"""What binds a pie, and how far a submitter may go in one turn."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.negotiation.policy import PieSlices
from fairq.engine.negotiation.preemption import NONE, RANK, PreemptState
from fairq.engine.quotas.enforcement import Caps, Freed
from fairq.engine.sums import added, is_exact
from fairq.engine.weights import tolerance

UNLIMITED = sys.float_info.max
"""A limit above any slot weight."""


def headroom(ceiling: int, used: float) -> float:
    """Return the slot weight left under a ceiling; usage counts in whole slots (docs/htcondor.md 3.5)."""
    return UNLIMITED if ceiling < 0 else max(0.0, float(ceiling - int(used)))


class PieQuota(Struct, frozen=True):
    """The effect of a group's quota on a pie; the default is the pie of all submitters, without groups.

    Args:
        limit: the maximum of the pie, in slot weight; None: no maximum.
        group: the group that negotiates.
        charged: whether the group's use counts against the limit.
        caps_preemption: the unused part of the limit also bounds preempting matches, and is computed again at every
            turn (the flat scheme).
        limiting_group: the group whose quota it is: the one that negotiates, or one above it.
        leftovers: whether this pie is what was left by others.
        caps: the caps on every match of the group; None: there are none.
    """

    limit: float | None = None
    group: str = ROOT_GROUP
    charged: bool = False
    caps_preemption: bool = False
    limiting_group: str | None = None
    leftovers: bool = False
    caps: Caps | None = None


class PieRules(Struct, frozen=True):
    """The rules of a pie, besides the submitters' own limits.

    Args:
        total: the weight of all slots of the pool, busy slots included.
        min_slot_weight: the smallest weight of any slot.
        consider_preemption, ignore_user_priorities: as in the policy.
        quota: how a group's quota bounds it.
        floor_round: deal no more than the submitters' floors.
        floor_counts_usage: whether the use of a submitter counts towards its floor.
        preempt_only_to_share, pie_slices, last_dealing: as in the policy.
    """

    total: float
    min_slot_weight: float
    consider_preemption: bool
    ignore_user_priorities: bool
    quota: PieQuota = PieQuota()
    floor_round: bool = False
    floor_counts_usage: bool = True
    preempt_only_to_share: bool = False
    pie_slices: PieSlices = "pool_share"
    last_dealing: bool = False

    @property
    def size(self) -> float:
        """The weight to divide: that of the pool, or the quota if it is less."""
        return self.total if self.quota.limit is None else min(self.total, self.quota.limit)

    @property
    def tolerance(self) -> float:
        """The slot weight that counts as nothing."""
        return tolerance(self.total)

    @property
    def least(self) -> float:
        """The smallest weight that a match may have."""
        return max(self.min_slot_weight, self.tolerance)

    @property
    def charged_limit(self) -> float | None:
        """The quota that the group's use counts against, None if none."""
        return self.quota.limit if self.quota.charged else None

    @property
    def quota_group(self) -> str | None:
        """The group whose quota makes the pie smaller than the pool, None if none does."""
        return self.quota.limiting_group if self.size < self.total else None


class Limits(Struct, kw_only=True):
    """How far a submitter may go in one turn, in slot weight, and how far it has gone.

    Args:
        limit: of all matches; *used*: the used part of it.
        unclaimed_limit: of matches without preemption (within the group's quota); *used_unclaimed*: its used part.
        ceiling: the maximum of all matches.
        pie_left: what is left of the pie for all submitters.
        exact: no match without preemption exceeds its limit or the ceiling. Otherwise the first match may exceed the
            limit, and a match that begins below the ceiling may exceed it.
        least: the smallest possible weight of a match.
        tolerance: the weight above an exact limit that counts as nothing.
        share: with `preempt_only_to_share`, the weight that the submitter lacks to its entitlement, 0 while leftovers
            are dealt: preemption by priority must bring it nearer, preemption by machine rank is not limited.
        free_first: no preemption by priority for a job that matches a better slot that is free but beyond the limit:
            the job may still get that slot.
        caps: the hard caps on all matches of the group's turn; None: there are none.
        may_preempt: returns whether one more job may be preempted; None: there is no maximum.
        lacks_preemptions: whether only that maximum has refused a match.
        stopped_by: the group whose cap last refused a match.
    """

    limit: float
    unclaimed_limit: float
    ceiling: float
    used: float = 0.0
    used_unclaimed: float = 0.0
    pie_left: float = 0.0
    exact: bool = False
    least: float = 0.0
    tolerance: float = 0.0
    share: float | None = None
    free_first: bool = False
    caps: Caps | None = None
    may_preempt: Callable[[], bool] | None = None
    lacks_preemptions: bool = False
    stopped_by: str | None = None

    @property
    def is_used_up(self) -> bool:
        """Whether the limit of all matches is reached."""
        return self.used >= self.limit

    @property
    def permits_least(self) -> bool:
        """Whether a slot of the least weight may be taken without preemption."""
        return self._permit_free(self.least, self.used, self.used_unclaimed)

    @property
    def permits_nothing_free(self) -> bool:
        """Whether what is left of an exact limit is less than the weight of any free slot."""
        if not self._caps_permit(self.least):
            return True
        return self.exact and self._is_spent(self.used_unclaimed)

    def use(self, cost: float, slots: int, *, claimed: bool) -> None:
        """Count matches with *slots* slots of *cost* each; *claimed*: they preempt a job."""
        self.used = added(self.used, cost, slots)
        if not claimed:
            self.used_unclaimed = added(self.used_unclaimed, cost, slots)
        self.pie_left = added(self.pie_left, -cost, slots)

    def permit_on_list(
        self, cost: float, state: PreemptState, freed: Freed, used: float, used_unclaimed: float
    ) -> bool:
        """Return whether a slot may be on a list that was built when *used* and *used_unclaimed* were in use.

        *freed* is what the match preempts. Only caps and maxima of preemptions limit preemption by machine rank here.
        """
        if state == NONE:
            return self._permit_free(cost, used, used_unclaimed)
        permits = self._caps_permit(cost, freed=freed) and (state == RANK or self._permit_by_priority(cost, used))
        return permits and self._permit_one_more_preemption()

    def permit_popped(self, cost: float, state: PreemptState, freed: Freed) -> bool:
        """Return whether a slot may be popped from a list; for a preempting match, either limit is sufficient."""
        if state == NONE:
            return self._permit_free(cost, self.used, self.used_unclaimed)
        permits = self._caps_permit(cost, freed=freed)
        if self.share is not None:
            permits = permits and (state == RANK or self._permit_by_priority(cost, self.used))
        elif permits and not self._permit_by_priority(cost, self.used):
            permits = self._permit_free(cost, self.used, self.used_unclaimed)
        return permits and self._permit_one_more_preemption()

    def in_a_row(self, cost: float, most: int, *, first_is_tested: bool) -> int:
        """Return how many slots of that cost may be taken without preemption until a limit ends the turn.

        It is between 1 and *most*; with *first_is_tested*, the first need not be permitted.
        """
        bound = min(self.limit, self.ceiling)

        def ends(number: int, used: float, unclaimed: float) -> bool:
            if used >= bound or (self.exact and self._is_spent(unclaimed)):
                return True
            return not (self._permit_free(cost, used, unclaimed) or (first_is_tested and not number))

        if is_exact(self.used, cost, most) and is_exact(self.used_unclaimed, cost, most):

            def ends_after(number: int) -> bool:
                return ends(number, self.used + cost * number, self.used_unclaimed + cost * number)

            # The predicate is monotonic: more slots only use more.
            return max(1, bisect_left(range(most), True, key=ends_after))
        used, unclaimed = self.used, self.used_unclaimed
        for number in range(most):
            if ends(number, used, unclaimed):
                return max(1, number)
            used, unclaimed = used + cost, unclaimed + cost
        return most

    def _is_spent(self, used_unclaimed: float) -> bool:
        return self.unclaimed_limit - used_unclaimed + self.tolerance < self.least

    def _permit_one_more_preemption(self) -> bool:
        permits = self.may_preempt is None or self.may_preempt()
        self.lacks_preemptions |= not permits
        return permits

    def _permit_by_priority(self, cost: float, used: float) -> bool:
        """Return whether a slot of that cost may be preempted by priority; the first may exceed an inexact limit."""
        if self.share is not None:
            return used + cost / 2 < self.share
        return used + cost <= self.limit or used <= 0 < self.limit

    def _permit_free(self, cost: float, used: float, used_unclaimed: float) -> bool:
        """Return whether a slot of that cost may be taken if free (matchmaker.cpp, SubmitterLimitPermits)."""
        limit = self.unclaimed_limit
        if not self._caps_permit(cost, used - self.used):
            return False
        if self.exact:
            return used_unclaimed + cost <= limit + self.tolerance and used + cost <= self.ceiling + self.tolerance
        return used_unclaimed + cost <= limit or used_unclaimed <= 0 < limit

    def _caps_permit(self, cost: float, matched: float = 0.0, freed: Freed = ()) -> bool:
        """Return whether the caps permit a match after *matched* was matched without preemption; set `stopped_by`."""
        if self.caps is None:
            return True
        refusing_group = self.caps.refusing_group(cost, matched, freed)
        self.stopped_by = refusing_group or self.stopped_by
        return refusing_group is None
