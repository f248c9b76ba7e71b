"""The order in which groups negotiate: by the percentage of the quota used, or by GROUP_SORT_EXPR.

docs/htcondor.md 4.7; GroupEntry.cpp, hgq_negotiate_with_all_groups.
"""

from __future__ import annotations

import math

import numpy as np

from fairq.engine.classad import AdColumns, EvaluationBudget, Expression, evaluate_in_columns
from fairq.engine.quotas.tree import QuotaGroup, Tree
from fairq.engine.std_sort import INSERTION_LIMIT, std_sorted
from fairq.engine.weights import tolerance

LAST = float(np.finfo(np.float32).max)
"""The key of a group for which the expression gives no number: after all others."""


def percent_of_quota_used(usage: float, quota: float) -> float:
    """Return the percentage of its quota that a group uses; the lowest negotiates first.

    It is infinite without a quota. A quota split among subgroups may leave a rounding error, which counts as none.
    """
    return 100.0 * usage / quota if quota > tolerance(1.0) else math.inf


def sort_keys(tree: Tree, expression: Expression, now: int, budget: EvaluationBudget | None = None) -> list[float]:
    """Evaluate GROUP_SORT_EXPR for every group of *tree*, in its order.

    A key that is not a number (0.0/0.0) is returned as it is: it counts as `LAST`, unless ``std::sort`` orders.

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
    values = evaluate_in_columns(expression, AdColumns(ads, now, budget), {})
    keys: list[float] = values.as_rank(LAST).tolist()
    return [math.nan if values.python(index) != values.python(index) else key for index, key in enumerate(keys)]


def negotiation_order(tree: Tree, keys: list[float], std_sort: bool, pool: float | None = None) -> list[QuotaGroup]:
    """Return the groups by ascending key; with autoregroup ``<none>`` comes last whatever its key.

    Given the size of the *pool*, groups with a quota beyond it come first (`strict_priority_key`). Groups with equal
    keys stay in the order of the tree, or with *std_sort* in the order in which ``std::sort`` leaves them.
    """
    if std_sort and pool is None and len(keys) <= INSERTION_LIMIT and any(map(math.isnan, keys)):
        return [tree.groups[index] for index in _insertion_sorted(keys, last=0 if tree.regroups else None)]
    keys = [LAST if math.isnan(key) else key for key in keys]
    if pool is not None:
        group_keys = {
            group.name: (*strict_priority_key(group, pool), key) for group, key in zip(tree.groups, keys, strict=True)
        }
        order = sorted(tree.groups[1:], key=lambda group: (*group_keys[group.name], -group.quota, group.name.lower()))
        first_after = next(
            (index for index, group in enumerate(order) if group_keys[group.name] > group_keys[tree.root.name]),
            None,
        )
        index = len(order) if tree.regroups or first_after is None else first_after
        return [*order[:index], tree.root, *order[index:]]
    ranks = np.unique(np.array(keys), return_inverse=True)[1].astype(np.int64)
    if tree.regroups:
        ranks[0] = ranks.max() + 1
    order_of_keys = list(std_sorted(ranks)) if std_sort else np.argsort(ranks, kind="stable").tolist()
    return [tree.groups[index] for index in order_of_keys]


def _insertion_sorted(keys: list[float], last: int | None) -> list[int]:
    """Return the indices of a few *keys* in the order of ``std::sort``; index *last* comes last, whatever its key.

    Not-a-number is neither before nor after any key: no key moves past it, unless that key is the smallest so far.
    """

    def is_before(first: int, second: int) -> bool:
        if last in (first, second):
            return second == last != first
        return keys[first] < keys[second]

    order: list[int] = []
    for index in range(len(keys)):
        position = len(order)
        if order and is_before(index, order[0]):
            position = 0
        while position and is_before(index, order[position - 1]):
            position -= 1
        order.insert(position, index)
    return order


def strict_priority_key(group: QuotaGroup, pool: float) -> tuple[int, float]:
    """Return the sort key of a group by strict priority, lower first (HTCondor 8 manual, hierarchical group quotas).

    A group whose quota exceeds the *pool* negotiates before all others, the larger quota first.
    """
    return (0, -group.quota) if not group.is_root and group.quota > pool else (1, 0.0)
