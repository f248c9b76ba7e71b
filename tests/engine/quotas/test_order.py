"""The group that uses the smallest part of its quota negotiates first, unless GROUP_SORT_EXPR says otherwise."""

import math

import pytest
from tests.engine.quotas.groups import STARVATION, both_rules, groups, hold, order, rules_of, used

from fairq.engine.classad import parse
from fairq.engine.quotas.order import negotiation_order, sort_keys
from fairq.engine.quotas.tree import build_tree


def tree_in_use(**in_use):
    """Groups by name, with their quota and what they use."""
    tree = build_tree(groups({name: quota for name, (quota, _) in in_use.items()}))
    for group in tree.groups[1:]:
        group.quota, group.usage = in_use[group.name]
    return tree


def ordered(tree, expression=STARVATION, std_sort=False):
    """The groups' names in the order they negotiate."""
    keys = sort_keys(tree, parse(expression), now=0)
    return [group.name for group in negotiation_order(tree, keys, std_sort)]


def test_the_most_starving_group_goes_first():
    """The manuals: physics uses 15 of 20 (75%), chemistry 5 of 10 (50%): chemistry negotiates first."""
    tree = tree_in_use(chemistry=(10, 5), physics=(20, 15))

    assert sort_keys(tree, parse(STARVATION), now=0) == [pytest.approx(3.4e38), 0.5, 0.75]
    assert ordered(tree) == ["chemistry", "physics", "<none>"]


def test_groups_without_quota_come_after_all_that_have_one():
    """A quota of 0 comes last but for <none>."""
    assert ordered(tree_in_use(a=(0, 0), b=(5, 50))) == ["b", "a", "<none>"]


@pytest.mark.parametrize(
    "expression", ["GroupQuotaInUse - GroupQuotaAllocated", "GroupResourcesInUse - GroupResourcesAllocated"]
)
def test_both_spellings_of_the_attributes_are_known(expression):
    """The manual of HTCondor 8 and today's negotiator call them differently."""
    tree = tree_in_use(a=(10, 1), b=(10, 2))
    tree.groups[1].allocated, tree.groups[2].allocated = 2, 9

    assert ordered(tree, expression) == ["b", "a", "<none>"]


def test_an_expression_of_one_s_own():
    """By name, <none> may even come first."""
    tree = tree_in_use(a=(10, 1), b=(10, 2))

    assert ordered(tree, 'ifThenElse(AccountingGroup == "b", 0, 1)') == ["b", "<none>", "a"]
    assert ordered(tree, "-GroupQuota") == ["a", "b", "<none>"]


@pytest.mark.parametrize("expression", ['"text"', "undefined", "error", "0.0 / 0.0", "NoSuchAttribute"])
def test_what_is_no_number_sorts_last(expression):
    """An expression that gives no number for a group puts it after those with one."""
    tree = tree_in_use(a=(10, 1), b=(10, 2))
    text = f'ifThenElse(AccountingGroup == "a", {expression}, 1)'

    assert ordered(tree, text)[-1] == "a"


def test_no_key_passes_one_that_is_not_a_number_in_the_order_of_std_sort():
    """0.0/0.0 is neither less nor more than a key: b and c, which use less, stay behind a; d is before all so far."""
    tree = tree_in_use(a=(0, 0), b=(10, 2), c=(10, 1), d=(-10, 30))
    text = 'ifThenElse(AccountingGroup == "<none>", -1, GroupResourcesInUse / GroupQuota)'

    assert ordered(tree, text, std_sort=True) == ["d", "<none>", "a", "c", "b"]
    assert ordered(tree, text) == ["d", "<none>", "c", "b", "a"]


@pytest.mark.parametrize("std_sort", [False, True])
def test_what_is_not_a_number_sorts_last_by_strict_priority(std_sort):
    tree = tree_in_use(a=(10, 2), b=(10, 2), c=(10, 2))
    keys = [0.0, 2.0, math.nan, 1.0]

    assert [group.name for group in negotiation_order(tree, keys, std_sort, pool=100)] == ["<none>", "c", "a", "b"]


def test_with_autoregroup_none_is_last_whatever_is_not_a_number():
    """Today's comparison looks at <none> first."""
    tree = build_tree(groups({"a": 0, "b": 10, "c": 10}, regroup=True))
    for group, quota, usage in zip(tree.groups[1:], (0, 10, 10), (0, 2, 1), strict=True):
        group.quota, group.usage = quota, usage

    assert ordered(tree, "GroupResourcesInUse / GroupQuota", std_sort=True) == ["a", "c", "b", "<none>"]


@pytest.mark.parametrize("std_sort", [False, True])
def test_few_equals_stay_in_the_order_of_the_tree(std_sort):
    """Up to 16 groups, <none> included, neither sort moves equals."""
    tree = tree_in_use(**{f"g{number:02}": (10.0, 0.0) for number in range(15)})

    assert ordered(tree, std_sort=std_sort) == [*(f"g{number:02}" for number in range(15)), "<none>"]


def test_more_equals_go_as_std_sort_leaves_them():
    """Beyond 16 groups the sort of today's negotiator shuffles equals; fairq's own order does not."""
    tree = tree_in_use(**{f"g{number:02}": (10.0, 0.0) for number in range(30)})
    names = [f"g{number:02}" for number in range(30)]

    assert ordered(tree) == [*names, "<none>"]
    shuffled = ordered(tree, std_sort=True)
    assert shuffled[-1] == "<none>"
    assert shuffled[:-1] != names
    assert sorted(shuffled[:-1]) == names


def test_with_autoregroup_none_is_last_whatever_the_expression_says():
    """The second chance comes after everybody's own turn."""
    tree = build_tree(groups({"a": 10, "b": 10}, regroup=["a"]))

    for std_sort in (False, True):
        assert ordered(tree, 'ifThenElse(AccountingGroup == "<none>", -1, 1)', std_sort) == ["a", "b", "<none>"]


@both_rules
def test_starvation_order_in_a_cycle(rules):
    """15 of physics' 20 and 5 of chemistry's 10 in use, 10 slots free: chemistry is asked first."""
    policy = rules_of({"physics": 20, "chemistry": 10}, rules)
    in_use = {"physics.old@d": 15, "chemistry.old@d": 5}
    decision = hold(policy, 30, {"physics.u@d": 30, "chemistry.u@d": 30}, in_use)

    assert order(decision) == ["chemistry", "physics", "<none>"]
    assert [match.group for match in decision.matches] == ["chemistry"] * 5 + ["physics"] * 5


@both_rules
def test_strict_priority(rules):
    """The manual: a quota of a million is never met, so physics comes first as long as it has jobs.

    Chemistry's quota is larger than the pool, too, but smaller than that of physics.
    """
    quotas = {"physics": 1_000_000, "chemistry": 1_000}
    policy = rules_of(quotas, rules, oversubscription=True)

    in_use = {"physics.old@d": 10, "chemistry.old@d": 5}
    many = hold(policy, 30, {"physics.u@d": 30, "chemistry.u@d": 30, "u@d": 30}, in_use)
    assert order(many) == ["physics", "chemistry", "<none>"]
    assert used(many) == {"<none>": 0, "chemistry": 5, "physics": 25}

    few = hold(policy, 30, {"physics.u@d": 5, "chemistry.u@d": 30, "u@d": 30}, in_use)
    assert used(few) == {"<none>": 0, "chemistry": 15, "physics": 15}
