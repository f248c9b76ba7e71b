"""Accounting records as the ads that ``userprio`` shows (HTCondor's ``ReportState``, one ad per record)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairq.common.records import AccountingRecord, Ad, Lease
from fairq.engine.accounting.factors import AccountingPolicy, resolve_factor
from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group, group_and_ancestors
from fairq.engine.accounting.priority import effective_priority, real_priority
from fairq.engine.quotas.record import GroupFigures

NO_GROUPS: dict[str, Ad] = {
    ROOT_GROUP: {
        "ConfigQuota": 0.0,
        "EffectiveQuota": 0.0,
        "SubtreeQuota": 0.0,
        "GroupSortKey": 0.0,
        "SurplusPolicy": "byquota",
        "Requested": 0.0,
    }
}
"""The quota attributes, by group, of a pool without group quotas."""


def quota_attributes(figures: Iterable[GroupFigures]) -> dict[str, Ad]:
    """Return the quota attributes of the groups' ads, by group; without groups, `NO_GROUPS`."""
    return {
        group_figures.group: {
            "ConfigQuota": group_figures.config_quota,
            "EffectiveQuota": group_figures.quota,
            "SubtreeQuota": group_figures.subtree_quota,
            "GroupSortKey": group_figures.sort_key,
            "SurplusPolicy": group_figures.surplus_policy,
            "Requested": group_figures.requested,
        }
        for group_figures in figures
    } or NO_GROUPS


def accounting_ads(
    records: Iterable[AccountingRecord],
    policy: AccountingPolicy,
    last_update: int,
    quotas: Mapping[str, Ad] = NO_GROUPS,
    order: Sequence[str] = (),
) -> list[Ad]:
    """Return an ad for every record: ``<none>``, the groups level by level, then the submitters, by name.

    ``Priority`` is the effective priority and ``RealPriority`` the real one, as of *last_update* (seconds
    since 1970). *quotas* has the quota attributes by group, in the order of the tree; a group without a record
    also gets an ad. Submitters named in *order* come before other submitters, in that order.
    """
    records = list(records)
    if quotas is not NO_GROUPS:
        names = {record.name for record in records}
        records += [AccountingRecord(name, is_group=True) for name in quotas if name not in names]
    ads = [accounting_ad(record, policy, last_update) for record in records]
    for ad in ads:
        if ad["IsAccountingGroup"]:
            ad.update(quotas.get(ad["Name"], {}))
    places = {name: position for position, name in enumerate(quotas)}
    positions = {name: position for position, name in enumerate(order)}

    def report_order(ad: Ad) -> tuple[int, int, int, str]:
        name: str = ad["Name"]
        if not ad["IsAccountingGroup"]:
            return (2, positions.get(name, len(positions)), 0, name)
        # Groups that are no longer configured come after the configured groups.
        return (1, 0, name.count("."), name) if name not in places else (0, places[name], 0, name)

    ads.sort(key=report_order)
    return ads


def accounting_ad(record: AccountingRecord, policy: AccountingPolicy, last_update: int) -> Ad:
    """Return the ad of one *record*; a factor that is not stored yet is resolved from the *policy*."""
    factor = record.priority_factor
    if factor is None:
        factor = resolve_factor(record.name, policy)
    group = record.name if record.is_group else assigned_group(record.name, policy.group_names)
    ad: Ad = {
        "Name": record.name,
        "AccountingGroup": group,
        "IsAccountingGroup": record.is_group,
        "Priority": effective_priority(record, factor),
        "RealPriority": real_priority(record),
        "PriorityFactor": factor,
        "ResourcesUsed": record.resources_used,
        "WeightedResourcesUsed": record.weighted_resources_used,
        "AccumulatedUsage": record.accumulated_usage,
        "WeightedAccumulatedUsage": record.weighted_accumulated_usage,
        "BeginUsageTime": record.begin_usage_time,
        "LastUsageTime": record.last_usage_time,
        "Ceiling": record.ceiling,
        "Floor": record.floor,
        "SubmitterShare": record.submitter_share or 0.0,
        "SubmitterLimit": record.submitter_limit or 0.0,
        "LastUpdate": last_update,
    }
    if record.is_group:
        ad["HierWeightedResourcesUsed"] = record.hier_weighted_resources_used
    for name, lease in _leases(record):
        ad[f"{name}LeaseExpiration"] = lease.expiration
        ad[f"{name}PreLeaseValue"] = lease.prelease_value
    return ad


def _leases(record: AccountingRecord) -> list[tuple[str, Lease]]:
    leases = (
        ("Ceiling", record.ceiling_lease),
        ("Floor", record.floor_lease),
        ("PriorityFactor", record.factor_lease),
    )
    return [(name, lease) for name, lease in leases if lease is not None]


def rolled_up(ads: Sequence[Ad]) -> list[Ad]:
    """Return *ads* with the use of each group's subtree as the group's use (``-grouprollup``).

    Use and accumulated usage are summed; the last use is that of the whole subtree, and the first one as well, if all
    its groups were used. A subtree has no priority: it is 0 (``Accountant::ReportGroups``).
    """
    groups = {ad["Name"]: {**ad, "Priority": 0.0, "RealPriority": 0.0} for ad in ads if ad["IsAccountingGroup"]}
    own = {name: dict(ad) for name, ad in groups.items()}
    for name, ad in own.items():
        if name == ROOT_GROUP:
            continue
        for ancestor in (*group_and_ancestors(name)[1:], ROOT_GROUP):
            if ancestor in groups:
                _add_use(groups[ancestor], ad)
    return [groups[ad["Name"]] if ad["IsAccountingGroup"] else ad for ad in ads]


def _add_use(total: Ad, part: Ad) -> None:
    for name in ("ResourcesUsed", "WeightedResourcesUsed", "AccumulatedUsage", "WeightedAccumulatedUsage"):
        total[name] += part[name]
    total["BeginUsageTime"] = min(total["BeginUsageTime"], part["BeginUsageTime"])
    total["LastUsageTime"] = max(total["LastUsageTime"], part["LastUsageTime"])


def as_logged(ad: Ad) -> Ad:
    """Return *ad* without the usage attributes that HTCondor's accountant does not store before the first use.

    condor_userprio since 25.10 leaves the use of unused records blank and prints their accumulated usage as ``-0.00``.
    The ``htcondor`` rules do the same.
    """
    unused = {"AccumulatedUsage", "WeightedAccumulatedUsage", "BeginUsageTime", "LastUsageTime"}
    if any(ad[name] for name in unused):
        return ad
    if not ad["ResourcesUsed"]:
        unused.add("ResourcesUsed")
    return {name: value for name, value in ad.items() if name not in unused}


def with_configured_factors(ads: Iterable[Ad], factors: Mapping[str, float]) -> list[Ad]:
    """Return *ads* with the configured factors of groups (0 if none), as in the negotiator's report in one ad."""
    return [
        {**ad, "PriorityFactor": factors.get(ad["Name"].lower(), 0.0)} if ad["IsAccountingGroup"] else ad for ad in ads
    ]
