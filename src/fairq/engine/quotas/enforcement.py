"""The hard caps of groups that accept no surplus (docs/htcondor.md 4.6; GroupEntry.cpp, strict_enforce_quota)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from fairq.engine.quotas.tree import QuotaGroup

Freed = Sequence[tuple[int, float]]
"""What a match preempts: the number of the holder's group, and the slot weight, of each slot."""


def enforce_caps(
    group: QuotaGroup, limit: float, usage: float, subtree_usage: Callable[[QuotaGroup], float], *, scaled: bool
) -> tuple[float, QuotaGroup | None]:
    """Lower *limit* so that no group above that accepts no surplus exceeds its quota.

    The increase above *usage* must fit into the rest of the quota of each of these groups; *subtree_usage* is their
    current use. With *scaled*, a static quota counts as scaled down to the pool, otherwise as configured. Return the
    limit, and the group that lowered it last, None if none did.
    """
    more = limit - usage
    limiting_group = None
    for above in group.up():
        if above.accept_surplus:
            continue
        cap = above.config_quota if above.static and not scaled else above.subtree_quota
        left = max(0.0, cap - subtree_usage(above))
        if left < more:
            more, limiting_group = left, above
    return more + usage, limiting_group


def rounding(weight: float) -> float:
    """Return how far a match of *weight* may pass a quota: a fraction of a slot is rounded to the nearest whole one."""
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

    def permits(self, weight: float, more: float, freed: Freed, tolerance: float) -> bool:
        """Whether a match of *weight* may be made after *more* was matched; see `Caps.stopping`."""
        given_back = sum(part for holder, part in freed if holder in self.holders)
        return self.used() + more - given_back + weight <= self.quota + rounding(weight) + tolerance


class Caps:
    """All caps on the matches of one group's turn: each match must keep to every one. *tolerance* is in slot weight."""

    def __init__(self, caps: Sequence[Cap], tolerance: float) -> None:
        self._caps = caps
        self._tolerance = tolerance

    def stopping(self, weight: float, more: float = 0.0, freed: Freed = ()) -> str | None:
        """The group whose cap does not permit a match of *weight*; None: there is none.

        *more* was matched since use was counted, without preemption.
        """
        stopping = (cap.group for cap in self._caps if not cap.permits(weight, more, freed, self._tolerance))
        return next(stopping, None)


def hard_caps(group: QuotaGroup, *, strict: bool) -> list[QuotaGroup]:
    """Return the groups whose quota caps the use of their subtree, among *group* and those above it.

    They accept no surplus. Unless *strict*, groups above do not count.
    """
    return [each for each in (group.up() if strict else [group]) if not each.accept_surplus]
