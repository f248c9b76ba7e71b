"""Groups and small pools for the tests of quotas, in the words of the manuals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from tests import policies
from tests.engine.negotiation import pools
from tests.engine.negotiation.pools import claimed, cycle, jobs, slots

from fairq.engine.classad import parse
from fairq.engine.negotiation.decision import CycleDecision
from fairq.engine.quotas.assignment import assign_quotas
from fairq.engine.quotas.policy import DemandPolicy, GroupQuota, QuotaPolicy
from fairq.engine.quotas.surplus import share_fairly
from fairq.engine.quotas.tree import Tree, build_tree

STARVATION = (
    'ifThenElse(AccountingGroup =?= "<none>", 3.4e+38, '
    "ifThenElse(GroupQuota > 0, GroupResourcesInUse / GroupQuota, 3.3e+38))"
)

both_rules = pytest.mark.parametrize("rules", ["documented", "htcondor"])

Quota = float | str | None
"""20 is a static quota, "75%" a dynamic one, None is none."""


def groups(
    quotas: Mapping[str, Quota],
    surplus: bool | Collection[str] = False,
    regroup: bool | Collection[str] = False,
) -> list[GroupQuota]:
    """Return the groups of *quotas*; *surplus* and *regroup* are all, none, or those named."""
    return [
        GroupQuota(
            name,
            None if quota is None or isinstance(quota, str) else float(quota),
            float(quota.rstrip("%")) / 100 if isinstance(quota, str) else None,
            surplus if isinstance(surplus, bool) else name in surplus,
            regroup if isinstance(regroup, bool) else name in regroup,
        )
        for name, quota in quotas.items()
    ]


def rules_of(
    quotas: Mapping[str, Quota],
    rules: str = "documented",
    surplus: bool | Collection[str] = False,
    regroup: bool | Collection[str] = False,
    **changes: Any,
) -> QuotaPolicy:
    """Return the rules of quotas with *changes*."""
    settings: dict[str, Any] = {
        "sort_expression": parse(changes.pop("sort", STARVATION)),
        "demand": DemandPolicy(True, parse("Cpus"), truncated=rules == "htcondor"),
        "accept_surplus": surplus is True,
        "strict_priority": False,
        **changes,
    }
    return policies.quotas(rules, groups=groups(quotas, surplus, regroup), **settings)


def hold(
    policy: QuotaPolicy,
    size: int,
    wants: Mapping[str, int],
    in_use: Mapping[str, int] | None = None,
    **changes: Any,
) -> CycleDecision:
    """Run a cycle over *size* equal slots. *wants*: idle jobs of each submitter; *in_use*: slots in use.

    The other rules of the cycle are those of the set that *policy* belongs to.
    """
    changes = (pools.HTCONDOR if policy.integer_limits else {}) | changes
    pool = slots(size)
    row = 0
    for user, count in (in_use or {}).items():
        for _ in range(count):
            pool[row] = claimed(pool[row], user)
            row += 1
    queues = {name: [jobs(count)] for name, count in wants.items()}
    return cycle(pool, queues, quotas=policy, **changes)


def used(decision: CycleDecision) -> dict[str, float]:
    """Return the use of each group's own submitters after the cycle."""
    return {group.group: group.used_after for group in decision.quotas}


def order(decision: CycleDecision) -> list[str]:
    """Return the groups in the order in which they negotiated in the first round."""
    return [turn.group for turn in decision.groups if turn.round == 1 and turn.step == 1]


def assigned(
    quotas: Mapping[str, Quota], size: float, oversubscription: bool = False
) -> dict[str, tuple[float, float]]:
    """Return each group's own quota and that of its subtree."""
    tree = build_tree(groups(quotas))
    assign_quotas(tree, size, oversubscription)
    return {group.name: (round(group.quota, 3), round(group.subtree_quota, 3)) for group in tree.groups}


def shared_tree(
    quotas: Mapping[str, Quota],
    size: float,
    wants: Mapping[str, float],
    surplus: bool | Collection[str] = False,
    oversubscription: bool = False,
) -> Tree:
    """Return the tree after quotas are assigned and surplus is shared."""
    tree = build_tree(groups(quotas, surplus))
    assign_quotas(tree, size, oversubscription)
    for group in tree.groups:
        group.demand = group.requested = wants.get(group.name, 0.0)
    share_fairly(tree)
    return tree


def allocated(*arguments: Any, **keywords: Any) -> dict[str, float]:
    """Return the allocation of each group in `shared_tree`."""
    return {group.name: round(group.allocated, 3) for group in shared_tree(*arguments, **keywords).groups}
