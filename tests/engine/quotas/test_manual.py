"""The examples of HTCondor's manual, "Accounting Groups with Hierarchical Group Quotas", as cycles.

A pool of thirty slots: twenty are owned by the physics group and ten by the chemistry group.
"""

import pytest
from tests.engine.quotas.groups import Quota, both_rules, hold, rules_of, used

OWNED: dict[str, Quota] = {"group_physics": 20, "group_chemistry": 10}
SUBGROUPS: dict[str, Quota] = {
    "group_physics": 20,
    "group_physics.hep": 15,
    "group_physics.lep": 5,
    "group_chemistry": 10,
}
EINSTEIN, CURIE, HIGGS, LEE = (
    "group_physics.einstein@example.com",
    "group_chemistry.curie@example.com",
    "group_physics.hep.higgs@example.com",
    "group_physics.lep.lee@example.com",
)
ALICE = "alice@example.com"


def had(decision):
    """What physics, chemistry and <none> use after the cycle, subgroups included."""
    in_use = used(decision)  # type: ignore[arg-type]
    physics = sum(amount for name, amount in in_use.items() if name.startswith("group_physics"))
    return physics, in_use["group_chemistry"], in_use["<none>"]


@both_rules
class TestStaticQuotas:
    """GROUP_QUOTA_group_physics = 20, GROUP_QUOTA_group_chemistry = 10."""

    def test_no_more_than_twenty_and_ten(self, rules):
        """No more than twenty jobs are ever running from the physicists, and only ten from the chemists."""
        assert had(hold(rules_of(OWNED, rules), 30, {EINSTEIN: 50, CURIE: 50})) == (20, 10, 0)

    def test_not_even_when_the_other_group_has_no_jobs(self, rules):
        """Surplus is disabled for all groups by default."""
        assert had(hold(rules_of(OWNED, rules), 30, {EINSTEIN: 50})) == (20, 0, 0)

    def test_whoever_is_in_no_group_gets_what_is_left(self, rules):
        """Jobs that do not identify themselves as a group member are part of the <none> group."""
        assert had(hold(rules_of(OWNED, rules), 30, {EINSTEIN: 50, CURIE: 4, ALICE: 50})) == (20, 4, 6)

    def test_twice_the_slots_do_not_scale_up(self, rules):
        """With sixty slots physics is still limited to 20, and chemistry to 10."""
        assert had(hold(rules_of(OWNED, rules), 60, {EINSTEIN: 90, CURIE: 90})) == (20, 10, 0)

    def test_group_names_are_case_insensitive(self, rules):
        """GROUP_Physics.einstein is a physicist."""
        assert had(hold(rules_of(OWNED, rules), 30, {"GROUP_Physics.einstein@example.com": 50})) == (20, 0, 0)

    def test_users_may_have_periods_in_their_names(self, rules):
        """group_physics.albert.einstein is in group_physics; albert.einstein is in none."""
        wants = {"group_physics.albert.einstein@example.com": 25, "albert.einstein@example.com": 25}
        assert had(hold(rules_of(OWNED, rules), 30, wants)) == (20, 0, 10)

    def test_a_user_may_be_in_many_groups(self, rules):
        """Membership is per job, not per user."""
        wants = {"group_physics.ada@example.com": 50, "group_chemistry.ada@example.com": 50, "ada@example.com": 5}
        assert had(hold(rules_of(OWNED, rules), 35, wants)) == (20, 10, 5)

    def test_inside_a_group_priorities_decide(self, rules):
        """Two physicists whose effective priorities are as 1 to 3 share the twenty as 15 to 5."""
        other = "group_physics.fermi@example.com"
        decision = hold(rules_of(OWNED, rules), 30, {EINSTEIN: 50, other: 50}, priorities={EINSTEIN: 100, other: 300})

        assert {submitter.submitter: submitter.matched for submitter in decision.submitters} == {EINSTEIN: 15, other: 5}


class TestPowerFailure:
    """A power failure removes half of the thirty slots."""

    def test_quotas_are_scaled_down(self):
        """Physics is scaled back to a quota of ten, and chemistry to five."""
        decision = hold(rules_of(OWNED), 15, {EINSTEIN: 50, CURIE: 50})

        assert had(decision) == (10, 5, 0)
        assert {group.group: group.quota for group in decision.quotas}["group_physics"] == 10

    @pytest.mark.parametrize("oversubscription", [False, True])
    def test_that_can_be_disabled(self, oversubscription):
        """NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION, under today's rules; chemistry is first by its name."""
        policy = rules_of(OWNED, "htcondor", oversubscription=oversubscription)

        assert had(hold(policy, 15, {EINSTEIN: 50, CURIE: 50})) == ((5, 10, 0) if oversubscription else (10, 5, 0))


@both_rules
class TestDynamicQuotas:
    """One-third of the pool to chemistry and two-thirds to physics."""

    @pytest.mark.parametrize(("size", "physics", "chemistry"), [(100, 66, 33), (200, 132, 66), (300, 198, 99)])
    def test_the_ratio_stays_as_the_pool_changes(self, rules, size, physics, chemistry):
        """0.66 and 0.33 of a hundred, two hundred, three hundred slots."""
        policy = rules_of({"group_chemistry": "33%", "group_physics": "66%"}, rules)

        assert had(hold(policy, size, {EINSTEIN: size, CURIE: size})) == (physics, chemistry, 0)

    def test_sums_above_one_are_scaled_down(self, rules):
        """If the sum exceeds one, they are scaled down proportionally: 0.8 and 1.0 of 18 are 8 and 10."""
        policy = rules_of({"group_chemistry": "80%", "group_physics": "100%"}, rules)

        assert had(hold(policy, 18, {EINSTEIN: 50, CURIE: 50})) == (10, 8, 0)

    def test_subgroups_have_fractions_of_their_parent(self, rules):
        """hep has 75% and lep 25% of what physics gets of the pool: 15 and 5, as with static quotas."""
        quotas: dict[str, Quota] = {
            "group_chemistry": 10, "group_physics": 20, "group_physics.hep": "75%", "group_physics.lep": "25%"
        }  # fmt: skip
        in_use = used(hold(rules_of(quotas, rules), 30, {HIGGS: 50, LEE: 50, CURIE: 50}))

        assert (in_use["group_physics.hep"], in_use["group_physics.lep"], in_use["group_chemistry"]) == (15, 5, 10)


BOTH = ["group_physics.hep", "group_physics.lep"]


@both_rules
class TestSurplus:
    """hep owns fifteen of the twenty physics slots, lep the remainder."""

    @pytest.mark.parametrize("surplus", [[], BOTH, ["group_physics", *BOTH], ["group_physics"]])
    def test_when_everybody_has_jobs_everybody_has_the_quota(self, rules, surplus):
        """There is no surplus then, whoever would accept it."""
        policy = rules_of(SUBGROUPS, rules, surplus, oversubscription=False)
        in_use = used(hold(policy, 30, {HIGGS: 50, LEE: 50, CURIE: 50}))

        assert (in_use["group_physics.hep"], in_use["group_physics.lep"], in_use["group_chemistry"]) == (15, 5, 10)

    @pytest.mark.parametrize(
        ("surplus", "hep"),
        [
            ([], 15),
            (["group_physics"], 15),
            (["group_physics.lep"], 15),
            (["group_physics.hep"], 20),
            (BOTH, 20),
            (["group_physics", "group_physics.hep"], 30),
            (["group_physics", *BOTH], 30),
        ],
    )
    def test_how_far_hep_may_go_when_it_is_alone(self, rules, surplus, hep):
        """Up to its quota; to that of physics, if hep accepts surplus; to the pool, if physics does, too."""
        assert used(hold(rules_of(SUBGROUPS, rules, surplus), 30, {HIGGS: 60}))["group_physics.hep"] == hep

    def test_their_sum_cannot_exceed_that_of_their_parent(self, rules):
        """The manual's example: hep and lep accept surplus, physics does not; chemistry is idle."""
        policy = rules_of(SUBGROUPS, rules, surplus=BOTH)

        assert had(hold(policy, 30, {HIGGS: 60, LEE: 60})) == (20, 0, 0)
        assert had(hold(policy, 30, {HIGGS: 3, LEE: 60})) == (20, 0, 0)
        assert used(hold(policy, 30, {HIGGS: 3, LEE: 60}))["group_physics.lep"] == 17

    def test_surplus_is_shared_with_peers_before_it_goes_up(self, rules):
        """What lep leaves is hep's, although chemistry would take it, too."""
        policy = rules_of(SUBGROUPS, rules, surplus=True, oversubscription=False)
        in_use = used(hold(policy, 30, {HIGGS: 60, LEE: 1, CURIE: 60}))

        assert (in_use["group_physics.hep"], in_use["group_physics.lep"], in_use["group_chemistry"]) == (19, 1, 10)

    def test_what_peers_do_not_want_goes_over_to_the_others(self, rules):
        """hep and lep want 6 between them: chemistry, which accepts surplus, has all the rest."""
        policy = rules_of(SUBGROUPS, rules, surplus=["group_chemistry"], oversubscription=False)

        assert had(hold(policy, 30, {HIGGS: 3, LEE: 3, CURIE: 60})) == (6, 24, 0)


@both_rules
class TestSecondChance:
    """GROUP_AUTOREGROUP: who did not get enough in its group is considered again with all other users."""

    def test_a_group_may_exceed_its_quota_at_the_end(self, rules):
        """Chemistry has no jobs: its ten slots are anybody's, and physics is asked again."""
        assert had(hold(rules_of(OWNED, rules, regroup=True), 30, {EINSTEIN: 50})) == (30, 0, 0)

    def test_only_the_groups_that_say_so(self, rules):
        """Physics does not regroup."""
        policy = rules_of(OWNED, rules, regroup=["group_chemistry"])

        assert had(hold(policy, 30, {EINSTEIN: 50})) == (20, 0, 0)
        assert had(hold(policy, 30, {CURIE: 50})) == (0, 30, 0)

    def test_the_slots_left_are_shared_by_priority(self, rules):
        """Einstein has twenty by the quota, which counts: alice's third of 30 is hers, and more, as he is above his."""
        decision = hold(rules_of(OWNED, rules, regroup=True), 30, {EINSTEIN: 50, ALICE: 50})

        assert had(decision) == (20, 0, 10)
        assert {match.group for match in decision.matches if match.submitter == ALICE} == {"<none>"}

    def test_what_is_matched_then_is_charged_to_the_group(self, rules):
        """The submitter's name and its group stay; only the pie is that of <none>."""
        decision = hold(rules_of(OWNED, rules, regroup=True), 30, {EINSTEIN: 25})

        assert [match.group for match in decision.matches] == ["group_physics"] * 20 + ["<none>"] * 5
        assert used(decision)["group_physics"] == 25
