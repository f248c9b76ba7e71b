"""Time the allocation of quotas over 2,000 groups in five levels: ``python -m benchmarks.quota_tree``."""

from __future__ import annotations

import random
import time

from fairq.engine.quotas.assignment import assign_quotas
from fairq.engine.quotas.policy import GroupQuota
from fairq.engine.quotas.remainders import deal_remainders
from fairq.engine.quotas.surplus import share_fairly
from fairq.engine.quotas.tree import build_tree

WIDTHS = (4, 4, 5, 5, 4)
"""Groups below each group, level by level: 4 + 16 + 80 + 400 + 1600."""

SUBMITTERS = 20_000
POOL = 100_000.0


def groups() -> list[GroupQuota]:
    """Return groups: each level divides the one above, partly by static quotas; every second group accepts surplus."""
    configured: list[GroupQuota] = []
    parents = [""]
    for width in WIDTHS:
        names = [f"{name}.g{number}".lstrip(".") for name in parents for number in range(width)]
        for number, name in enumerate(names):
            static = 7.0 if number % 11 == 0 else None
            configured.append(GroupQuota(name, static, 0.9 / width, accept_surplus=number % 2 == 0))
        parents = names
    return configured


def main() -> None:
    """Time each step and print a line for it."""
    draw = random.Random(20_261_120)
    configured = groups()
    steps: list[tuple[str, float]] = []

    def timed(name: str, since: float) -> float:
        now = time.perf_counter()
        steps.append((name, now - since))
        return now

    began = time.perf_counter()
    tree = build_tree(configured)
    began = timed("build the tree", began)
    assign_quotas(tree, POOL, oversubscription=False)
    timed("assign quotas", began)
    for _ in range(SUBMITTERS):
        draw.choice(tree.groups).demand += draw.randrange(1, 20)
    for group in tree.groups:
        group.requested = group.demand
    began = time.perf_counter()
    share_fairly(tree)
    began = timed("share surplus", began)
    deal_remainders(tree)
    timed("deal remainders", began)
    print(f"{len(tree) - 1} groups, {SUBMITTERS} submitters")
    for name, seconds in steps:
        print(f"{name:20}{1000 * seconds:8.1f} ms")


if __name__ == "__main__":
    main()
