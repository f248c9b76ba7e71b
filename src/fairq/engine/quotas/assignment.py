"""The assignment of quotas from the configuration and the size of the pool, from the root down.

docs/htcondor.md 4.3; GroupEntry.cpp, hgq_assign_quotas. The order of operations is HTCondor's, since results are
compared and truncated later.
"""

from __future__ import annotations

from fairq.engine.quotas.policy import TreePolicy
from fairq.engine.quotas.tree import Tree, build_tree


def quota_tree(policy: TreePolicy, total: float) -> Tree:
    """Return the groups with their quotas in a pool of *total* slot weight."""
    if policy.model == "flat":
        from fairq.engine.quotas.flat import assign_flat, build_flat

        tree = build_flat(policy.groups)
        assign_flat(tree, total, policy.remainders_as_computed)
    else:
        tree = build_tree(policy.groups, regroups=policy.autoregroup)
        assign_quotas(tree, total, policy.oversubscription)
    return tree


def assign_quotas(tree: Tree, total: float, oversubscription: bool) -> None:
    """Set `quota` and `subtree_quota` of every group in a pool of *total* slot weight.

    At each level static quotas come before dynamic ones, which are fractions of what is left. Without
    *oversubscription*, static quotas of siblings that exceed the parent's quota are scaled down in proportion, and a
    group with children keeps the rest. With it, quotas are never scaled, and the group's own quota is that of its whole
    subtree. Fractions that sum to more than 1 are scaled to 1.
    """
    for group in tree.groups:
        group.quota = group.subtree_quota = 0.0
    tree.root.subtree_quota = total
    for group in tree.groups:
        available = group.subtree_quota
        if available <= 0:
            group.subtree_quota = 0.0
            continue
        static = sum(child.config_quota for child in group.children if child.static)
        dynamic = sum(child.config_quota for child in group.children if not child.static)
        for_static = static if oversubscription else min(static, available)
        for_dynamic = max(0.0, available - for_static)
        static_scale, dynamic_scale = for_static / (static or 1.0), for_dynamic / max(dynamic, 1.0)
        assigned = 0.0
        for child in group.children:
            child.subtree_quota = child.config_quota * (static_scale if child.static else dynamic_scale)
            assigned += child.subtree_quota
        keeps_all = oversubscription and not group.is_root
        group.quota = available if keeps_all else max(0.0, available - assigned)
