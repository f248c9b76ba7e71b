"""The hard caps of groups that accept no surplus (docs/htcondor.md 4.6; GroupEntry.cpp, strict_enforce_quota)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from fairq.engine.quotas.tree import QuotaGroup

Freed = Sequence[tuple[int, float]]
"""For each slot that a match preempts: the number of the holder's group, and the slot weight."""


def enforce_caps(
    group: QuotaGroup, limit: float, usage: float, subtree_usage: Callable[[QuotaGroup], float], *, scaled: bool
) -> tuple[float, QuotaGroup | None]:
    """Lower *limit* so that no group above that accepts no surplus exceeds its quota.

    The increase above *usage* must fit into the unused quota of each of these groups; *subtree_usage* returns their
    current use. With *scaled*, a static quota counts as scaled down to the pool, otherwise as configured. Return the
    limit, and the group that lowered it last, or None.
    """
    increase = limit - usage
    limiting_group = None
    for above in group.up():
        if above.accept_surplus:
            continue
        cap = above.config_quota if above.static and not scaled else above.subtree_quota
        available = max(0.0, cap - subtree_usage(above))
        if available < increase:
            increase, limiting_group = available, above
    return increase + usage, limiting_group


def rounding(weight: float) -> float:
    """Return by how much a match of *weight* may exceed a quota: a fraction of a slot is rounded to the nearest one."""
    return min(0.5, weight / 2)


class Cap(Struct, frozen=True):
    """The most that the matches of a group may use.

    Args:
        group: whose quota it is.
        quota: in slot weight.
        used: returns the current use that counts.
        holders: the numbers of the groups whose use counts, in the order of the tree.
    """

    group: str
    quota: float
    used: Callable[[], float]
    holders: frozenset[int]

    def permits(self, weight: float, matched: float, freed: Freed, tolerance: float) -> bool:
        """Return whether a match of *weight* may be made; arguments as in `Caps.refusing_group`."""
        freed_weight = sum(slot_weight for holder, slot_weight in freed if holder in self.holders)
        return self.used() + matched - freed_weight + weight <= self.quota + rounding(weight) + tolerance


class Caps:
    """All caps on the matches of one group's turn: a match must respect each, within *tolerance* (slot weight)."""

    def __init__(self, caps: Sequence[Cap], tolerance: float) -> None:
        self._caps = caps
        self._tolerance = tolerance

    def refusing_group(self, weight: float, matched: float = 0.0, freed: Freed = ()) -> str | None:
        """Return the first group whose cap forbids a match of *weight*, None if no cap does.

        *matched* is the weight matched since use was counted, without preemption. *freed* is what the match preempts.
        """
        refusing_groups = (cap.group for cap in self._caps if not cap.permits(weight, matched, freed, self._tolerance))
        return next(refusing_groups, None)


def hard_caps(group: QuotaGroup, *, strict: bool) -> list[QuotaGroup]:
    """Return the groups, among *group* and those above it, that accept no surplus: their quota caps their subtree.

    Unless *strict*, the groups above are not considered.
    """
    return [capped for capped in (group.up() if strict else [group]) if not capped.accept_surplus]
