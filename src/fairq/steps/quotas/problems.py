"""Problems of quotas in a valid configuration of groups.

Every function finds one kind of problem, in the order of the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.quotas.assignment import quota_tree
from fairq.engine.quotas.enforcement import rounding
from fairq.engine.quotas.remainders import settled
from fairq.engine.quotas.tree import ProblemKind, QuotaGroup, Tree
from fairq.settings.keys import GROUP_KEYS, SINGLE
from fairq.steps.cycle.quota_policy import tree_policy
from fairq.steps.quotas.sentences import problem_words

if TYPE_CHECKING:
    from fairq.settings import GroupSettings, Settings

_SLACK = 1e-9
"""Tolerated rounding error, as a fraction of a sum."""


class Oddity(Struct, frozen=True):
    """One problem: the *group*, the problem, and the cure.

    *kind* is a short name that never changes, for scripts.
    """

    group: str
    kind: str
    problem: str
    cure: str


class Configured(Struct, frozen=True):
    """A configuration of groups, as input of the checks.

    Args:
        settings: all settings. *tree*: the groups, with their quotas in a pool of *total* slot weight.
        total: None if the size of the pool is unknown; the tree's quotas are then not valid.
        least: the smallest weight that a match may have in it.
        is_htcondor: the settings are HTCondor macros.
    """

    settings: Settings
    tree: Tree
    total: float | None
    least: float
    is_htcondor: bool

    @classmethod
    def of(cls, settings: Settings, total: float | None, least: float, *, is_htcondor: bool) -> Configured:
        """Return the groups of *settings*."""
        return cls(settings, quota_tree(tree_policy(settings), total or 0.0), total, least, is_htcondor)

    @property
    def is_flat(self) -> bool:
        """Whether the old flat scheme is in use."""
        return bool(self.settings["negotiator.quota_model"] == "flat")

    @property
    def oversubscribed(self) -> bool:
        """Whether static quotas may exceed the pool."""
        return bool(self.settings["negotiator.negotiator_allow_quota_oversubscription"])

    def word(self, name: str) -> str:
        """Return the name of the setting *name* of the table ``negotiator`` as the user knows it."""
        key = SINGLE[f"negotiator.{name}"]
        return key.macros[0] if self.is_htcondor and key.macros else name

    def word_of(self, group: str, name: str) -> str:
        """Return the name of the key *name* of *group* as the user knows it."""
        if self.is_htcondor:
            return GROUP_KEYS[name].macros[0].replace("<NAME>", group)
        return name

    def available(self, group: QuotaGroup) -> float | None:
        """Return the maximum sum of the children's quotas of *group*, None if it depends on the unknown pool."""
        if group.is_root:
            return self.total
        if group.static and not self.is_flat:
            return group.config_quota
        return None if self.total is None else group.subtree_quota


def quota_oddities(configured: Configured) -> Iterator[Oddity]:
    """Yield all problems of the quotas, by group in tree order."""
    for find in (_left_out, _both_kinds, _sums, _double_counting, _regroup_and_surplus, _truncated, _never_starts):
        yield from find(configured)


_CURES = {
    ProblemKind.NO_QUOTA: ("no quota", "give it a quota, or remove the group"),
    ProblemKind.LONG_NAME: ("long name", "shorten its name"),
    ProblemKind.NESTED: ("nested", "remove it, or use the hierarchical model"),
}


def _left_out(configured: Configured) -> Iterator[Oddity]:
    """Yield the groups that the tree cannot use as configured."""
    for problem in configured.tree.problems:
        if problem.kind not in _CURES:
            continue  # the settings reject it
        kind, cure = _CURES[problem.kind]
        text = problem_words(problem)
        if problem.kind is ProblemKind.NO_QUOTA and configured.is_flat:
            text = "it has no quota; the group is ignored, and its users negotiate outside of groups"
        elif problem.kind is ProblemKind.NO_QUOTA:
            group = configured.tree.find(problem.group)
            consequence = ", and its subgroups get nothing" if group and group.children else ""
            text = f"it has no quota, which counts as 0{consequence}"
        yield Oddity(problem.group, kind, text, cure)


def _both_kinds(configured: Configured) -> Iterator[Oddity]:
    """Yield the groups with both a static and a dynamic quota, and those that accept surplus in the flat model."""
    for group in configured.settings.groups.values():
        if group.quota is not None and group.quota_dynamic is not None:
            static, dynamic = (configured.word_of(group.name, name) for name in ("quota", "quota_dynamic"))
            problem = f"it has a static quota, {group.quota:g}, and a dynamic one; the static one is used"
            yield Oddity(group.name, "two quotas", problem, f"remove {dynamic} or {static}")
        if configured.is_flat and group.accept_surplus:
            name = configured.word_of(group.name, "accept_surplus")
            problem = "it accepts surplus, which the flat model does not support"
            yield Oddity(group.name, "flat surplus", problem, f"remove {name}, or use the hierarchical model")


def _sums(configured: Configured) -> Iterator[Oddity]:
    """Yield the groups whose children's quotas add up to more than the group's."""
    for group in configured.tree.groups:
        statics = [child for child in group.children if child.static]
        dynamics = [child for child in group.children if not child.static and child.config_quota > 0]
        static = sum(child.config_quota for child in statics)
        dynamic = sum(child.config_quota for child in dynamics)
        available = configured.available(group)
        if available is not None and static > available * (1 + _SLACK):
            yield _above(configured, group, statics, static, available)
        if available and dynamic > 0 and static >= available * (1 - _SLACK) and not configured.is_flat:
            problem = f"the static quotas of {_names(statics)} take all {_number(available)} of it: "
            problem += f"the dynamic quotas of {_names(dynamics)} become 0"
            yield Oddity(group.name, "nothing left", problem, "lower the static quotas or make them dynamic")
        if dynamic > 1 + _SLACK:
            problem = f"the dynamic quotas of {_names(dynamics)} sum to {_number(dynamic)}, above 1"
            effect = "" if configured.is_flat else ", and are scaled down to 1"
            yield Oddity(group.name, "fractions above 1", problem + effect, "lower them to a sum of 1")


def _above(
    configured: Configured, group: QuotaGroup, statics: Sequence[QuotaGroup], static: float, available: float
) -> Oddity:
    owner = "the pool has" if group.is_root else "it has"
    problem = f"the static quotas of {_names(statics)} sum to {_number(static)}, {owner} {_number(available)}"
    if configured.oversubscribed or configured.is_flat:
        problem += ": the groups that negotiate first take all"
    else:
        problem += f": they are scaled down to {available / static:.4g} of their values"
    excess = _number(static - available)
    if group.is_root:
        return Oddity(group.name, "above the pool", problem, f"lower them by {excess} in total, or make them dynamic")
    setting = configured.word_of(group.name, "quota" if group.static else "quota_dynamic")
    return Oddity(group.name, "children above parent", problem, f"lower them by {excess} in total, or raise {setting}")


def _double_counting(configured: Configured) -> Iterator[Oddity]:
    """Yield nested groups that offer the same quota twice as surplus (docs/htcondor.md 4.4)."""
    accepting = [group for group in configured.tree.groups[1:] if group.accept_surplus]
    if configured.is_flat or not configured.oversubscribed or not accepting:
        return
    for group in configured.tree.groups[1:]:
        nested = [child for child in group.children if child.config_quota > 0]
        if nested and group.config_quota > 0:
            problem = f"with oversubscription, and surplus going to {_names(accepting)}, "
            problem += f"what {_names([group, *nested])} leave unused is offered twice"
            name = configured.word("negotiator_allow_quota_oversubscription")
            yield Oddity(group.name, "surplus counted twice", problem, f"set {name} = false, or accept no surplus")


def _regroup_and_surplus(configured: Configured) -> Iterator[Oddity]:
    """Yield autoregroup with surplus: ``<none>`` then has the pool as quota for surplus (docs/htcondor.md 4.8)."""
    if configured.is_flat or configured.settings["negotiator.regroup_keeps_quota"]:
        return
    regrouping = [group for group in configured.tree.groups[1:] if group.autoregroup]
    accepting = [group for group in configured.tree.groups[1:] if group.accept_surplus]
    if regrouping and accepting:
        problem = f"with autoregroup of {_names(regrouping)}, and surplus going to {_names(accepting)}, "
        problem += "more than the pool is allocated from the second round on"
        yield Oddity(ROOT_GROUP, "regroup and surplus", problem, "use one of them, or set regroup_keeps_quota = true")


def _truncated(configured: Configured) -> Iterator[Oddity]:
    """Yield quotas that lose a part because limits are truncated to whole numbers (docs/htcondor.md 4.5 and 4.7)."""
    integer_limits = configured.settings["negotiator.integer_group_limits"] and not configured.is_flat
    unweighted = not configured.settings["negotiator.negotiator_use_slot_weights"] and not configured.is_flat
    if not (integer_limits or unweighted or configured.is_flat):
        return
    as_computed = integer_limits or configured.settings["negotiator.remainders_as_computed"]
    for group in configured.tree.groups[1:]:
        quota = _own_quota(configured, group)
        if quota is None or settled(quota, as_computed).is_integer():
            continue
        # Groups that accept surplus get whole slots in turn; they lose no share permanently.
        if unweighted and group.accept_surplus and not integer_limits:
            continue
        problem = f"its quota of {_number(quota)} counts as {int(quota)}"
        if quota < 1:
            problem += ", so the group never gets a slot for it"
        setting = configured.word_of(group.name, "quota" if group.static else "quota_dynamic")
        cure = f"set {setting} so that it makes a whole number"
        yield Oddity(group.name, "cut", problem, f"{cure}, or integer_group_limits = false" if integer_limits else cure)


NEVER_STARTS = "below half a slot"


def _never_starts(configured: Configured) -> Iterator[Oddity]:
    """Yield hard caps that are too small for any slot, rounded to the nearest whole one (docs/htcondor.md 4.6)."""
    if not configured.settings["negotiator.hard_group_caps"]:
        return
    smallest = configured.least
    for group in configured.tree.groups[1:]:
        is_known = configured.total is not None or (group.static and group.parent is configured.tree.root)
        quota = group.config_quota if configured.total is None else group.subtree_quota
        if group.accept_surplus or not is_known or not 0 < quota < smallest - rounding(smallest):
            continue
        problem = f"its quota of {_number(quota)} is too small for a slot of weight {_number(smallest)}, the smallest: "
        problem += "its jobs never start"
        setting, surplus = (
            configured.word_of(group.name, name)
            for name in ("quota" if group.static else "quota_dynamic", "accept_surplus")
        )
        cure = f"raise {setting} so that it makes {_number(smallest - rounding(smallest))} or more, or set {surplus}"
        yield Oddity(group.name, NEVER_STARTS, problem, cure)


def _own_quota(configured: Configured, group: QuotaGroup) -> float | None:
    """Return the quota of the group itself before truncation, None if it depends on the unknown pool."""
    if configured.is_flat:
        is_fraction = configured.total is not None and not group.static
        return group.config_quota * (configured.total or 0.0) if is_fraction else None
    if configured.total is None:
        return group.config_quota if group.static and not group.children else None
    return group.quota


def _names(groups: Iterable[QuotaGroup | GroupSettings]) -> str:
    """Return the names of *groups* for a sentence, only the first few if there are many."""
    names = [group.name for group in groups]
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _number(value: float) -> str:
    """Return *value* with few digits; only whole numbers are shown as such."""
    text = f"{value:.6g}"
    return repr(value) if float(text).is_integer() and not value.is_integer() else text
