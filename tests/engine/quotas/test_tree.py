"""The tree of groups is what is configured, whatever the order and case of its lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.quotas.groups import groups

from fairq.engine.quotas.policy import GroupQuota
from fairq.engine.quotas.tree import ProblemKind, SurplusPolicy, build_tree


def test_siblings_are_alphabetical_and_the_list_is_breadth_first():
    """<none> comes first, then the groups level by level, each in alphabetical order without regard to case."""
    tree = build_tree(groups({"b.y": 1, "b": 1, "A": 1, "b.X": 1, "a.z": 1}))

    assert [group.name for group in tree.groups] == ["<none>", "A", "b", "a.z", "b.X", "b.y"]
    assert len(tree) == 5


@given(st.permutations(["a", "a.b", "a.b.c", "d", "d.e", "a.f"]))
def test_the_order_of_configuration_lines_does_not_matter(names):
    """Parents may come after their children."""
    tree = build_tree(groups(dict.fromkeys(names, 1)))

    assert [group.name for group in tree.groups] == ["<none>", "a", "d", "a.b", "a.f", "d.e", "a.b.c"]
    assert not tree.problems


def test_a_group_is_found_in_any_case():
    """Group names are case-insensitive for negotiation; the spelling is the configured one."""
    tree = build_tree(groups({"Physics": 1, "physics.HEP": 1}))

    found = tree.find("PHYSICS.hep")
    assert found is not None
    assert found.name == "physics.HEP"
    assert [group.name for group in found.up()] == ["physics.HEP", "Physics", "<none>"]


@pytest.mark.parametrize(
    ("configured", "group", "kind"),
    [
        (["a.b"], "a.b", ProblemKind.ORPHAN),
        (["a", "a.b.c"], "a.b.c", ProblemKind.ORPHAN),
        (["a", "A"], "A", ProblemKind.DUPLICATE),
        (["a", "a.x", "A.X"], "A.X", ProblemKind.DUPLICATE),
        (["<none>"], "<none>", ProblemKind.RESERVED),
        ([""], "", ProblemKind.DUPLICATE),
    ],
)
def test_a_group_that_cannot_be_is_left_out_and_told(configured, group, kind):
    """Orphans, duplicates by case and the name <none> are problems, and the rest of the tree stands."""
    tree = build_tree([GroupQuota(name, 1.0) for name in configured])

    assert [(problem.group, problem.kind, problem.ignored) for problem in tree.problems] == [(group, kind, True)]
    assert len(tree) == len(configured) - 1


def test_a_group_without_a_quota_stays_with_a_quota_of_zero():
    """It is told, since it is rarely meant."""
    tree = build_tree(groups({"a": None}))

    assert [group.name for group in tree.groups] == ["<none>", "a"]
    assert tree.problems[0].kind is ProblemKind.NO_QUOTA
    assert (tree.groups[1].config_quota, tree.groups[1].static) == (0.0, False)


def test_static_wins_over_dynamic():
    """GROUP_QUOTA_a = 2 and GROUP_QUOTA_DYNAMIC_a = 0.9: the quota is 2 (reference 9, vector 10)."""
    group = build_tree([GroupQuota("a", 2.0, 0.9)]).groups[1]

    assert (group.config_quota, group.static) == (2.0, True)


def test_a_quota_of_zero_is_a_static_one():
    """A static quota of 0 is configured, and so wins over a fraction."""
    group = build_tree([GroupQuota("a", 0.0, 0.9)]).groups[1]

    assert (group.config_quota, group.static) == (0.0, True)


def test_the_root_accepts_surplus_and_regroups_if_any_group_does():
    """A second chance anywhere makes <none> the place of it; it shows `regroup` then."""
    without, with_it = build_tree(groups({"a": 1})), build_tree(groups({"a": 1, "a.b": 1}, regroup=["a.b"]))

    assert without.root.surplus_policy is SurplusPolicy.BY_QUOTA
    assert not without.regroups
    assert with_it.regroups
    assert with_it.root.surplus_policy is SurplusPolicy.REGROUP


def test_who_keeps_a_group_from_more_is_the_nearest_that_takes_no_surplus():
    """The group itself, or the parent that is a hard cap; with nobody in the way it is the group itself."""
    tree = build_tree(groups({"p": 1, "p.hep": 1, "c": 1}, surplus=["p.hep", "c"]))
    limiting_group = {group.name: group.limiting_group().name for group in tree.groups}

    assert limiting_group == {"<none>": "<none>", "p": "p", "p.hep": "p", "c": "c"}


def test_today_a_default_that_every_group_overrides_still_regroups():
    """<none> has the whole pool and is last, although no group has a second chance in it."""
    tree = build_tree(groups({"a": 4}), regroups=True)

    assert tree.regroups
    assert not tree.groups[1].autoregroup
