"""What binds a pie, besides the submitters' own limits."""

from __future__ import annotations

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.negotiation.policy import PieSlices
from fairq.engine.quotas.enforcement import Caps
from fairq.engine.weights import tolerance


class PieQuota(Struct, frozen=True):
    """The effect of a group's quota on a pie; the default is the pie of all submitters, without groups.

    Args:
        limit: the maximum of the pie, in slot weight; None: no maximum.
        group: the group that negotiates.
        charged: whether the group's use counts against the limit.
        caps_preemption: the rest of the limit also bounds preempting matches, and is computed again at every turn (the
            flat scheme).
        limiting_group: the group whose quota it is: the one that negotiates, or one above it.
        leftovers: whether it is divided again, because others left a rest.
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
    """What binds a pie, besides the submitters' own limits.

    Args:
        total: the weight of all slots of the pool, busy slots included.
        min_slot_weight: the smallest weight of any slot.
        consider_preemption, ignore_user_priorities: as in the policy.
        quota: how a group's quota bounds it.
        floor_round: hand out no more than the submitters' floors.
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
        """The weight that counts as nothing."""
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
