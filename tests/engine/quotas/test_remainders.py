"""Without slot weights quotas come in whole slots; what is cut off is dealt out in turn (reference 4.5)."""

import pytest
from tests.engine.quotas.groups import Quota, hold, rules_of, shared_tree, used

from fairq.engine.quotas.remainders import deal_remainders

THIRDS: dict[str, Quota] = {"a": "50%", "b": "50%", "c": "50%"}


def dealt(
    quotas,
    size,
    wants,
    surplus=False,
    times=None,
    std_sort=False,
    **rules,
):
    """What each group is allocated in whole slots, and what is left over."""
    tree = shared_tree(quotas, size, wants, surplus)
    for group in tree.groups:
        group.round_robin_time = (times or {}).get(group.name, 0)
    left = deal_remainders(tree, std_sort, **rules)
    return {group.name: group.allocated for group in tree.groups}, left


@pytest.mark.parametrize("std_sort", [False, True])
def test_three_thirds_of_ten_slots(std_sort):
    """3.333 each: without surplus 3/3/3 and one slot idle; where all accept it, one has a fourth."""
    wants = {"a": 10, "b": 10, "c": 10}

    assert dealt(THIRDS, 10, wants, std_sort=std_sort) == (
        {"<none>": 0, "a": 3, "b": 3, "c": 3}, pytest.approx(1)
    )  # fmt: skip
    assert dealt(THIRDS, 10, wants, True, std_sort=std_sort)[0] == {"<none>": 0, "a": 4, "b": 3, "c": 3}


def test_no_slot_is_lost_to_rounding():
    """Three remainders of two thirds are two slots, and 29 % of 100 slots are 29; as computed, both are less."""
    thirds, parts = {"a": 10, "b": 10, "c": 10}, {"a": "29%", "b": "71%"}

    assert dealt(THIRDS, 11, thirds, True) == ({"<none>": 0, "a": 4, "b": 4, "c": 3}, 0)
    assert dealt(parts, 100, {"a": 90, "b": 90})[0] == {"<none>": 0, "a": 29, "b": 71}
    assert dealt(THIRDS, 11, thirds, True, as_computed=True)[0] == {"<none>": 0, "a": 4, "b": 3, "c": 3}
    assert dealt(parts, 100, {"a": 90, "b": 90}, as_computed=True)[0] == {"<none>": 0, "a": 28, "b": 71}


def test_two_odd_slots_go_to_two_groups():
    """Each of four has 2.5 of 10: nobody gets both slots while another group waits for one."""
    names = "abcd"
    allocations, left = dealt(dict.fromkeys(names, "25%"), 10, dict.fromkeys(names, 10), True)

    assert (allocations, left) == ({"<none>": 0, "a": 3, "b": 3, "c": 2, "d": 2}, 0)


def test_the_longest_without_comes_first():
    """b was dealt the odd slot at 100, a at 200: c, who never was, has it now; then b, then a."""
    wants = {"a": 10, "b": 10, "c": 10}

    assert dealt(THIRDS, 10, wants, True, {"a": 200, "b": 100})[0]["c"] == 4
    assert dealt(THIRDS, 10, wants, True, {"a": 200, "b": 100, "c": 300})[0]["b"] == 4


def test_the_larger_quota_comes_first_among_equals():
    """Of 7.5 and 2.5 the odd slot is the larger group's."""
    wants = {"small": 20, "large": 20}
    allocations, _ = dealt({"small": "25%", "large": "75%"}, 10, wants, True)

    assert allocations == {"<none>": 0, "small": 2, "large": 8}


def test_the_larger_demand_comes_first_among_equal_quotas():
    """Both have 2.5 of 5; the one that wants more has the odd slot."""
    allocations, _ = dealt({"a": "50%", "b": "50%"}, 5, {"a": 5, "b": 9}, True)

    assert allocations == {"<none>": 0, "a": 2, "b": 3}


def test_remainders_stay_below_a_parent_as_long_as_somebody_there_wants_them():
    """p has 5 of 10, its two children 2.5 each: one of them gets the odd slot, not the group beside p."""
    quotas: dict[str, Quota] = {"p": "50%", "p.x": "50%", "p.y": "50%", "q": "50%"}
    allocations, _ = dealt(quotas, 10, {"p.x": 9, "p.y": 9, "q": 9}, True)

    assert allocations == {"<none>": 0, "p": 0, "p.x": 3, "p.y": 2, "q": 5}


def test_everything_is_whole_and_no_more_than_wanted():
    """A demand that a rounded allocation meets gets nothing of the rest."""
    allocations, left = dealt(THIRDS, 10, {"a": 3, "b": 3, "c": 3}, True)

    assert (allocations, left) == ({"<none>": 0, "a": 3, "b": 3, "c": 3}, 0)


def test_the_odd_slot_rotates_between_cycles():
    """Whoever was dealt the remainder last time, or asked for nothing, comes last in the next cycle."""
    policy = rules_of(THIRDS, surplus=True)
    wants = {"a.x@d": 10, "b.x@d": 10, "c.x@d": 10}
    first = hold(policy, 10, wants, use_slot_weights=False)

    assert used(first) == {"<none>": 0, "a": 4, "b": 3, "c": 3}
    assert set(first.round_robin_times) == {"<none>", "a"}
