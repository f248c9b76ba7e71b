"""Whole slots from fractional allocations, if every slot counts 1: the remainders are dealt in turn.

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

ROUNDING = 1e-9
"""Slots: what is nearer than this to a whole number is one, and the rest an error of rounding."""


def settled(slots: float, as_computed: bool) -> float:
    """Return *slots* without an error of rounding: 28.999999999999996 slots are 29, unless they count *as_computed*."""
    whole = _rounded(slots)
    return whole if not as_computed and abs(slots - whole) < ROUNDING else slots


def deal_remainders(tree: Tree, std_sort: bool = False, as_computed: bool = False) -> float:
    """Truncate every allocation to whole slots and deal the remainders; return what nobody takes.

    The group that got a slot longest ago (`round_robin_time`) comes first; `served` marks the groups that get one.
    *std_sort*: among equals the order is that of ``std::sort``, otherwise that of the tree. *as_computed*: errors of
    rounding count.
    """
    unused: dict[str, float] = {}
    for group in reversed(tree.groups):
        group.served = False
        fraction = math.modf(settled(group.allocated, as_computed))[0]
        group.allocated = _rounded(group.allocated - fraction)
        group.requested = _rounded(group.requested + fraction)
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
        surplus = settled(surplus, as_computed)
        unused[group.name] = _deal_in_subtree(group, surplus, std_sort) if group.children else surplus
    return unused[tree.root.name]


def _rounded(value: float) -> float:
    return float(math.floor(value + 0.5))


def _deal_in_subtree(top: QuotaGroup, surplus: float, std_sort: bool) -> float:
    undealt = surplus
    pending = [(top, surplus)]
    while pending:
        group, surplus = pending.pop()
        remainder, dealt = _split(group, surplus, std_sort)
        if group is top:
            undealt = remainder
        pending += dealt
    return undealt


class _Candidate(Struct, eq=False):
    """A candidate for remaining slots: a child with its subtree, or the group's own submitters."""

    group: QuotaGroup
    last_served: float
    weight: float
    wants: float
    granted: float = 0.0


def _split(group: QuotaGroup, surplus: float, std_sort: bool) -> tuple[float, list[tuple[QuotaGroup, float]]]:
    """Deal whole slots to the children and the group itself; return the remainder and each child's slots."""
    demand = float(math.floor(group.subtree_requested))
    if demand <= 0 or surplus < 1:
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
    order = _sorted_by_turn([*candidates, own], std_sort)
    claimants = sum(1 for candidate in order if candidate.wants > 0)
    while surplus >= 1 and claimants:
        portion = max(1.0, float(math.floor(surplus / claimants)))
        claimants = 0
        for candidate in order:
            if candidate.wants <= 0:
                continue
            dealt = min(candidate.wants, portion)
            candidate.granted += dealt
            candidate.wants -= dealt
            surplus -= dealt
            demand -= dealt
            candidate.group.served = True
            claimants += candidate.wants > 0
            if surplus < portion:
                break
    group.allocated += own.granted
    group.requested -= own.granted
    group.subtree_requested = demand
    return surplus, [(candidate.group, candidate.granted) for candidate in candidates if candidate.granted > 0]


def _sorted_by_turn(candidates: list[_Candidate], std_sort: bool) -> list[_Candidate]:
    """Sort by longest wait, then larger quota, then larger demand (GroupEntry.h, ord_by_rr_time)."""
    keys = [(candidate.last_served, -candidate.weight, -candidate.wants) for candidate in candidates]
    if not std_sort:
        return [candidate for _, candidate in sorted(zip(keys, candidates, strict=True), key=lambda pair: pair[0])]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    order = std_sorted(np.array([ranks[key] for key in keys], np.int64))
    return [candidates[index] for index in order]
