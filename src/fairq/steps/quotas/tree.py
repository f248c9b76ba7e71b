"""The tree of accounting groups as ``quotas`` shows it; writes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.records import Ad
from fairq.engine.accounting.identity import ROOT_GROUP, group_and_ancestors
from fairq.engine.quotas.record import GroupFigures
from fairq.state.connection import State, reading
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import last_update, records_at
from fairq.steps.quotas.in_use import are_configured
from fairq.steps.quotas.last_cycle import LastFigures, last_figures
from fairq.steps.quotas.loans import borrowed_weights
from fairq.steps.userprio.ads import accounting_ads, quota_attributes

if TYPE_CHECKING:
    from fairq.settings import Settings


MEMBERS = {
    "group": "Name",
    "parent": "ParentGroup",
    "configured": "ConfigQuota",
    "static": "StaticQuota",
    "quota": "SubtreeQuota",
    "own": "EffectiveQuota",
    "accept_surplus": "AcceptSurplus",
    "autoregroup": "Autoregroup",
    "surplus_policy": "SurplusPolicy",
    "requested": "Requested",
    "allocated": "Allocated",
    "surplus": "SurplusAllocated",
    "in_use": "HierWeightedResourcesUsed",
    "own_in_use": "WeightedResourcesUsed",
    "own_slots_in_use": "ResourcesUsed",
    "borrowed": "Borrowed",
    "sort_key": "GroupSortKey",
    "submitters": "Submitters",
    "effective_priority": "Priority",
    "real_priority": "RealPriority",
    "priority_factor": "PriorityFactor",
    "accumulated_usage": "AccumulatedUsage",
    "weighted_accumulated_usage": "WeightedAccumulatedUsage",
    "begin_usage_time": "BeginUsageTime",
    "last_usage_time": "LastUsageTime",
    "last_update_time": "LastUpdate",
}
"""The members of a group's record, and the ad attributes that they come from."""


def group_record(ad: Ad) -> Ad:
    """Return the record of a group's *ad*; a member without a value in a pool without group quotas is None.

    As in the printed tree, *quota* and *in_use* are those of the whole subtree; for ``<none>``, those of its own users.
    """
    record = {member: ad.get(attribute) for member, attribute in MEMBERS.items()}
    if ad["Name"] == ROOT_GROUP:
        record["quota"], record["in_use"] = record["own"], record["own_in_use"]
    return record


class QuotaReport(Struct, frozen=True):
    """The groups of a pool with their figures.

    Args:
        groups: their ads, ``<none>`` first, then level by level.
        submitters: the accounting ads of all submitters.
        last: the cycle of the figures; None if they are those at the start of the next cycle.
        total: the size of the pool, in slot weight.
        overruns: the expressions that took too long for these figures, as `overrun_document` makes them.
    """

    groups: Sequence[Ad]
    submitters: Sequence[Ad]
    last: LastFigures | None
    total: float
    overruns: Sequence[dict[str, Any]] = ()


def quota_report(path: Path, settings: Settings, now: int) -> QuotaReport:
    """Return the groups with the figures of the last cycle.

    Without a cycle since the last change of the groups, the figures are computed from the settings and the pool, with
    the allocations of a first round. Without groups, there is only ``<none>``.

    Raises SettingValueError for an invalid expression.
    """
    with reading(path) as state:
        last: LastFigures | None = last_figures(state) if settings.groups else LastFigures()
        assert last is not None
        figures, overruns = last.groups, last.overruns
        if settings.groups and not are_configured(figures, settings):
            from fairq.steps.quotas.forecast import Forecaster

            forecaster = Forecaster(state, settings, now)
            last, figures, overruns = None, forecaster.groups(settings), forecaster.overruns
        ads = _ads(state, settings, figures, now, counted=last is None)
        if settings.groups:
            _add_borrowed(ads, borrowed_weights(state, settings, now))
    groups = [ad for ad in ads if ad["IsAccountingGroup"]]
    members = [ad for ad in ads if not ad["IsAccountingGroup"]]
    return QuotaReport(groups, members, last, figures[0].subtree_quota if figures else 0.0, overruns)


def _ads(state: State, settings: Settings, figures: Sequence[GroupFigures], now: int, *, counted: bool) -> list[Ad]:
    """Return all accounting ads, with *figures* for the groups; *counted*: the figures include the groups' use."""
    records = records_at(state, now)
    ads = accounting_ads(records, accounting_policy(settings), last_update(state), quota_attributes(figures))
    by_group = {group_figures.group: group_figures for group_figures in figures}
    configured = []
    for ad in ads:
        group_figures = by_group.get(ad["Name"]) if ad["IsAccountingGroup"] else None
        if ad["IsAccountingGroup"] and group_figures is None and figures:
            continue  # no longer configured
        if group_figures is not None:
            ad.update(_additional_attributes(group_figures))
            if counted:
                ad["WeightedResourcesUsed"] = group_figures.used_after
                is_root = group_figures.group == ROOT_GROUP
                ad["HierWeightedResourcesUsed"] = group_figures.used_after if is_root else group_figures.subtree_used
        configured.append(ad)
    return configured


def _add_borrowed(ads: Sequence[Ad], borrowed: Mapping[str, float]) -> None:
    """Add to the groups' ads the weight *borrowed* by their own users and by groups below; to ``<none>``'s its own."""
    weights: dict[str, float] = defaultdict(float)
    for group, weight in borrowed.items():
        for name in group_and_ancestors(group):
            weights[name.lower()] += weight
    for ad in ads:
        if ad["IsAccountingGroup"]:
            ad["Borrowed"] = weights.get(ad["Name"].lower(), 0.0)


def _additional_attributes(figures: GroupFigures) -> Ad:
    """Return the attributes in fairq's ad of a group that HTCondor's report does not have."""
    return {
        "ParentGroup": figures.parent,
        "StaticQuota": figures.static,
        "AcceptSurplus": figures.accept_surplus,
        "Autoregroup": figures.autoregroup,
        "Allocated": figures.allocated,
        "SurplusAllocated": figures.surplus,
        "Submitters": figures.submitters,
    }
