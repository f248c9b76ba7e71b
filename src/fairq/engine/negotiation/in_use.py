"""What expressions are told of use and quotas during a cycle: ...ResourcesInUse and ...GroupQuota.

HTCondor 8 manual, "Priorities in Negotiation and Preemption".
"""

from __future__ import annotations

import math

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.negotiation.policy import ResourcesInUse
from fairq.engine.quotas.tree import QuotaGroup

UNDEFINED = "/Expr(undefined)/"
"""The value of an attribute that an ad has for some only."""

_TINY = 1e-6
"""By how much a sum of fractions may fall short of the whole number that it is meant to be."""


class InUse:
    """Tells what users and groups have in use, as whole slots or as weight.

    Whole slots are the manuals' rule. Figures of groups share one unit, so that use and quota compare: slots where
    all slots weigh 1, else weight, rounded down. They are undefined outside of groups with a quota.
    """

    def __init__(self, accountant: Accountant, rule: ResourcesInUse) -> None:
        self._accountant = accountant
        self._whole = rule == "slots"
        self._quotas: dict[str, float | str] = {}

    def of_user(self, name: str) -> float:
        """What a user has in use at this moment."""
        if not self._whole:
            return self._accountant.weighted_used(name)
        record = self._accountant.records.get(name)
        return 0 if record is None else record.resources_used

    def of_group(self, group: QuotaGroup) -> float | str:
        """What a group's own submitters have in use at this moment."""
        return self._figure(group, self._accountant.weighted_used(group.name))

    def quota_of(self, group: QuotaGroup) -> float | str:
        """A group's own quota."""
        if not self._whole:
            return group.quota
        # No quota but the root's, which is not told, changes within a cycle.
        known = self._quotas.get(group.name)
        if known is None:
            known = self._quotas[group.name] = self._figure(group, group.quota)
        return known

    def _figure(self, group: QuotaGroup, weight: float) -> float | str:
        if not self._whole:
            return weight
        return UNDEFINED if group.is_root or not group.has_quota else math.floor(weight + _TINY)
