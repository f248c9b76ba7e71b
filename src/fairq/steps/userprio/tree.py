"""The tree of ``userprio --tree``: entitlement and use of groups and users. It writes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group, group_and_ancestors
from fairq.steps.reports.status import GroupUse, PoolStatus, SubmitterStatus, pool_status

if TYPE_CHECKING:
    from fairq.settings import Settings


class Share(Struct, frozen=True):
    """A group or submitter in the tree, *depth* levels below the top; weights are slot weights.

    A group is *entitled* to its quota with all subgroups, a submitter to its share of the pie in the last cycle; None
    if that cycle did not include it. *over* is *in_use* minus *entitled*. *idle* counts jobs, for a group those of all
    its members. *usage* is the accumulated usage in weighted slot-seconds; None for a group.
    """

    name: str
    is_group: bool
    group: str | None
    depth: int
    entitled: float | None
    in_use: float
    over: float | None
    idle: int
    effective_priority: float | None
    priority_factor: float | None = None
    usage: float | None = None


def share_tree(path: Path, settings: Settings, now: int) -> tuple[PoolStatus, list[Share]]:
    """Return the pool's status, and its groups, each followed by its submitters and its subgroups.

    Submitters of one group are ordered by effective priority, the best first. Those of no group come last, below
    ``<none>`` if there are groups.
    """
    pool = pool_status(path, settings, now)
    is_root = {group_figures["group"]: group_figures["group"] == ROOT_GROUP for group_figures in pool.groups}
    groups = tuple(name for name, root in is_root.items() if not root)
    members: dict[str, list[SubmitterStatus]] = {}
    for submitter in sorted(pool.submitters, key=lambda submitter: (submitter.priority, submitter.submitter)):
        members.setdefault(assigned_group(submitter.submitter, groups), []).append(submitter)
    below: dict[str, list[SubmitterStatus]] = defaultdict(list)
    for group, submitters in members.items():
        for name in group_and_ancestors(group):
            below[name.lower()] += submitters
    if not groups:
        return pool, [_submitter(submitter, ROOT_GROUP, 0) for submitter in members.get(ROOT_GROUP, ())]
    shares: list[Share] = []
    for figures in sorted(
        pool.groups,
        key=lambda group_figures: (is_root[group_figures["group"]], group_figures["group"].lower().split(".")),
    ):
        name = figures["group"]
        share = _group(figures, below[name.lower()], pool.used_by_groups)
        shares.append(share)
        shares += (_submitter(submitter, name, share.depth + 1) for submitter in members.get(name, ()))
    return pool, shares


def _group(figures: Mapping[str, Any], included: Sequence[SubmitterStatus], used: Mapping[str, GroupUse]) -> Share:
    name = figures["group"]
    entitled = figures["quota" if name == ROOT_GROUP else "subtree_quota"]
    in_use = fsum(submitter.in_use for submitter in included)
    idle = sum(submitter.idle for submitter in included)
    priority = used[name].priority if name in used else None
    return Share(name, True, figures["parent"], name.count("."), entitled, in_use, in_use - entitled, idle, priority)


def _submitter(submitter: SubmitterStatus, group: str, depth: int) -> Share:
    over = None if submitter.entitled is None else submitter.in_use - submitter.entitled
    return Share(
        submitter.submitter,
        False,
        group,
        depth,
        submitter.entitled,
        submitter.in_use,
        over,
        submitter.idle,
        submitter.priority,
        submitter.factor,
        submitter.usage,
    )
