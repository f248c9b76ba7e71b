"""The tree of ``userprio --tree``: what groups and users are entitled to, and what they use. It writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group
from fairq.steps.reports.status import GroupUse, Standing, SubmitterStanding, standing

if TYPE_CHECKING:
    from fairq.settings import Settings


class Share(Struct, frozen=True):
    """A group or submitter in the tree, *depth* levels below the top; weights are slot weights.

    A group is *entitled* to its quota with all subgroups, a submitter to its share of the pie in the last cycle; None
    if that cycle did not include it. *over* is *in_use* without that, negative below it. *idle* counts jobs, those of a
    group's members too. *usage* is the accumulated usage in weighted slot-seconds; None for a group.
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


def share_tree(path: Path, settings: Settings, now: int) -> tuple[Standing, list[Share]]:
    """Return the pool's status, and its groups, each followed by its submitters and its subgroups.

    Submitters of one group are ordered by effective priority, the best first. Those of no group come last, below
    ``<none>`` if there are groups.
    """
    found = standing(path, settings, now)
    is_root = {of["group"]: of["group"] == ROOT_GROUP for of in found.groups}
    groups = tuple(name for name, root in is_root.items() if not root)
    members: dict[str, list[SubmitterStanding]] = {}
    for one in sorted(found.submitters, key=lambda one: (one.priority, one.submitter)):
        members.setdefault(assigned_group(one.submitter, groups), []).append(one)
    if not groups:
        return found, [_submitter(one, ROOT_GROUP, 0) for one in members.get(ROOT_GROUP, ())]
    shares: list[Share] = []
    for figures in sorted(found.groups, key=lambda of: (is_root[of["group"]], of["group"].lower().split("."))):
        name = figures["group"]
        share = _group(figures, members, found.used_by_groups)
        shares.append(share)
        shares += (_submitter(one, name, share.depth + 1) for one in members.get(name, ()))
    return found, shares


def _group(
    figures: Mapping[str, Any], members: Mapping[str, Sequence[SubmitterStanding]], used: Mapping[str, GroupUse]
) -> Share:
    name = figures["group"]
    if name == ROOT_GROUP:
        within, entitled = list(members.get(name, ())), figures["quota"]
    else:
        within = [one for group, of in members.items() if _is_within(group, name) for one in of]
        entitled = figures["subtree_quota"]
    in_use = fsum(one.in_use for one in within)
    idle = sum(one.idle for one in within)
    priority = used[name].priority if name in used else None
    return Share(name, True, figures["parent"], name.count("."), entitled, in_use, in_use - entitled, idle, priority)


def _is_within(group: str, other: str) -> bool:
    return f"{group}.".lower().startswith(f"{other}.".lower())


def _submitter(one: SubmitterStanding, group: str, depth: int) -> Share:
    over = None if one.entitled is None else one.in_use - one.entitled
    return Share(
        one.submitter,
        False,
        group,
        depth,
        one.entitled,
        one.in_use,
        over,
        one.idle,
        one.priority,
        one.factor,
        one.usage,
    )
