"""The priority factor: effective priority is real priority times this factor."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairq.engine.accounting.identity import assigned_group, domain_of, is_group_name, is_nice

MINIMUM_FACTOR = 1.0


class AccountingPolicy(Struct, frozen=True, kw_only=True):
    """The settings that accounting follows.

    *priority_halflife* is in seconds. *accountant_local_domain* None: everybody is local. *group_names* are the
    configured groups in their own spelling; *group_prio_factors* is keyed by lower-case group name, ``<none>`` included
    (a factor of 0 counts as not set). *remove_idle_records*: records that no longer matter are removed automatically
    (`removal`). *count_preempted*: a preempted slot also counts for its former user until the next cycle, as in
    HTCondor since 25.10. *exact_usage*: a slot is charged for exactly the time that it was held. Otherwise it is
    charged at updates, and times of first and last use are those of updates.
    """

    priority_halflife: float
    default_prio_factor: float
    nice_user_prio_factor: float
    remote_prio_factor: float
    accountant_local_domain: str | None
    group_names: tuple[str, ...]
    group_prio_factors: Mapping[str, float]
    remove_idle_records: bool
    count_preempted: bool
    exact_usage: bool


def resolve_factor(name: str, policy: AccountingPolicy) -> float:
    """Return the initial factor of submitter or group *name*; at least 1.

    The first that applies: nice submitter, factor configured for the assigned group itself (a subgroup does not
    inherit), submitter of a foreign domain, default. A stored factor stays until it is set again or its record is
    deleted, even if the settings change. Source: HTCondor's ``GetPriorityFactor``. Unlike in HTCondor, a group
    (which has no domain) never counts as a remote user.
    """
    if is_nice(name):
        factor = policy.nice_user_prio_factor
    elif group_factor := _group_factor(name, policy):
        factor = group_factor
    elif _is_remote(name, policy):
        factor = policy.remote_prio_factor
    else:
        factor = policy.default_prio_factor
    return max(MINIMUM_FACTOR, factor)


def _group_factor(name: str, policy: AccountingPolicy) -> float:
    if not policy.group_prio_factors:
        return 0.0
    return policy.group_prio_factors.get(assigned_group(name, policy.group_names).lower(), 0.0)


def _is_remote(name: str, policy: AccountingPolicy) -> bool:
    local = policy.accountant_local_domain
    return bool(local) and not is_group_name(name) and domain_of(name) != local
