"""Who uses the slots by group, and whether the figures of the last cycle are those of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from fairq.engine.accounting.charges import Charges, SlotCharge, charges_of
from fairq.engine.quotas.assignment import quota_tree
from fairq.engine.quotas.record import GroupFigures
from fairq.state import claims
from fairq.state.connection import State
from fairq.steps.cycle.quota_policy import tree_policy
from fairq.steps.quotas.last_cycle import last_figures

if TYPE_CHECKING:
    from fairq.settings import Settings


def in_use(state: State, settings: Settings, now: int) -> tuple[dict[int, SlotCharge], dict[str, float]]:
    """Return the slots in use by number, in the order of the pool, and the quotas of the groups' own users.

    They are those of the last cycle, as *state* tells since; without a cycle since the last change of the groups, those
    of the next one, at *now*. Raises SettingValueError for an invalid expression.
    """
    figures = last_figures(state).groups
    charges: Charges = charges_of(claims.load_all(state))
    if are_configured(figures, settings):
        total = figures[0].subtree_quota
    else:
        from fairq.steps.cycle.load import load_without_jobs
        from fairq.steps.quotas.forecast import Forecaster

        forecaster = Forecaster(state, settings, now, load_without_jobs(state, settings, now))
        total, charges = forecaster.size(settings), forecaster.accountant(settings).charges
    quotas = {group.name: group.quota for group in quota_tree(tree_policy(settings), total).groups}
    return {slot: charges[slot] for slot in sorted(cast(Iterable[int], charges))}, quotas


def are_configured(figures: Sequence[GroupFigures], settings: Settings) -> bool:
    """Return whether *figures* of groups still match *settings* for a pool of that size."""
    if not figures:
        return False
    tree = quota_tree(tree_policy(settings), figures[0].subtree_quota)
    configured = [
        (group.name, group.config_quota, group.static, group.accept_surplus, group.autoregroup, group.subtree_quota)
        for group in tree.groups[1:]
    ]
    found = [
        (of.group, of.config_quota, of.static, of.accept_surplus, of.autoregroup, of.subtree_quota)
        for of in figures[1:]
    ]
    own = {group.name: group.quota for group in tree.groups[1:]}
    return configured == found and all(own[of.group] == of.quota for of in figures[1:])
