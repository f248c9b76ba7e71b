"""The flat scheme of the manuals 6.8 and 7 (reference 4.9): one level, a maximum for each, the rest last."""

from tests.engine.negotiation.pools import HTCONDOR, cycle, jobs, slots
from tests.engine.quotas.groups import Quota, groups, hold, order, rules_of, used

from fairq.engine.quotas.flat import assign_flat, build_flat
from fairq.engine.quotas.tree import ProblemKind
from fairq.steps.quotas.sentences import skip_words

EXAMPLE_1: dict[str, Quota] = {"group_physics": 20, "group_chemistry": 10}
"""Example 1 of the manual; chemistry has GROUP_AUTOREGROUP."""


def flat(quotas, **changes):
    """The flat model's rules."""
    return rules_of(quotas, model="flat", **changes)


def test_example_1_of_the_manual():
    """Physics never gets more than 20; chemistry can get more than ten if physics has only 15 jobs."""
    policy = flat(EXAMPLE_1, regroup=["group_chemistry"])

    full = hold(policy, 30, {"group_physics.newton@d": 50, "group_chemistry.curie@d": 50})
    assert used(full) == {"<none>": 0, "group_chemistry": 10, "group_physics": 20}

    short = hold(policy, 30, {"group_physics.newton@d": 15, "group_chemistry.curie@d": 50})
    assert used(short) == {"<none>": 0, "group_chemistry": 15, "group_physics": 15}

    alone = hold(policy, 30, {"group_physics.newton@d": 50})
    assert used(alone)["group_physics"] == 20


def test_the_group_with_the_smallest_percentage_goes_first():
    """The manual: physics uses 75% of its quota, chemistry 50%: chemistry first, independent users last."""
    in_use = {"group_physics.old@d": 15, "group_chemistry.old@d": 5}
    wants = {"group_physics.n@d": 30, "group_chemistry.c@d": 30, "u@d": 30}
    decision = hold(flat(EXAMPLE_1), 30, wants, in_use)

    assert order(decision) == ["group_chemistry", "group_physics", "<none>"]
    assert [round(turn.sort_key) for turn in decision.groups[:2]] == [50, 75]


def test_slots_that_quotas_do_not_cover_fall_to_none():
    """40 slots: the ten beyond the quotas are the independent users', and what groups leave is theirs too."""
    wants = {"group_physics.n@d": 50, "group_chemistry.c@d": 4, "u@d": 50}

    assert used(hold(flat(EXAMPLE_1), 40, wants)) == {"<none>": 16, "group_chemistry": 4, "group_physics": 20}


def test_who_is_in_no_group_negotiates_last_by_priority():
    """The classic user fair share of what is left, 46 slots, applies to them: b two thirds, a one."""
    wants = {"group_physics.n@d": 5, "a@d": 50, "b@d": 50}
    priorities = {"a@d": 500, "b@d": 250, "group_physics.n@d": 9}
    decision = hold(flat({"group_physics": 20}), 51, wants, priorities=priorities)

    got = {submitter.submitter: submitter.matched for submitter in decision.submitters}
    assert got == {"group_physics.n@d": 5, "b@d": 31, "a@d": 15}


def test_quotas_are_not_scaled():
    """Of 15 slots the first group has what it wants; the second one has what is left."""
    wants = {"group_physics.n@d": 50, "group_chemistry.c@d": 50}

    assert used(hold(flat(EXAMPLE_1), 15, wants)) == {"<none>": 0, "group_chemistry": 10, "group_physics": 5}


def test_a_fraction_is_of_whole_slots():
    """0.33 and 0.66 of 10 slots are 3 and 6; the one left is anybody's who is in no group."""
    tree = build_flat(groups({"c": "33%", "p": "66%"}))
    assign_flat(tree, 10)

    assert [group.quota for group in tree.groups] == [1, 3, 6]


def test_no_slot_is_lost_to_rounding():
    """29 % of 100 slots are 29, also where the computer makes it a little less."""
    tree = build_flat(groups({"c": "29%"}))
    assign_flat(tree, 100)

    assert [group.quota for group in tree.groups] == [71, 29]


def test_the_second_chance_is_for_those_not_satisfied_yet():
    """Of a group with autoregroup, who got all it wanted is not asked again; b and u share the rest, b's 8 counted."""
    policy = flat({"g": 10}, regroup=True)
    decision = hold(policy, 30, {"g.a@d": 2, "g.b@d": 50, "u@d": 50})

    assert used(decision) == {"<none>": 14, "g": 16}
    assert {match.group for match in decision.matches if match.submitter == "g.a@d"} == {"g"}
    assert {match.group for match in decision.matches if match.submitter == "g.b@d"} == {"g", "<none>"}


def test_a_group_s_quota_binds_preemption_too():
    """What is left of the quota is counted at every turn, for matches that take slots from others as well."""
    policy = flat({"g": 3})
    in_use = {"u@d": 10}
    wants = {"g.a@d": 9, "g.b@d": 9}
    decision = hold(
        policy, 10, wants, in_use, **HTCONDOR, preemption_requirements="true",
        priorities={"g.a@d": 1, "g.b@d": 1, "u@d": 9},
    )  # fmt: skip

    assert used(decision)["g"] == 3


def test_a_group_at_its_quota_is_passed_over_unless_it_may_preempt():
    """Two of two slots are in use: the group has a turn only for what it could preempt."""

    def words(**changes):
        decision = hold(flat({"g": 2}), 4, {"g.u@d": 5}, {"g.u@d": 2}, **changes)
        return [skip_words(turn) for turn in decision.groups if turn.group == "g"]

    assert words(consider_preemption=False) == ["skipping, at or over quota (usage=2)"]
    assert words() == [None]


def test_odd_groups_are_left_out_and_told():
    """Long names, subgroups and quotas of 0; their members negotiate with everybody else."""
    long = "g" * 41
    tree = build_flat(groups({"a": 1, "a.b": 1, long: 1, "z": 0, "n": None}))

    assert [group.name for group in tree.groups] == ["<none>", "a"]
    assert {problem.group: problem.kind for problem in tree.problems} == {
        "a.b": ProblemKind.NESTED,
        long: ProblemKind.LONG_NAME,
        "z": ProblemKind.NO_QUOTA,
        "n": ProblemKind.NO_QUOTA,
    }
    decision = cycle(slots(3), {"z.u@d": [jobs(3)]}, quotas=flat({"a": 1, "z": 0}))
    assert [match.group for match in decision.matches] == ["<none>"] * 3


def test_names_of_forty_characters_are_fine():
    """One more is too long."""
    assert len(build_flat(groups({"g" * 40: 1}))) == 1
