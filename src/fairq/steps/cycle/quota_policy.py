"""The quota settings as input of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fairq.engine.classad import Expression, parse
from fairq.engine.quotas.policy import DemandPolicy, GroupQuota, QuotaPolicy, TreePolicy
from fairq.errors.base import ExpressionError

if TYPE_CHECKING:
    from fairq.settings import Settings


SORT_EXPRESSION = "negotiator.group_sort_expr"


def tree_policy(settings: Settings) -> TreePolicy:
    """Return what the tree of groups and their quotas depend on; what a group lacks is as for all groups."""
    surplus, regroup = settings["negotiator.group_accept_surplus"], settings["negotiator.group_autoregroup"]
    groups = (
        GroupQuota(
            group.name,
            group.quota,
            group.quota_dynamic,
            surplus if group.accept_surplus is None else group.accept_surplus,
            regroup if group.autoregroup is None else group.autoregroup,
        )
        for group in settings.groups.values()
    )
    return TreePolicy(
        groups=tuple(groups),
        model=settings["negotiator.quota_model"],
        oversubscription=settings["negotiator.negotiator_allow_quota_oversubscription"],
        autoregroup=regroup and not settings["negotiator.regroup_keeps_quota"],
        remainders_as_computed=settings["negotiator.remainders_as_computed"],
    )


def quota_policy(settings: Settings) -> QuotaPolicy | None:
    """Return the rules of quotas that *settings* describe, None if no groups are configured.

    Raises:
        SettingValueError: an expression does not parse.
    """
    if not settings.groups:
        return None
    return QuotaPolicy(
        **asdict(tree_policy(settings)),
        sort_expression=parsed(settings, SORT_EXPRESSION),
        demand=demand_policy(settings),
        accept_surplus=settings["negotiator.group_accept_surplus"],
        max_rounds=settings["negotiator.group_quota_max_allocation_rounds"],
        round_robin_rate=settings["negotiator.group_quota_round_robin_rate"],
        strict=settings["negotiator.negotiator_strict_enforce_quota"],
        integer_limits=settings["negotiator.integer_group_limits"],
        hard_caps=settings["negotiator.hard_group_caps"],
        live_caps=settings["negotiator.live_group_caps"],
        regroup_keeps_quota=settings["negotiator.regroup_keeps_quota"],
        strict_priority=settings["negotiator.strict_priority_quotas"] and not settings.is_set(SORT_EXPRESSION),
    )


def demand_policy(settings: Settings) -> DemandPolicy:
    """Return how the demand of idle jobs is measured."""
    weighted = settings["negotiator.negotiator_use_weighted_demand"] and settings["schedd.schedd_use_slot_weight"]
    return DemandPolicy(
        weighted=weighted,
        slot_weight=parsed(settings, "negotiator.slot_weight"),
        job_weight=parsed_if_set(settings, "schedd.schedd_slot_weight"),
        truncated=settings["negotiator.integer_group_limits"],
    )


def parsed(settings: Settings, name: str) -> Expression:
    """Return the setting *name* as an expression; raises SettingValueError if it is invalid."""
    try:
        return parse(settings[name])
    except ExpressionError:
        raise settings.refusal(name) from None


def parsed_if_set(settings: Settings, name: str) -> Expression | None:
    """Return the setting *name* as an expression, None if it is not set."""
    return None if settings[name] is None else parsed(settings, name)
