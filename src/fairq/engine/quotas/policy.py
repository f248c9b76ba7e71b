"""The settings for the quotas of accounting groups, as input of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from fairq.engine.classad import Expression
    from fairq.engine.dominance import Dominance

QuotaModel = Literal["hierarchical", "flat"]


class GroupQuota(Struct, frozen=True):
    """The configuration of one accounting group.

    Args:
        name: dots separate the levels; letter case is ignored.
        quota: static quota in slot weight; overrides *quota_dynamic*.
        quota_dynamic: quota as a fraction of the quota of the parent's subtree, 0 to 1.
        accept_surplus: whether it accepts quota that others leave unused.
        autoregroup: whether its submitters get a second chance at the end, with those of ``<none>``.
    """

    name: str
    quota: float | None = None
    quota_dynamic: float | None = None
    accept_surplus: bool = False
    autoregroup: bool = False


class DemandPolicy(Struct, frozen=True):
    """How a group's demand is measured.

    Args:
        weighted: in weights; otherwise in jobs (`NEGOTIATOR_USE_WEIGHTED_DEMAND`, `SCHEDD_USE_SLOT_WEIGHT`).
        slot_weight: the weight of a slot, evaluated for a slot with exactly the job's requests.
        truncated: truncate each idle job's weight to a whole number.
        job_weight: the weight of an idle job, evaluated in its ad (`SCHEDD_SLOT_WEIGHT`); None: *slot_weight*.
        dominant: the weight is the largest share of a resource; None: it is not.
    """

    weighted: bool
    slot_weight: Expression
    truncated: bool
    job_weight: Expression | None = None
    dominant: Dominance | None = None


class TreePolicy(Struct, frozen=True, kw_only=True):
    """What the tree of groups and their quotas depend on.

    Args:
        groups: the configured groups, in any order.
        model: the tree of groups, or the old flat scheme.
        oversubscription: static quotas may exceed the pool; otherwise they are scaled down.
        autoregroup: ``<none>`` has the whole pool, last of all, even if no group has autoregroup, as in today's
            negotiator where it is the default for all groups, whatever the groups override.
        remainders_as_computed: without slot weights, an error of rounding may cost a whole slot, as in today's
            negotiator; otherwise what is very near a whole number of slots is that number.
    """

    groups: Sequence[GroupQuota]
    model: QuotaModel
    oversubscription: bool
    autoregroup: bool = False
    remainders_as_computed: bool


class QuotaPolicy(TreePolicy, frozen=True, kw_only=True):
    """The rules of quotas in one cycle; fields are HTCondor macros, or points where the manuals and today's
    negotiator differ.

    Args:
        sort_expression: `GROUP_SORT_EXPR`; groups with a lower value negotiate earlier.
        strict_priority: groups whose quota exceeds the pool negotiate before all others, the larger quota first.
        demand: how demand is measured.
        accept_surplus: the default for all groups; a group may override it.
        max_rounds: `GROUP_QUOTA_MAX_ALLOCATION_ROUNDS`, at least 1.
        round_robin_rate: `GROUP_QUOTA_ROUND_ROBIN_RATE`, in slot weight.
        strict: a group that accepts no surplus caps its whole subtree.
        integer_limits: truncate the limit of each group to a whole number, and use 0 for not-a-number, as today's
            negotiator does (its callback takes an integer).
        hard_caps: no match of any kind makes a group that accepts no surplus, or the subtree of such a group, pass its
            quota by more than half a slot; what a group cannot take is surplus for those who accept it. In today's
            negotiator, strict caps bound the limit of a pie only.
        live_caps: strict caps count once what a group itself got earlier in the same round; today's negotiator counts
            it only in the subtree, to the disadvantage of the group.
        regroup_keeps_quota: with autoregroup, `<none>` takes part in every round with its own quota; today's negotiator
            uses the whole pool after the first round.
    """

    sort_expression: Expression
    demand: DemandPolicy
    accept_surplus: bool
    max_rounds: int
    round_robin_rate: float
    strict: bool
    integer_limits: bool
    hard_caps: bool
    live_caps: bool
    regroup_keeps_quota: bool
    strict_priority: bool
