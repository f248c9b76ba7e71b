"""Attributes of use and quotas for expressions: ...ResourcesInUse and ...GroupQuota.

HTCondor 8 manual, "Priorities in Negotiation and Preemption".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.negotiation.policy import ResourcesInUse
from fairq.engine.weights import whole
from fairq.expression_form import as_expression

if TYPE_CHECKING:
    from fairq.engine.quotas.tree import QuotaGroup

UNDEFINED = as_expression("undefined")
"""The value of an attribute that only some ads have."""


class InUse:
    """The use of users and groups, as whole slots or as weight.

    The manuals' rule is whole slots. The figures of groups have one unit, so that use and quota are comparable: slots
    if all slots weigh 1, otherwise weight, rounded down. They are undefined without a group quota.
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
        """The current use of a group's own submitters."""
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
        return UNDEFINED if group.is_root or not group.has_quota else whole(weight)
