"""Quotas follow from the configuration and the size of the pool (reference 4.3)."""

from tests.engine.quotas.groups import assigned

PHYSICS = {"physics": 20, "physics.hep": 15, "physics.lep": 5, "chemistry": 10}


def test_quotas_that_just_fit_stay_and_leave_nothing_to_the_parents():
    """30 slots: physics 20 = hep 15 + lep 5, chemistry 10; nothing is left for physics itself and <none>."""
    assert assigned(PHYSICS, 30) == {
        "<none>": (0, 30),
        "chemistry": (10, 10),
        "physics": (0, 20),
        "physics.hep": (15, 15),
        "physics.lep": (5, 5),
    }


def test_with_oversubscription_a_parent_keeps_its_whole_quota_too():
    """The quota of physics itself is 20, although hep and lep have 20 between them."""
    assert assigned(PHYSICS, 30, oversubscription=True)["physics"] == (20, 20)


def test_half_the_pool_scales_the_quotas_by_half():
    """A power failure leaves 15 slots: physics 10, of which hep has 7.5 and lep 2.5, and chemistry 5."""
    assert assigned(PHYSICS, 15) == {
        "<none>": (0, 15),
        "chemistry": (5, 5),
        "physics": (0, 10),
        "physics.hep": (7.5, 7.5),
        "physics.lep": (2.5, 2.5),
    }


def test_with_oversubscription_nothing_is_scaled():
    """On the same 15 slots all quotas are as configured."""
    assert assigned(PHYSICS, 15, oversubscription=True) == {
        "<none>": (0, 15),
        "chemistry": (10, 10),
        "physics": (20, 20),
        "physics.hep": (15, 15),
        "physics.lep": (5, 5),
    }


def test_a_larger_pool_does_not_scale_quotas_up():
    """60 slots: physics is still limited to 20 and chemistry to 10; <none> has the other 30."""
    quotas = assigned({"physics": 20, "chemistry": 10}, 60)

    assert quotas == {"<none>": (30, 60), "chemistry": (10, 10), "physics": (20, 20)}


def test_static_quotas_come_before_dynamic_ones():
    """100 slots: 40 static, then half of the other 60; its children have 75% and 25% of those 30."""
    quotas = assigned({"s": 40, "d": "50%", "d.k": "75%", "d.l": "25%"}, 100)

    assert quotas == {"<none>": (30, 100), "s": (40, 40), "d": (0, 30), "d.k": (22.5, 22.5), "d.l": (7.5, 7.5)}


def test_fractions_above_one_are_scaled_in_either_mode():
    """Three groups of 0.5 have a third each."""
    expected = {"<none>": (0, 10), "a": (3.333, 3.333), "b": (3.333, 3.333), "c": (3.333, 3.333)}
    dynamic = {"a": "50%", "b": "50%", "c": "50%"}

    assert assigned(dynamic, 10) == expected
    assert assigned(dynamic, 10, oversubscription=True) == expected


def test_fractions_below_one_leave_the_rest_to_the_parent():
    """0.33 and 0.66 of 30 are 9.9 and 19.8; 0.3 is left for <none>."""
    quotas = assigned({"chemistry": "33%", "physics": "66%"}, 30)

    assert quotas == {"<none>": (0.3, 30), "chemistry": (9.9, 9.9), "physics": (19.8, 19.8)}


def test_static_and_dynamic_children_of_one_parent():
    """Of a parent's 20, a static child takes 5 and a dynamic one half of the other 15."""
    quotas = assigned({"p": 20, "p.s": 5, "p.d": "50%"}, 30)

    assert quotas == {"<none>": (10, 30), "p": (7.5, 20), "p.d": (7.5, 7.5), "p.s": (5, 5)}


def test_where_a_parent_has_nothing_its_children_have_nothing():
    """A parent of quota 0, or a pool without slots."""
    assert assigned({"p": 0, "p.a": "50%", "p.b": 5}, 30) == {
        "<none>": (30, 30), "p": (0, 0), "p.a": (0, 0), "p.b": (0, 0)
    }  # fmt: skip
    assert set(assigned(PHYSICS, 0).values()) == {(0, 0)}


def test_a_tree_of_thousands_of_levels_is_no_trouble():
    """No depth of the tree ends in an error."""
    names = [".".join(["g"] * depth) for depth in range(1, 1500)]

    assert assigned(dict.fromkeys(names, "100%"), 8)[names[-1]] == (8, 8)
