"""The order in which groups negotiate: by the percentage of the quota used, or by GROUP_SORT_EXPR.

docs/htcondor.md 4.7; GroupEntry.cpp, hgq_negotiate_with_all_groups.
"""

from __future__ import annotations

import math

import numpy as np

from fairq.engine.classad import AdColumns, EvaluationBudget, Expression, evaluate_in_columns
from fairq.engine.quotas.tree import QuotaGroup, Tree
from fairq.engine.std_sort import INSERTED, std_sorted
from fairq.engine.weights import tolerance

LAST = float(np.finfo(np.float32).max)
"""The key of a group for which the expression gives no number: after all others."""


def percent_of_quota_used(usage: float, quota: float) -> float:
    """Return the percentage of its quota that a group uses; the lowest negotiates first.

    It is infinite without a quota; rounding errors leave next to nothing of one that subgroups share.
    """
    return 100.0 * usage / quota if quota > tolerance(1.0) else math.inf


def sort_keys(tree: Tree, expression: Expression, now: int, budget: EvaluationBudget | None = None) -> list[float]:
    """Evaluate GROUP_SORT_EXPR for every group of *tree*, in its order.

    A key that is not a number (0.0/0.0) remains: it is `LAST`, unless the order is that of ``std::sort``.

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
    found = evaluate_in_columns(expression, AdColumns(ads, now, budget), {})
    keys: list[float] = found.as_rank(LAST).tolist()
    return [math.nan if found.python(at) != found.python(at) else key for at, key in enumerate(keys)]


def negotiation_order(tree: Tree, keys: list[float], std_sort: bool, pool: float | None = None) -> list[QuotaGroup]:
    """Return the groups by ascending key; with autoregroup ``<none>`` comes last whatever its key.

    Given the size of the *pool*, groups with a quota beyond it come first (`strict_place`). Groups with equal keys stay
    in the order of the tree, or with *std_sort* in the order in which ``std::sort`` leaves them.
    """
    if std_sort and pool is None and len(keys) <= INSERTED and any(map(math.isnan, keys)):
        return [tree.groups[at] for at in _inserted(keys, last=0 if tree.regroups else None)]
    keys = [LAST if math.isnan(key) else key for key in keys]
    if pool is not None:
        placed = {group.name: (*strict_place(group, pool), key) for group, key in zip(tree.groups, keys, strict=True)}
        order = sorted(tree.groups[1:], key=lambda group: (*placed[group.name], -group.quota, group.name.lower()))
        first_after = next((at for at, group in enumerate(order) if placed[group.name] > placed[tree.root.name]), None)
        at = len(order) if tree.regroups or first_after is None else first_after
        return [*order[:at], tree.root, *order[at:]]
    ranks = np.unique(np.array(keys), return_inverse=True)[1].astype(np.int64)
    if tree.regroups:
        ranks[0] = ranks.max() + 1
    order_of_keys = list(std_sorted(ranks)) if std_sort else np.argsort(ranks, kind="stable").tolist()
    return [tree.groups[at] for at in order_of_keys]


def _inserted(keys: list[float], last: int | None) -> list[int]:
    """Return the places of a few *keys* as ``std::sort`` leaves them; *last* is after all others, whatever its key.

    What is not a number is neither before nor after anything: no key sinks past it, unless it is the least so far.
    """

    def is_before(one: int, other: int) -> bool:
        if last in (one, other):
            return other == last != one
        return keys[one] < keys[other]

    order: list[int] = []
    for at in range(len(keys)):
        place = len(order)
        if order and is_before(at, order[0]):
            place = 0
        while place and is_before(at, order[place - 1]):
            place -= 1
        order.insert(place, at)
    return order


def strict_place(group: QuotaGroup, pool: float) -> tuple[int, float]:
    """The place of a group by strict priority, less is earlier (HTCondor 8 manual, hierarchical group quotas).

    A group whose quota exceeds the *pool* negotiates before all others, the larger quota first.
    """
    return (0, -group.quota) if not group.is_root and group.quota > pool else (1, 0.0)
