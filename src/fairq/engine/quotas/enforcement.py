"""The hard cap of groups that accept no surplus (docs/htcondor.md 4.6; GroupEntry.cpp, strict_enforce_quota)."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairq.engine.quotas.tree import QuotaGroup


def enforce_caps(
    group: QuotaGroup, limit: float, usage: float, subtree_usage: Callable[[QuotaGroup], float]
) -> tuple[float, QuotaGroup | None]:
    """Lower *limit* so that no group above that accepts no surplus exceeds its quota.

    The increase above *usage* must fit into the rest of the quota of each of these groups; *subtree_usage* is their
    current use. Return the limit, and the group that lowered it last, None if none did.
    """
    more = limit - usage
    limiting_group = None
    for above in group.up():
        if above.accept_surplus:
            continue
        cap = above.config_quota if above.static else above.subtree_quota
        left = max(0.0, cap - subtree_usage(above))
        if left < more:
            more, limiting_group = left, above
    return more + usage, limiting_group


def room_under_caps(group: QuotaGroup, subtree_usage: Callable[[QuotaGroup], float]) -> float:
    """How much more *group* may have before one up the tree that takes no surplus gets beyond its quota.

    Infinite if there is no such group.
    """
    caps = (above.subtree_quota - subtree_usage(above) for above in group.up() if not above.accept_surplus)
    return max(0.0, min(caps, default=math.inf))
