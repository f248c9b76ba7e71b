"""The flat scheme of old: one level of groups, each with a maximum, and everybody else last.

docs/htcondor.md 4.9; the manuals of HTCondor 6.8 and 7.x; matchmaker.cpp at 7.4, negotiationTime.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.quotas.order import strict_place
from fairq.engine.quotas.policy import GroupQuota
from fairq.engine.quotas.record import GroupTurn
from fairq.engine.quotas.rounds import GroupNegotiator, PoolTerms
from fairq.engine.quotas.tree import Group, Problem, ProblemKind, Tree, build_tree

LONGEST_NAME = 40


def build_flat(configured: Iterable[GroupQuota]) -> Tree:
    """Return the groups as children of ``<none>``, none below them.

    Names are at most 40 characters long. A group without a quota, or of quota 0, is left out: its members
    negotiate with everybody else.
    """
    usable, problems = [], []
    for group in configured:
        kind = None
        if "." in group.name:
            kind = ProblemKind.NESTED
        elif len(group.name) > LONGEST_NAME:
            kind = ProblemKind.LONG_NAME
        elif not (group.quota if group.quota is not None else group.quota_dynamic):
            kind = ProblemKind.NO_QUOTA
        if kind is None:
            usable.append(group)
        else:
            problems.append(Problem(group.name, kind, ignored=True))
    tree = build_tree(usable)
    tree.problems += problems
    for entry in tree.groups[1:]:
        entry.accept_surplus = False
    return tree


def assign_flat(tree: Tree, total: float) -> None:
    """Set each group's quota in a pool of *total* slot weight.

    A static quota is what is configured, whatever there is; a fraction gives whole slots. What the quotas do
    not cover is left to everybody else.
    """
    covered = 0.0
    for group in tree.groups[1:]:
        quota = group.config_quota if group.static else float(int(group.config_quota * total))
        group.quota = group.subtree_quota = quota
        covered += quota
    tree.root.subtree_quota = total
    tree.root.quota = max(0.0, total - covered)


def percent_of_quota_used(group: Group) -> float:
    """How much of its quota a group uses, in per cent: who uses least negotiates first."""
    return 100.0 * group.usage / group.quota if group.quota > 0 else float("inf")


class FlatTurns:
    """Negotiates with one group after the other, then with everybody else; there is just one round."""

    rounds = 1

    def __init__(
        self, tree: Tree, terms: PoolTerms, negotiator: GroupNegotiator, strict_priority: bool = False
    ) -> None:
        self._tree = tree
        self._terms = terms
        self._negotiator = negotiator
        self._strict_priority = strict_priority
        self.turns: list[GroupTurn] = []
        self.keys: dict[str, float] = {}

    def run(self) -> None:
        """Deal every group's pie, then that of everybody else over whatever slots remain.

        The submitters of groups with autoregroup who are not satisfied yet take part in that last one, too.
        """
        groups, root = self._tree.groups[1:], self._tree.root
        for group in groups:
            group.usage = self._negotiator.used(group)
            group.allocated = group.quota
        root.usage = self._negotiator.used(root)
        root.allocated = self._terms.total
        for group in sorted(groups, key=self._place):
            self._turn(group)
        self._note(root, percent_of_quota_used(root), limit=self._terms.total, stopped_by=ROOT_GROUP)
        self._negotiator.deal(root, None, charged=False, limiting_group=root)

    def _place(self, group: Group) -> tuple[float | str, ...]:
        """Less is earlier: by use, and with strict priority quotas beyond the pool first, the larger one of equals."""
        if not self._strict_priority:
            return (percent_of_quota_used(group),)
        return (*strict_place(group, self._terms.total), percent_of_quota_used(group), -group.quota, group.name.lower())

    def _turn(self, group: Group) -> None:
        key = percent_of_quota_used(group)
        if group.usage >= group.quota and not self._terms.consider_preemption:
            self._negotiator.pass_over(group, group)
            self._note(group, key, skipped=f"skipping, at or over quota (usage={group.usage:g})")
        elif not self._negotiator.has_submitters(group):
            self._note(group, key, skipped=f"skipping, no submitters (usage={group.usage:g})")
        else:
            self._note(group, key, limit=group.quota, stopped_by=group.name)
            self._negotiator.deal(group, group.quota, charged=True, limiting_group=group)

    def _note(
        self,
        group: Group,
        key: float,
        limit: float | None = None,
        stopped_by: str | None = None,
        skipped: str | None = None,
    ) -> None:
        self.keys[group.name] = key
        self.turns.append(
            GroupTurn(
                1, 1, group.name, group.quota, group.allocated, group.usage, key, limit, limit, stopped_by, skipped
            )
        )
