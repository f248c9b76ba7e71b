"""The settings that the quotas of accounting groups follow, as the engine wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fairq.engine.classad import Expression

QuotaModel = Literal["hierarchical", "flat"]


@dataclass(frozen=True, slots=True)
class GroupQuota:
    """What is configured for one accounting group.

    Args:
        name: dots part the levels; names that differ in case only are one.
        quota: static quota in slot weight; wins over *quota_dynamic*.
        quota_dynamic: quota as a fraction of what the parent's subtree has, 0 to 1.
        accept_surplus: whether it takes what others leave unused.
        autoregroup: whether its submitters get a second chance at the end, among those of no group.
    """

    name: str
    quota: float | None = None
    quota_dynamic: float | None = None
    accept_surplus: bool = False
    autoregroup: bool = False


@dataclass(frozen=True, slots=True)
class DemandPolicy:
    """How a group's demand is measured.

    Args:
        weighted: in weights; otherwise in jobs (`NEGOTIATOR_USE_WEIGHTED_DEMAND`, `SCHEDD_USE_SLOT_WEIGHT`).
        slot_weight: the weight of a slot, evaluated in a slot that has just what the job requests.
        whole: cut each idle job's weight to a whole number.
        job_weight: the weight of an idle job, evaluated in its ad (`SCHEDD_SLOT_WEIGHT`); None: *slot_weight*.
    """

    weighted: bool
    slot_weight: Expression
    whole: bool
    job_weight: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPolicy:
    """The rules of quotas in one cycle; fields are HTCondor macros, or points where the manuals and today's
    negotiator differ.

    Args:
        groups: the configured groups, in any order.
        sort_expression: `GROUP_SORT_EXPR`; groups with a lower value negotiate earlier.
        strict_priority: groups whose quota exceeds the pool negotiate before all others, the larger quota first.
        demand: how demand is measured.
        model: the tree of groups, or the flat scheme of old.
        oversubscription: static quotas may exceed what there is; otherwise they are scaled down.
        accept_surplus: the setting for all groups; some group's may still differ.
        max_rounds: `GROUP_QUOTA_MAX_ALLOCATION_ROUNDS`, at least 1.
        round_robin_rate: `GROUP_QUOTA_ROUND_ROBIN_RATE`, in slot weight.
        strict: a group that accepts no surplus caps its whole subtree.
        integer_limits: cut the limit of each group to a whole number, and give nothing for one that is no
            number, as today's negotiator does (its callback takes an integer).
        live_caps: strict caps count what a group itself got earlier in the same round; today's negotiator
            counts it in the subtree only, and so counts it against the group.
        regroup_keeps_quota: with autoregroup, `<none>` takes part in the shares of every round with its own
            quota; today's negotiator leaves it the whole pool after the first.
    """

    groups: Sequence[GroupQuota]
    sort_expression: Expression
    demand: DemandPolicy
    model: QuotaModel
    oversubscription: bool
    accept_surplus: bool
    max_rounds: int
    round_robin_rate: float
    strict: bool
    integer_limits: bool
    live_caps: bool
    regroup_keeps_quota: bool
    strict_priority: bool
