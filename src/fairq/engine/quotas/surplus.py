"""The distribution of unused quota: first to siblings and the parent, then further up the tree.

docs/htcondor.md 4.4; GroupEntry.cpp, hgq_fairshare, hgq_allocate_surplus, hgq_allocate_surplus_loop. The order of
floating-point operations is HTCondor's, since limits are truncated to whole numbers afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.quotas.tree import QuotaGroup, Tree


def share_fairly(tree: Tree) -> float:
    """Set `allocated` of every group from `quota` and `requested`, and return the unused quota.

    Every group first gets its request from its own quota. The rest is offered to its siblings and its parent, then to
    groups above. Groups that accept no surplus are skipped with their subtrees. `requested` keeps the unmet demand.
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
    """Allocate *surplus* to the subtree of *top*; return the rest."""
    left = 0.0
    pending = [(top, surplus)]
    while pending:
        group, surplus = pending.pop()
        rest, shares = _split(group, surplus)
        if group is top:
            left = rest
        pending += ((child, share) for child, share in zip(group.children, shares, strict=False) if share > 0)
    return left


def _split(group: QuotaGroup, surplus: float) -> tuple[float, list[float]]:
    """Split *surplus* among the children of *group* and, last, the group's own submitters.

    Return the rest and the shares of the children.
    """
    if surplus <= 0:
        return 0.0, []
    total = group.subtree_requested
    if total <= 0:
        return surplus, []
    wants = [child.subtree_requested if child.accept_surplus else 0.0 for child in group.children]
    wants.append(group.requested)
    if surplus >= total:
        shares = [max(0.0, want) for want in wants]
        surplus -= total
        group.subtree_requested = 0.0
    else:
        shares = [0.0] * len(wants)
        quotas = [*(child.subtree_quota for child in group.children), group.quota]
        total, surplus = _deal(wants, quotas, shares, total, surplus)
        total, surplus = _deal(wants, [1.0] * len(wants), shares, total, surplus)
        group.subtree_requested = total
    own = shares.pop()
    group.allocated += own
    group.requested -= own
    return surplus, shares


def _deal(
    wants: list[float], weights: Sequence[float], shares: list[float], total: float, surplus: float
) -> tuple[float, float]:
    """Add to *shares* in proportion to *weights*, at most each demand; return *total* demand and surplus left."""
    while surplus > 0:
        wanting = [at for at, want in enumerate(wants) if want > 0]
        normal = 0.0
        for at in wanting:
            normal += weights[at]
        if normal <= 0:
            break
        capped = False
        dealt = 0.0
        for at in wanting:
            share = surplus * (weights[at] / normal)
            if share > wants[at]:
                share = wants[at]
                capped = True
            shares[at] += share
            wants[at] -= share
            dealt += share
        surplus -= dealt
        total -= dealt
        if not capped or surplus < 0:
            surplus = 0.0
    return total, surplus
