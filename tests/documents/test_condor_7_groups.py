"""Condor 7's manual, sentence by sentence, where it says other things than HTCondor 8: groups of one level."""

import pytest
from tests.documents.condor_pool import CONDOR_6_8, CONDOR_7, NOW, PHYSICS, make_pool
from tests.documents.sentences import NotNormative, says

TEXT = CONDOR_7

QUOTAS = "Group Quotas"
FLAT = '[negotiator]\nquota_model = "flat"\n'
EXAMPLE = """
[groups.group_physics]
quota = 20
prio_factor = 1.0
autoregroup = false
[groups.group_chemistry]
quota = 10
prio_factor = 3.0
autoregroup = true
"""
"""Example 1 of the manual."""

pool = pytest.fixture(make_pool)

NOT_NORMATIVE = [
    NotNormative("Introduction, EUP, Priority Calculation", "Announcements and references to other sections.",
                 "as in HTCondor 8"),
    NotNormative("EUP, paragraph 1, sentences 3 and 4", "The factor is 1.0 unless configured.",
                 "HTCondor 8 says 1000, and holds; default_prio_factor = 1 is this"),
    NotNormative("Group Accounting, paragraph 2, length", "A name has at most 40 characters.",
                 "HTCondor 8 names no maximum, and holds; the flat model keeps it for groups"),
    NotNormative(f"{QUOTAS}, paragraphs 1 to 4", "Why quotas are wanted, and what RANK would do instead.",
                 "describes the problem"),
    NotNormative(f"{QUOTAS}, no verification", "Nobody checks that a user is a member of his group.",
                 "says that nothing is checked"),
]  # fmt: skip


def both(place):
    """Condor 6.8 says the same at the same place."""
    return {CONDOR_6_8: place}


class TestNames:
    @says("Group Accounting, periods", f"{QUOTAS}, group.user")
    def test_a_period_counts_only_behind_the_name_of_a_group(self, pool):
        """A period in an accounting group's name matters only if a configured group stands before it."""
        pool.settings(PHYSICS + FLAT)
        pool.slots(31)
        pool.submit("albert", 1, group="group_physics")
        pool.submit("y", 1, group="x")
        assert pool.groups_got() == {"group_physics": 1, "<none>": 1}

    @says(f"{QUOTAS}, the period is required", also=both(f"{QUOTAS}, the period is required"))
    def test_without_a_period_the_job_is_in_no_group(self, pool, tmp_path):
        """A value without a period is no member of the group, even if that has a quota; there is no warning."""
        pool.settings(PHYSICS + FLAT)
        pool.slots(31)
        description = tmp_path / "group.sub"
        description.write_text('executable = /bin/true\n+AccountingGroup = "group_physics"\nqueue\n')
        assert "warning" not in pool.fairq("submit", description, "--now", NOW).err.lower()
        assert pool.groups_got() == {"<none>": 1}


class TestQuotas:
    @says(f"{QUOTAS}, the sum of the quotas", also=both(f"{QUOTAS}, the sum of the quotas"))
    def test_what_no_quota_covers_is_for_none(self, pool):
        """Slots beyond the sum of all quotas are for users without a group."""
        pool.settings(PHYSICS + FLAT)
        pool.slots(35)
        for user, group in (("newton", "group_physics"), ("curie", "group_chemistry"), ("ann", "")):
            pool.submit(user, 60, group=group)
        assert pool.groups_got() == {"group_physics": 20, "group_chemistry": 10, "<none>": 5}

    @says(f"{QUOTAS}, accounting per group user", also=both(f"{QUOTAS}, accounting per group user"))
    def test_accounts_are_per_group_user(self, pool):
        """Accounting is per group user, not per group and not per user."""
        pool.settings(PHYSICS + FLAT)
        pool.slots(31)
        for user, group in (("ann", "group_physics"), ("bob", "group_physics"), ("ann", "")):
            pool.submit(user, 1, group=group)
        pool.cycle()
        users = ("group_physics.ann", "group_physics.bob", "ann")
        assert [pool.record(user)["ResourcesUsed"] for user in users] == [1, 1, 1]

    @says(f"{QUOTAS}, order", f"{QUOTAS}, order, example", also=both(f"{QUOTAS}, order"))
    @pytest.mark.parametrize("model", ["", FLAT])
    def test_50_per_cent_before_75_per_cent(self, pool, model):
        """The group that uses the least part of its quota goes first: 5 of 10 before 15 of 20; then all others."""
        pool.settings(PHYSICS + model)
        pool.slots(20)
        pool.submit("newton", 15, group="group_physics")
        pool.submit("curie", 5, group="group_chemistry")
        pool.cycle()
        pool.slots(20, "more")
        for user, group in (("newton", "group_physics"), ("curie", "group_chemistry"), ("ann", "")):
            pool.submit(user, 50, group=group)
        order = dict.fromkeys(one["group"] for one in pool.cycle(NOW + 60)["groups"])
        assert list(order) == ["group_chemistry", "group_physics", "<none>"]

    @says(f"{QUOTAS}, independent submissions", also=both(f"{QUOTAS}, independent submissions"))
    def test_users_without_a_group_share_by_priority(self, pool):
        """Among users without a group the inverse ratio of effective priorities holds."""
        pool.settings(PHYSICS + FLAT)
        for user, priority in (("ann", 10), ("bob", 20)):
            pool.set_eup(user, priority)
            pool.submit(user, 50)
        pool.slots(39)
        assert pool.got() == {"ann": 26, "bob": 13}

    @says(f"{QUOTAS}, GROUP_PRIO_FACTOR", f"{QUOTAS}, Example 1, last sentence",
          also=both(f"{QUOTAS}, GROUP_PRIO_FACTOR"))  # fmt: skip
    @pytest.mark.parametrize("model", ["", FLAT])
    def test_a_factor_for_new_members(self, pool, model):
        """Members of a group begin with its priority factor: 1.0 for physics, 3.0 for chemistry."""
        pool.settings(EXAMPLE + model)
        pool.slots(30)
        pool.submit("newton", 1, group="group_physics")
        pool.submit("curie", 1, group="group_chemistry")
        pool.cycle()
        users = ("group_physics.newton", "group_chemistry.curie")
        assert [pool.record(user)["PriorityFactor"] for user in users] == [1, 3]

    @says(f"{QUOTAS}, GROUP_AUTOREGROUP", also=both(f"{QUOTAS}, GROUP_AUTOREGROUP"))
    @pytest.mark.parametrize("model", ["", FLAT])
    def test_a_second_chance_with_all_individual_users(self, pool, model):
        """With autoregroup jobs beyond the quota are considered again, along with those of all individual users."""
        pool.settings("[groups.g]\nquota = 2\nautoregroup = true\nprio_factor = 1000\n" + model)
        pool.submit("ann", 50, group="g")
        pool.submit("bob", 50)
        pool.slots(12)
        got = pool.got()
        assert sum(got.values()) == 12
        assert got == {"g.ann": 6, "bob": 6}

    def test_the_second_chance_preempts_as_an_individual_would(self, pool):
        """With PREEMPTION_REQUIREMENTS true a member may take what an individual of that priority may."""
        groups = "[groups.g]\nquota = 1\nautoregroup = true\n"
        pool.settings(groups)
        pool.slots(12)
        pool.submit("bob", 50)
        pool.cycle()
        pool.set_rup("bob", 1e6)
        pool.submit("ann", 50, group="g")
        pool.settings(groups + '[negotiator]\npreemption_requirements = "True"\n')
        assert pool.got()["g.ann"] > 1

    @says(f"{QUOTAS}, Example 1")
    @pytest.mark.parametrize(("jobs", "found"), [((60, 60), (20, 10)), ((15, 60), (15, 15)), ((60, 0), (20, 0))])
    @pytest.mark.parametrize("model", ["", FLAT])
    def test_physics_never_gets_more_than_20_and_chemistry_may(self, pool, model, jobs, found):
        """Physics never has more than 20; chemistry, with autoregroup, may have more than 10 if physics has 15 jobs."""
        pool.settings(EXAMPLE + model)
        pool.slots(30)
        for user, group, count in zip(("newton", "curie"), ("group_physics", "group_chemistry"), jobs, strict=True):
            if count:
                pool.submit(user, count, group=group)
        users = pool.got()
        assert (users["group_physics.newton"], users["group_chemistry.curie"]) == found
