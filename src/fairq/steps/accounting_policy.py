"""The accounting settings as the engine wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.engine.accounting.factors import AccountingPolicy

if TYPE_CHECKING:
    from fairq.settings import Settings


def accounting_policy(settings: Settings) -> AccountingPolicy:
    """Return the accounting policy that *settings* describe."""
    groups = settings.groups
    return AccountingPolicy(
        priority_halflife=settings["accounting.priority_halflife"],
        default_prio_factor=settings["accounting.default_prio_factor"],
        nice_user_prio_factor=settings["accounting.nice_user_prio_factor"],
        remote_prio_factor=settings["accounting.remote_prio_factor"],
        accountant_local_domain=settings["accounting.accountant_local_domain"],
        group_names=tuple(groups),
        group_prio_factors={name.lower(): group.prio_factor or 0.0 for name, group in groups.items()},
        remove_idle_records=settings["accounting.remove_idle_records"],
    )
