"""How unused quota moves through the tree: first to brothers, sisters and the parent, then further up.

docs/htcondor.md 4.4; GroupEntry.cpp, hgq_fairshare, hgq_allocate_surplus, hgq_allocate_surplus_loop. The order of
floating-point operations is HTCondor's, since limits are cut to whole numbers afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.quotas.tree import QuotaGroup, Tree


def share_fairly(tree: Tree) -> float:
    """Set `allocated` of every group from `quota` and `requested`, and return the quota nobody uses.

    Every group first gets what it asks for out of its own quota. What it leaves is offered to its parent and
    the groups beside it, then to those above; groups that accept no surplus are passed over, with all below
    them. `requested` keeps what is still wanted.
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
    """Give *surplus* to the subtree of *top*; return what is left."""
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
    """Split *surplus* between the children of *group* and, last of all, the group's own submitters.

    Returns what is left and the children's shares.
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
    """Add to *shares* in the ratio of *weights*, none beyond its want; return the *total* want and surplus left."""
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
