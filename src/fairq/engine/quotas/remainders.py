"""Whole slots from fractions if every slot counts 1: the remainders are handed out in turn.

docs/htcondor.md 4.5; GroupEntry.cpp, hgq_recover_remainders, hgq_round_robin.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from msgspec import Struct

from fairq.engine.quotas.tree import QuotaGroup, Tree
from fairq.engine.std_sort import std_sorted

NEVER = sys.float_info.max


def deal_remainders(tree: Tree, std_sort: bool = False) -> float:
    """Truncate every allocation to whole slots and hand out the remainders; return the rest.

    The group that got a slot longest ago (`round_robin_time`) comes first; `served` marks the groups that get one.
    *std_sort*: among equals the order is that of ``std::sort``, otherwise that of the tree.
    """
    unused: dict[str, float] = {}
    for group in reversed(tree.groups):
        group.served = False
        fraction = math.modf(group.allocated)[0]
        group.allocated = _nearest(group.allocated - fraction)
        group.requested = _nearest(group.requested + fraction)
        group.subtree_requested = group.requested
        group.subtree_round_robin_time = group.round_robin_time if group.requested > 0 else NEVER
        surplus = fraction
        for child in group.children:
            surplus += unused.pop(child.name)
            if child.accept_surplus:
                group.subtree_requested += child.subtree_requested
                if child.subtree_requested > 0:
                    earliest = min(group.subtree_round_robin_time, child.subtree_round_robin_time)
                    group.subtree_round_robin_time = earliest
        unused[group.name] = _go_round(group, surplus, std_sort) if group.children else surplus
    return unused[tree.root.name]


def _nearest(value: float) -> float:
    return float(math.floor(value + 0.5))


def _go_round(top: QuotaGroup, surplus: float, std_sort: bool) -> float:
    left = surplus
    pending = [(top, surplus)]
    while pending:
        group, surplus = pending.pop()
        rest, given = _split(group, surplus, std_sort)
        if group is top:
            left = rest
        pending += given
    return left


class _Candidate(Struct, eq=False):
    """One candidate for a slot: a child with its subtree, or the group's own submitters."""

    group: QuotaGroup
    last_served: float
    weight: float
    wants: float
    given: float = 0.0


def _split(group: QuotaGroup, surplus: float, std_sort: bool) -> tuple[float, list[tuple[QuotaGroup, float]]]:
    """Hand out whole slots to the children and the group itself; return the rest and the slots of the children."""
    want = float(math.floor(group.subtree_requested))
    if want <= 0 or surplus < 1:
        return surplus, []
    candidates = [
        _Candidate(
            child,
            child.subtree_round_robin_time,
            child.subtree_quota,
            child.subtree_requested if child.accept_surplus else 0.0,
        )
        for child in group.children
    ]
    own = _Candidate(group, group.round_robin_time, group.quota, group.requested)
    order = _in_turn([*candidates, own], std_sort)
    wanting = sum(1 for one in order if one.wants > 0)
    while surplus >= 1 and want > 0 and wanting:
        portion = max(1.0, float(math.floor(surplus / wanting)))
        wanting = 0
        for one in order:
            if one.wants <= 0:
                continue
            dealt = min(one.wants, portion)
            one.given += dealt
            one.wants -= dealt
            surplus -= dealt
            want -= dealt
            one.group.served = True
            wanting += one.wants > 0
            if surplus < portion:
                break
    group.allocated += own.given
    group.requested -= own.given
    group.subtree_requested = want
    return surplus, [(one.group, one.given) for one in candidates if one.given > 0]


def _in_turn(candidates: list[_Candidate], std_sort: bool) -> list[_Candidate]:
    """Longest waiting first, then the larger quota, then the larger demand (GroupEntry.h, ord_by_rr_time)."""
    keys = [(one.last_served, -one.weight, -one.wants) for one in candidates]
    if not std_sort:
        return [one for _, one in sorted(zip(keys, candidates, strict=True), key=lambda pair: pair[0])]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    order = std_sorted(np.array([ranks[key] for key in keys], np.int64))
    return [candidates[at] for at in order]
