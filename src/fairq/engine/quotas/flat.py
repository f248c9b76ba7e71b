"""The old flat scheme: one level of groups, each with a maximum, and all other submitters last.

docs/htcondor.md 4.9; the manuals of HTCondor 6.8 and 7.x; matchmaker.cpp at 7.4, negotiationTime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.quotas.order import percent_of_quota_used, strict_priority_key
from fairq.engine.quotas.policy import GroupQuota
from fairq.engine.quotas.record import GroupTurn, SkipReason
from fairq.engine.quotas.remainders import settled
from fairq.engine.quotas.rounds import GroupEvent, GroupPie, GroupUse, PassedOver, PoolTerms, Rounding
from fairq.engine.quotas.tree import Problem, ProblemKind, QuotaGroup, Tree, build_tree

LONGEST_NAME = 40


def build_flat(configured: Iterable[GroupQuota]) -> Tree:
    """Return the groups as children of ``<none>``, none below them.

    Names are at most 40 characters long. A group without a quota, or with quota 0, is left out: its members negotiate
    with all other submitters.
    """
    usable, problems = [], []
    for group in configured:
        problem = None
        if "." in group.name:
            problem = ProblemKind.NESTED
        elif len(group.name) > LONGEST_NAME:
            problem = ProblemKind.LONG_NAME
        elif not (group.quota if group.quota is not None else group.quota_dynamic):
            problem = ProblemKind.NO_QUOTA
        if problem is None:
            usable.append(group)
        else:
            problems.append(Problem(group.name, problem, ignored=True))
    tree = build_tree(usable)
    tree.problems += problems
    for group_ in tree.groups[1:]:
        group_.accept_surplus = False
    return tree


def assign_flat(tree: Tree, total: float, as_computed: bool = False) -> None:
    """Set each group's quota in a pool of *total* slot weight.

    A static quota is used as configured, whatever the size of the pool; a fraction gives whole slots, *as_computed*
    or without errors of rounding. The rest of the pool is for all other submitters.
    """
    assigned = 0.0
    for group in tree.groups[1:]:
        quota = group.config_quota
        if not group.static:
            quota = float(int(settled(quota * total, as_computed)))
        group.quota = group.subtree_quota = quota
        assigned += quota
    tree.root.subtree_quota = total
    tree.root.quota = max(0.0, total - assigned)


class FlatTurns:
    """Negotiates with one group after the other, then with all other submitters, in one round."""

    rounds = 1

    def __init__(self, tree: Tree, terms: PoolTerms, use: GroupUse, strict_priority: bool = False) -> None:
        self._tree = tree
        self._terms = terms
        self._use = use
        self._strict_priority = strict_priority
        self.turns: list[GroupTurn] = []
        self.keys: dict[str, float] = {}

    def run(self) -> Iterator[GroupEvent]:
        """Yield every group's pie, then the pie of all other submitters over the remaining slots.

        Unsatisfied submitters of groups with autoregroup also take part in the last pie.
        """
        groups, root = self._tree.groups[1:], self._tree.root
        for group in groups:
            group.usage = self._use.used(group)
            group.allocated = group.quota
        root.usage = self._use.used(root)
        root.allocated = self._terms.total
        pies: list[GroupPie] = []
        for group in sorted(groups, key=self._sort_key):
            for event in self._turn(group):
                if isinstance(event, GroupPie):
                    pies.append(event)
                yield event
        yield Rounding(pies)
        self._record_turn(
            root, percent_of_quota_used(root.usage, root.quota), limit=self._terms.total, stopped_by=ROOT_GROUP
        )
        yield GroupPie(root, None, False, root)

    def _sort_key(self, group: QuotaGroup) -> tuple[float | str, ...]:
        """Return the sort key: the percentage used; with strict priority, quotas beyond the pool come first."""
        used = percent_of_quota_used(group.usage, group.quota)
        if not self._strict_priority:
            return (used,)
        return (*strict_priority_key(group, self._terms.total), used, -group.quota, group.name.lower())

    def _turn(self, group: QuotaGroup) -> Iterator[GroupPie | PassedOver]:
        key = percent_of_quota_used(group.usage, group.quota)
        if group.usage >= group.quota and not self._terms.consider_preemption:
            self._record_turn(group, key, skipped=SkipReason.FLAT_QUOTA_IN_USE)
            yield PassedOver(group, group)
        elif not self._use.has_submitters(group):
            self._record_turn(group, key, skipped=SkipReason.NO_SUBMITTERS)
        else:
            self._record_turn(group, key, limit=group.quota, stopped_by=group.name)
            yield GroupPie(group, group.quota, True, group)

    def _record_turn(
        self,
        group: QuotaGroup,
        key: float,
        limit: float | None = None,
        stopped_by: str | None = None,
        skipped: SkipReason | None = None,
    ) -> None:
        self.keys[group.name] = key
        self.turns.append(
            GroupTurn(
                1, 1, group.name, group.quota, group.allocated, group.usage, key, limit, limit, stopped_by, skipped
            )
        )
