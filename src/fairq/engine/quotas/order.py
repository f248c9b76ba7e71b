"""The order in which groups negotiate (docs/htcondor.md 4.7; GroupEntry.cpp, hgq_negotiate_with_all_groups)."""

from __future__ import annotations

import math

import numpy as np

from fairq.engine.classad import AdColumns, EvaluationBudget, Expression, evaluate_in_columns
from fairq.engine.negotiation.std_sort import std_sorted
from fairq.engine.quotas.tree import Group, Tree

LAST = float(np.finfo(np.float32).max)
"""The key of a group for which the expression gives no number: after all others."""


def sort_keys(
    tree: Tree, expression: Expression, now: int, budget: EvaluationBudget | None = None
) -> list[float]:
    """Evaluate GROUP_SORT_EXPR for every group of *tree*, in its order.

    The expression reads AccountingGroup, GroupQuota, GroupResourcesAllocated and GroupResourcesInUse; the
    manual of HTCondor 8 calls the last two GroupQuotaAllocated and GroupQuotaInUse.
    """
    ads = [
        {
            "AccountingGroup": group.name,
            "GroupQuota": float(group.quota),
            "GroupResourcesAllocated": float(group.allocated),
            "GroupQuotaAllocated": float(group.allocated),
            "GroupResourcesInUse": float(group.usage),
            "GroupQuotaInUse": float(group.usage),
        }
        for group in tree.groups
    ]
    keys = evaluate_in_columns(expression, AdColumns(ads, now, budget), {}).as_rank(LAST)
    return [LAST if math.isnan(key) else key for key in keys.tolist()]


def negotiation_order(tree: Tree, keys: list[float], std_sort: bool) -> list[Group]:
    """Return the groups by ascending key; with autoregroup ``<none>`` comes last whatever its key.

    Groups with equal keys stay in the order of the tree, or with *std_sort* in that in which ``std::sort``
    leaves them.
    """
    ranks = np.unique(np.array(keys), return_inverse=True)[1].astype(np.int64)
    if tree.regroups:
        ranks[0] = ranks.max() + 1
    order = list(std_sorted(ranks)) if std_sort else np.argsort(ranks, kind="stable").tolist()
    return [tree.groups[at] for at in order]
