"""The records of a cycle about groups: every turn in order, and the figures of each group."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from fairq.engine.quotas.tree import QuotaGroup


class SkipReason(StrEnum):
    """The reason why a group is skipped in a round; `fairq.steps.quotas.sentences` has the negotiator's words."""

    NOTHING_ALLOCATED = "nothing allocated"
    QUOTA_IN_USE = "quota in use"
    FLAT_QUOTA_IN_USE = "flat quota in use"
    NO_SUBMITTERS = "no submitters"


class GroupTurn(Struct, frozen=True):
    """One group's turn in a round of allocation, or why it was skipped; figures in slot weight.

    *used* is the group's use at the start of the round, *limit* its limit, None if not a number. *handed_out* is the
    limit of its pie, *stopped_by* the group whose quota sets it. *skipped* is the reason if there was no pie.
    """

    round: int
    step: int
    group: str
    quota: float
    allocated: float
    used: float
    sort_key: float
    limit: float | None = None
    handed_out: float | None = None
    stopped_by: str | None = None
    skipped: SkipReason | None = None


class GroupFigures(Struct, frozen=True):
    """One group over the whole cycle, in slot weight.

    *quota*, *allocated* and *sort_key* are those of the last round. *requested* is the demand at the start.
    *used_before* and *used_after* are the use of the group's own submitters before and after the cycle, *subtree_used*
    that of the whole subtree after it. *surplus* is the allocation above the quota, *submitters* a number.
    """

    group: str
    parent: str | None
    config_quota: float
    static: bool
    quota: float
    subtree_quota: float
    accept_surplus: bool
    autoregroup: bool
    surplus_policy: str
    requested: float
    allocated: float
    surplus: float
    used_before: float
    used_after: float
    subtree_used: float
    sort_key: float
    submitters: int


def figures(
    group: QuotaGroup,
    *,
    used_before: float,
    used_after: float,
    subtree_used: float,
    sort_key: float,
    submitters: int,
) -> GroupFigures:
    """Return the current figures of *group*, with the given ones of the cycle."""
    return GroupFigures(
        group=group.name,
        parent=None if group.parent is None else group.parent.name,
        config_quota=group.config_quota,
        static=group.static,
        quota=group.quota,
        subtree_quota=group.subtree_quota,
        accept_surplus=group.accept_surplus,
        autoregroup=group.autoregroup,
        surplus_policy=str(group.surplus_policy),
        requested=group.demand,
        allocated=group.allocated,
        surplus=max(0.0, group.allocated - group.quota),
        used_before=used_before,
        used_after=used_after,
        subtree_used=subtree_used,
        sort_key=sort_key,
        submitters=submitters,
    )
