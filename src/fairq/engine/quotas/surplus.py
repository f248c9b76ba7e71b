"""The distribution of unused quota: first to siblings and the parent, then further up the tree.

docs/htcondor.md 4.4; GroupEntry.cpp, hgq_fairshare, hgq_allocate_surplus, hgq_allocate_surplus_loop. The order of
floating-point operations is HTCondor's, since limits are truncated to whole numbers afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.quotas.tree import QuotaGroup, Tree


def share_fairly(tree: Tree) -> float:
    """Set `allocated` of every group from `quota` and `requested`, and return the unused quota.

    Every group first gets its request from its own quota. The unused quota is offered to its siblings and its parent,
    then to groups above. Groups that accept no surplus are skipped with their subtrees. `requested` keeps the unmet
    demand.
    """
    unused: dict[str, float] = {}
    for group in reversed(tree.groups):
        group.allocated = min(group.requested, group.quota)
        group.requested -= group.allocated
        group.subtree_requested = group.requested
        surplus = group.quota - group.allocated
        for child in group.children:
            surplus += unused.pop(child.name)
            if child.accept_surplus:
                group.subtree_requested += child.subtree_requested
        unused[group.name] = _allocate(group, surplus) if group.children else surplus
    return unused[tree.root.name]


def _allocate(top: QuotaGroup, surplus: float) -> float:
    """Allocate *surplus* to the subtree of *top*; return what is not allocated."""
    unallocated = 0.0
    pending = [(top, surplus)]
    while pending:
        group, surplus = pending.pop()
        remainder, shares = _split(group, surplus)
        if group is top:
            unallocated = remainder
        pending += ((child, share) for child, share in zip(group.children, shares, strict=False) if share > 0)
    return unallocated


def _split(group: QuotaGroup, surplus: float) -> tuple[float, list[float]]:
    """Split *surplus* among the children of *group* and, last, the group's own submitters.

    Return what remains and the shares of the children.
    """
    if surplus <= 0:
        return 0.0, []
    total = group.subtree_requested
    if total <= 0:
        return surplus, []
    demands = [child.subtree_requested if child.accept_surplus else 0.0 for child in group.children]
    demands.append(group.requested)
    if surplus >= total:
        shares = [max(0.0, demand) for demand in demands]
        surplus -= total
        group.subtree_requested = 0.0
    else:
        shares = [0.0] * len(demands)
        quotas = [*(child.subtree_quota for child in group.children), group.quota]
        total, surplus = _deal(demands, quotas, shares, total, surplus)
        total, surplus = _deal(demands, [1.0] * len(demands), shares, total, surplus)
        group.subtree_requested = total
    own = shares.pop()
    group.allocated += own
    group.requested -= own
    return surplus, shares


def _deal(
    demands: list[float], weights: Sequence[float], shares: list[float], total: float, surplus: float
) -> tuple[float, float]:
    """Add to *shares* in proportion to *weights*, at most each demand; return unmet demand and remaining surplus."""
    while surplus > 0:
        claimants = [index for index, demand in enumerate(demands) if demand > 0]
        total_weight = 0.0
        for index in claimants:
            total_weight += weights[index]
        if total_weight <= 0:
            break
        capped = False
        dealt = 0.0
        for index in claimants:
            share = surplus * (weights[index] / total_weight)
            if share > demands[index]:
                share = demands[index]
                capped = True
            shares[index] += share
            demands[index] -= share
            dealt += share
        surplus -= dealt
        total -= dealt
        if not capped or surplus < 0:
            surplus = 0.0
    return total, surplus
