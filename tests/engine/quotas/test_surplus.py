"""Unused quota goes to whoever accepts it, bottom-up, by quota and then evenly (reference 4.4)."""

import pytest
from tests.engine.quotas.groups import allocated, shared_tree

PHYSICS = {"p": 20, "p.hep": 15, "p.lep": 5, "c": 10}


def test_nobody_gets_more_than_asked_for_or_than_the_quota():
    """Without surplus: what a group leaves, nobody else gets."""
    allocations = allocated({"a": 10, "b": 10}, 30, {"a": 4, "b": 50, "<none>": 3})

    assert allocations == {"a": 4, "b": 10, "<none>": 3}


def test_a_group_of_quota_zero_gets_what_quotas_leave():
    """100 slots, p=10 wants 20, q=30 wants 20, z=0 wants 100: z has the 60 that nobody with a quota wants."""
    allocations = allocated({"p": 10, "q": 30, "z": 0}, 100, {"p": 20, "q": 20, "z": 100}, surplus=True)

    assert allocations == {"p": 20, "q": 20, "z": 60, "<none>": 0}


def test_surplus_is_split_by_quota_among_those_who_want_more():
    """s=40 and d=30 want 100 each and d.l leaves 2.5: 57.143 and 37.857, d.l 5."""
    quotas = {"s": 40, "d": "50%", "d.k": "75%", "d.l": "25%"}
    allocations = allocated(quotas, 100, {"s": 100, "d.k": 100, "d.l": 5}, surplus=True)

    assert allocations == {"<none>": 0, "s": 57.143, "d": 0, "d.k": 37.857, "d.l": 5}


def test_surplus_goes_to_the_sibling_first():
    """What lep leaves is hep's before it is chemistry's."""
    allocations = allocated(PHYSICS, 30, {"p.hep": 18, "p.lep": 2, "c": 30}, surplus=True)

    assert (allocations["p.hep"], allocations["p.lep"], allocations["c"]) == (18, 2, 10)


@pytest.mark.parametrize(
    ("surplus", "hep", "lep", "chem"),
    [
        ([], 15, 3, 3),
        (["p"], 15, 3, 3),
        (["p.hep"], 17, 3, 3),
        (["p.lep"], 15, 3, 3),
        (["p.hep", "p.lep"], 17, 3, 3),
        (["p", "p.hep"], 24, 3, 3),
        (["p", "p.lep"], 15, 3, 3),
        (["p", "p.hep", "p.lep"], 24, 3, 3),
        (["p", "p.hep", "p.lep", "c"], 24, 3, 3),
    ],
)
def test_every_combination_of_surplus_for_hep_and_lep(surplus, hep, lep, chem):
    """hep wants 60, lep 3, chemistry 3 of 30: only hep's own consent and its parent's let it grow.

    Where hep alone accepts, it gets what lep leaves, and physics as a whole stays at 20; where physics accepts
    too, hep gets what chemistry leaves.
    """
    allocations = allocated(PHYSICS, 30, {"p.hep": 60, "p.lep": 3, "c": 3}, surplus=surplus)

    assert (allocations["p.hep"], allocations["p.lep"], allocations["c"]) == (hep, lep, chem)


def test_a_parent_that_takes_no_surplus_keeps_it_from_all_below():
    """The manual: the sum of hep and lep cannot exceed 20, for that is their parent's quota."""
    allocations = allocated(PHYSICS, 30, {"p.hep": 60, "p.lep": 60, "c": 0}, surplus=["p.hep", "p.lep"])

    assert (allocations["p.hep"], allocations["p.lep"]) == (15, 5)


def test_none_takes_part_with_what_quotas_leave_it():
    """20 slots, a=10 wants 12 and accepts, b=5 wants nothing: <none> has 5 of its own and shares b's with a."""
    allocations = allocated({"a": 10, "b": 5}, 20, {"a": 20, "<none>": 20}, surplus=["a"])

    assert allocations == {"a": 13.333, "b": 0, "<none>": 6.667}


def test_oversubscribed_parents_count_their_quota_twice():
    """With oversubscription and surplus the allocations sum to 50 on a pool of 30; without, to 30.

    physics gives away its own unused 20, although hep and lep have these 20 already.
    """
    wants = {"p.hep": 60, "p.lep": 60, "c": 3, "<none>": 9}
    twice = allocated(PHYSICS, 30, wants, surplus=True, oversubscription=True)
    once = allocated(PHYSICS, 30, wants, surplus=True)

    assert twice == {"<none>": 0, "c": 3, "p": 0, "p.hep": 35.25, "p.lep": 11.75}
    assert once == {"<none>": 0, "c": 3, "p": 0, "p.hep": 20.25, "p.lep": 6.75}


def test_what_stays_wanted_and_unused_is_known():
    """Demand that found no quota stays requested; quota that found no demand is left over."""
    tree = shared_tree({"a": 10, "b": 10}, 20, {"a": 15})

    assert {group.name: group.requested for group in tree.groups} == {"<none>": 0, "a": 5, "b": 0}
