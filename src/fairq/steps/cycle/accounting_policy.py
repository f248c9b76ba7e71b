"""The accounting settings as input of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.engine.accounting.factors import AccountingPolicy

if TYPE_CHECKING:
    from fairq.settings import Settings


_LOCAL_DOMAIN = ("accounting.accountant_local_domain", "accounting.accounting_domain", "accounting.uid_domain")
"""The local domain is the first of these that is set; the latter two also complete names without a domain."""


def accounting_policy(settings: Settings) -> AccountingPolicy:
    """Return the accounting policy that *settings* describe."""
    groups = settings.groups
    is_flat = settings["negotiator.quota_model"] == "flat"
    return AccountingPolicy(
        priority_halflife=settings["accounting.priority_halflife"],
        default_prio_factor=settings["accounting.default_prio_factor"],
        nice_user_prio_factor=settings["accounting.nice_user_prio_factor"],
        remote_prio_factor=settings["accounting.remote_prio_factor"],
        accountant_local_domain=next(filter(None, (settings[name] for name in _LOCAL_DOMAIN)), None),
        # In the flat scheme, a submitter's group is the part of its name before the first dot.
        group_names=tuple(name for name in groups if not (is_flat and "." in name)),
        group_prio_factors={name.lower(): group.prio_factor or 0.0 for name, group in groups.items()},
        remove_idle_records=settings["accounting.remove_idle_records"],
        count_preempted=settings["accounting.count_preempted"],
        exact_usage=settings["accounting.exact_usage"],
    )


def submitters_domain(settings: Settings, host: str) -> str:
    """Return the domain that completes names of submitters: the configured one, else *host*."""
    domain: str = settings["accounting.accounting_domain"] or settings["accounting.uid_domain"] or host
    return domain


def is_dominant(settings: Settings) -> bool:
    """Return whether a match weighs as much as its largest share of a resource."""
    slot_weight: str = settings["negotiator.slot_weight"]
    return slot_weight.strip().lower() == "dominant" and settings["negotiator.negotiator_use_slot_weights"]
