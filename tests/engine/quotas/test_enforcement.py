"""A group that takes no surplus is a hard cap for all below it (reference 4.6)."""

from tests.engine.quotas.groups import both_rules, groups, hold, rules_of, used

from fairq.engine.quotas.assignment import assign_quotas
from fairq.engine.quotas.enforcement import enforce_caps
from fairq.engine.quotas.tree import build_tree

PHYSICS = {"p": 20, "p.hep": 15, "p.lep": 5, "c": 10}


def test_no_more_than_twenty_for_physics():
    """hep may take surplus and would have 40; the 20 of physics, which may not, are the limit."""
    tree = build_tree(groups(PHYSICS, surplus=["p.hep", "p.lep"]))
    assign_quotas(tree, 30, oversubscription=True)
    hep, physics = tree.find("p.hep"), tree.find("p")
    assert hep is not None

    assert enforce_caps(hep, 40, 0, lambda _: 0, scaled=False) == (20, physics)
    assert enforce_caps(hep, 40, 6, lambda _: 14, scaled=False) == (12, physics)
    assert enforce_caps(hep, 10, 0, lambda _: 0, scaled=False) == (10, None)


def test_use_beyond_the_cap_leaves_what_is_in_use():
    """A group above a cap that has shrunk gets nothing more, and nothing is taken from it here."""
    tree = build_tree(groups(PHYSICS, surplus=["p.hep"]))
    assign_quotas(tree, 30, oversubscription=False)
    hep = tree.find("p.hep")
    assert hep is not None

    assert enforce_caps(hep, 30, 18, lambda _: 25, scaled=False)[0] == 18


def test_a_dynamic_cap_is_the_quota_of_the_subtree():
    """A fraction has no number of its own to cap with."""
    tree = build_tree(groups({"p": "50%", "p.hep": "50%"}, surplus=["p.hep"]))
    assign_quotas(tree, 30, oversubscription=False)
    hep = tree.find("p.hep")
    assert hep is not None

    assert enforce_caps(hep, 30, 0, lambda _: 4, scaled=False)[0] == 11


@both_rules
def test_vector_9(rules):
    """hep wants 60, c 3, <none> 9 of 30; p takes no surplus, hep and lep do: hep 20, c 3, <none> 7."""
    policy = rules_of(PHYSICS, rules, surplus=["p.hep", "p.lep"])
    decision = hold(policy, 30, {"p.hep.u@d": 60, "c.u@d": 3, "u@d": 9})

    assert used(decision) == {"<none>": 7, "c": 3, "p": 0, "p.hep": 20, "p.lep": 0}


@both_rules
def test_without_strict_enforcement_only_the_arithmetic_binds(rules):
    """NEGOTIATOR_STRICT_ENFORCE_QUOTA = False: hep keeps what others have already, beyond the 20 of physics."""
    policy = rules_of(PHYSICS, rules, surplus=["p.hep", "p.lep"], strict=False, oversubscription=True)
    decision = hold(policy, 30, {"p.hep.u@d": 60})

    assert used(decision)["p.hep"] == 30
