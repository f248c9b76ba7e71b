"""The tree of accounting groups (docs/htcondor.md 4.1; GroupEntry.cpp, hgq_construct_tree)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct, field

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.quotas.policy import GroupQuota


class SurplusPolicy(StrEnum):
    """How a group uses surplus, in the words of condor_userprio."""

    NO = "no"
    BY_QUOTA = "byquota"
    REGROUP = "regroup"


class QuotaGroup(Struct, eq=False):
    """One group: its configuration, its place in the tree, and its figures of the current cycle.

    All figures are in slot weight.

    Args:
        name: as configured; the root is called ``<none>``.
        config_quota: the quota configured, a fraction of the parent's unless *static*.
        accept_surplus, autoregroup: as configured; the root always accepts surplus.
        quota: quota of the group itself. *subtree_quota*: quota with all groups below.
        demand: demand of its own submitters. *usage*: their use at the start of the round.
        requested: demand that is not allocated yet. *allocated*: own quota and surplus allocated to it.
        subtree_requested: `requested` of the group and of the subgroups that accept surplus.
        round_robin_time: when it last got a remainder; the group that waited longest comes first.
        served: whether it got a remainder in the last round.
    """

    name: str
    config_quota: float = 0.0
    static: bool = False
    accept_surplus: bool = False
    autoregroup: bool = False
    parent: QuotaGroup | None = None
    children: list[QuotaGroup] = field(default_factory=list)
    quota: float = 0.0
    subtree_quota: float = 0.0
    demand: float = 0.0
    usage: float = 0.0
    requested: float = 0.0
    allocated: float = 0.0
    subtree_requested: float = 0.0
    round_robin_time: float = 0.0
    subtree_round_robin_time: float = 0.0
    served: bool = False

    @property
    def is_root(self) -> bool:
        """Whether this is ``<none>``, the group of submitters without another group."""
        return self.parent is None

    @property
    def has_quota(self) -> bool:
        """Whether a quota is configured for it."""
        return self.static or self.config_quota > 0

    @property
    def surplus_policy(self) -> SurplusPolicy:
        """The policy that condor_userprio shows; autoregroup comes before accepted surplus."""
        if self.autoregroup:
            return SurplusPolicy.REGROUP
        return SurplusPolicy.BY_QUOTA if self.accept_surplus else SurplusPolicy.NO

    def up(self) -> Iterator[QuotaGroup]:
        """Yield the group and those above it, the root last."""
        group: QuotaGroup | None = self
        while group is not None:
            yield group
            group = group.parent

    def limiting_group(self) -> QuotaGroup:
        """Return the group that limits this one: itself or the nearest group above, whichever accepts no surplus.

        If all accept surplus it is the group itself: then there is no more to allocate.
        """
        return next((group for group in self.up() if not group.accept_surplus), self)


class ProblemKind(StrEnum):
    """What is odd about a configured group."""

    ORPHAN = "orphan"
    DUPLICATE = "duplicate"
    RESERVED = "reserved"
    NO_QUOTA = "no quota"
    LONG_NAME = "long name"
    NESTED = "nested"


class Problem(Struct, frozen=True):
    """A problem of *group*; *ignored*: the group is left out. `fairq.steps.quotas.sentences` formats it."""

    group: str
    kind: ProblemKind
    ignored: bool


class Tree:
    """All groups: `root` is ``<none>``, `groups` lists them breadth first, the root first."""

    def __init__(self, root: QuotaGroup, problems: Iterable[Problem] = ()) -> None:
        self.root = root
        self.problems = list(problems)
        self.groups = [root]
        for group in self.groups:
            self.groups += group.children
        self._by_name = {group.name.lower(): group for group in self.groups}

    def __len__(self) -> int:
        """Return the number of groups besides ``<none>``."""
        return len(self.groups) - 1

    def find(self, name: str) -> QuotaGroup | None:
        """Return the group called *name* in any case."""
        return self._by_name.get(name.lower())

    @property
    def regroups(self) -> bool:
        """Whether any group's submitters get a second chance at the end."""
        return self.root.autoregroup


def build_tree(configured: Iterable[GroupQuota], *, regroups: bool = False) -> Tree:
    """Build the tree of the *configured* groups, in any order; *regroups*: as if a group had autoregroup.

    Siblings are in alphabetical order, ignoring case. A group whose parent is missing, that is
    configured twice or is called ``<none>`` is left out; one without a quota has a quota of 0.
    """
    root = QuotaGroup(ROOT_GROUP, accept_surplus=True)
    entries = {"": root}
    problems = []
    for group in sorted(configured, key=lambda group: group.name.lower()):
        name = group.name.lower()
        parent = entries.get(name.rpartition(".")[0])
        problem = _problem_kind(name, parent, entries)
        if problem is not None:
            problems.append(Problem(group.name, problem, ignored=True))
            continue
        assert parent is not None
        if group.quota is None and group.quota_dynamic is None:
            problems.append(Problem(group.name, ProblemKind.NO_QUOTA, ignored=False))
        entries[name] = _add_group(group, parent)
    root.autoregroup |= regroups
    return Tree(root, problems)


def _problem_kind(name: str, parent: QuotaGroup | None, entries: dict[str, QuotaGroup]) -> ProblemKind | None:
    if name == ROOT_GROUP:
        return ProblemKind.RESERVED
    if name in entries:
        return ProblemKind.DUPLICATE
    return ProblemKind.ORPHAN if parent is None else None


def _add_group(group: GroupQuota, parent: QuotaGroup) -> QuotaGroup:
    static = group.quota is not None
    entry = QuotaGroup(
        group.name,
        (group.quota if static else group.quota_dynamic) or 0.0,
        static,
        group.accept_surplus,
        group.autoregroup,
        parent,
    )
    parent.children.append(entry)
    for above in parent.up():
        if above.is_root:
            above.autoregroup |= group.autoregroup
    return entry
