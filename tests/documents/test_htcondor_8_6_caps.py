"""HTCondor 8's manual under the rules documented: quotas as hard caps, and what preemption by priority fills."""

from collections import Counter

import pytest
from tests.documents.condor_pool import HOUR, HTCONDOR_8, NOW, PHYSICS, busy_ad, job_ad, make_pool, slot_ad
from tests.documents.sentences import says

TEXT = HTCONDOR_8

QUOTAS = "Group Quotas"
PRIORITIES = "EUP"
YES = '[negotiator]\npreemption_requirements = "True"\n'
FROZEN = '[accounting]\npriority_halflife = "1000000d"\n' + YES
FLAT = '[negotiator]\nquota_model = "flat"\n'

pool = pytest.fixture(make_pool)


def in_use(pool, now=NOW):
    """Hold a cycle, and tell what each group has in use, with all below it."""
    return {one["group"]: one["subtree_used"] for one in pool.cycle(now)["quotas"]}


def held(pool):
    """What each user has in use."""
    used = {name.partition("@")[0]: one["WeightedResourcesUsed"] for name, one in pool.records().items() if "@" in name}
    return {name: weight for name, weight in used.items() if weight}


class TestHardCaps:
    @says(f"{QUOTAS}, quotas, \"an upper limit on the number of slots\"; surplus, \"a hard cap\"",
          points=["negotiator.hard_group_caps"])  # fmt: skip
    @pytest.mark.parametrize("model", ["", FLAT])
    @pytest.mark.parametrize(("quota", "cores", "found"), [(5, 4, 4), (3, 4, 0), (7, 2, 6), (12, 4, 12), (11, 8, 8)])
    def test_machines_larger_than_the_rest_of_a_quota(self, pool, model, quota, cores, found):
        """A group takes no machine that makes it pass its quota; others get what it leaves."""
        pool.settings(f"{model}[groups.chem]\nquota = {quota}\n")
        pool.fairq("slots", "add", "big", "--count", 6, "--cpus", cores, "--now", NOW)
        pool.submit("carl", 9, group="chem")
        pool.submit("xena", 9)
        used = in_use(pool)
        assert used["chem"] == found
        assert held(pool).get("xena", 0) == 6 * cores - found

    @says(f"{QUOTAS}, dynamic quotas, \"a fraction\": the manual's 0.33 and 0.66 of 30 slots are 10 and 20",
          points=["negotiator.hard_group_caps"])  # fmt: skip
    @pytest.mark.parametrize(
        ("fraction", "slots", "found"), [(0.33, 30, 10), (0.66, 30, 20), (0.31, 10, 3), (0.36, 10, 4), (0.04, 10, 0)]
    )
    def test_fractions_are_rounded_to_the_nearest_slot(self, pool, fraction, slots, found):
        """A fraction of a slot above a whole number is one if it is half a slot or more."""
        pool.settings(f"[groups.chem]\nquota_dynamic = {fraction}\n")
        pool.slots(slots)
        pool.submit("carl", 40, group="chem")
        pool.submit("xena", 40)
        assert in_use(pool)["chem"] == found
        assert held(pool).get("xena") == slots - found

    @says(f"{QUOTAS}, quotas, \"no more than twenty concurrent jobs are ever running\"",
          points=["negotiator.hard_group_caps"])  # fmt: skip
    @pytest.mark.parametrize("model", ["", FLAT])
    def test_machines_that_prefer_a_group(self, pool, model):
        """Preemption by the Rank of a slot does not pass a quota, in any of several cycles."""
        pool.settings(f"{model}[groups.chem]\nquota = 6\n")
        pool.fairq("slots", "add", "m", "--count", 5, "--cpus", 2, "--now", NOW,
                   "--attribute", 'Rank=ifThenElse(regexp("^chem", TARGET.AccountingGroup), 7, 3)')  # fmt: skip
        pool.submit("xena", 5)
        pool.cycle()
        pool.submit("carl", 9, group="chem", now=NOW + HOUR)
        for hours in (1, 2, 3):
            assert in_use(pool, NOW + hours * HOUR)["chem"] == 6
        assert held(pool) == {"chem.carl": 6, "xena": 4}

    @says(f"{QUOTAS}, distribution, last sentence, whatever the way", points=["negotiator.hard_group_caps"])
    def test_a_parent_caps_its_subtree_whatever_the_way(self, pool):
        """Members of two accepting subgroups together stay within the parent, also where machines prefer one."""
        pool.settings(
            '[groups.p]\nquota = 5\n[groups."p.x"]\nquota = 2\naccept_surplus = true\n'
            '[groups."p.y"]\nquota = 2\naccept_surplus = true\n'
        )
        pool.slots(9, Rank='ifThenElse(regexp("^p.y", TARGET.AccountingGroup), 7, 3)')
        pool.submit("ann", 4, group="p.x")
        pool.submit("xena", 9)
        assert in_use(pool)["p"] == 4
        pool.submit("bob", 9, group="p.y", now=NOW + HOUR)
        assert in_use(pool, NOW + HOUR)["p"] == 5
        assert held(pool)["xena"] == 4

    @says(f'{QUOTAS}, "scaled down in proportion"', points=["negotiator.hard_group_caps"])
    def test_what_a_group_cannot_take_is_surplus(self, pool):
        """Machines of four cores: what is left of a quota of ten below a parent of twenty goes to the peer."""
        pool.settings(
            '[groups.p]\nquota = 20\n[groups."p.x"]\nquota = 10\n[groups."p.y"]\nquota = 10\naccept_surplus = true\n'
        )
        pool.fairq("slots", "add", "m", "--count", 10, "--cpus", 4, "--now", NOW)
        for user, group in (("ann", "p.x"), ("bob", "p.y"), ("xena", "")):
            pool.submit(user, 30, group=group)
        used = in_use(pool)
        assert (used["p.x"], used["p.y"]) == (8, 12)
        assert held(pool)["xena"] == 20

    @says(f'{QUOTAS}, "allocated to the none group"', points=["negotiator.hard_group_caps"])
    def test_what_belongs_to_no_quota_is_for_everybody_else(self, pool):
        """Four groups of 2.5 slots do not round up what is left for users without a group."""
        pool.settings("".join(f"[groups.{name}]\nquota = 2.5\n" for name in "abc"))
        pool.slots(10)
        for name in "abc":
            pool.submit("ann", 9, group=name)
        pool.submit("xena", 9)
        used = in_use(pool)
        assert all(2 <= used[name] <= 3 for name in "abc")
        assert held(pool)["xena"] == 10 - sum(used[name] for name in "abc") >= 2

    def test_a_quota_below_half_a_slot_is_told_everywhere(self, pool):
        """Such a group never starts a job: quotas check, config check, pool check and why say so, with the cure."""
        pool.settings("[groups.chem]\nquota = 0.4\n")
        pool.slots(10)
        pool.submit("carl", 2, group="chem")
        assert in_use(pool)["chem"] == 0
        told = "quota of 0.4 is too small for a slot of weight 1"
        assert told in pool.fairq("quotas", "check", code=1).out
        assert told in pool.fairq("config", "check").err
        assert told in pool.fairq("pool", "check", "--now", NOW, code=114).out
        assert "the quota of group chem, 0.4, is too small" in pool.fairq("why", "1.0", "--now", NOW).out

    def test_reports_agree_who_stopped_whom(self, pool):
        """The cycle and why name the parent whose quota is used up."""
        pool.settings('[groups.p]\nquota = 4\n[groups."p.x"]\nquota = 3\naccept_surplus = true\n')
        pool.slots(9)
        pool.submit("ann", 9, group="p.x")
        cycle = pool.cycle()
        told = next(one for one in cycle["submitters"] if one["submitter"].startswith("p.x.ann"))
        assert (told["stopped"], told["quota_group"]) == ("group quota reached", "p")
        assert "group p " in pool.fairq("why", "1.8", "--now", NOW).out.partition("\n")[0]


class TestEntitlement:
    @says(f"{PRIORITIES}, paragraph 2, \"repartitioned and distributed among remaining users\", where preemption is "
          "considered", points=["negotiator.preempt_only_to_share"])  # fmt: skip
    @pytest.mark.parametrize("cores", [1, 4])
    def test_who_has_no_idle_jobs_leaves_the_rest_of_its_share(self, pool, cores):
        """EUP 500, 500 and 2000; one of the first two only runs a job: 7, 1 and 2 of ten slots."""
        pool.settings(FROZEN)
        pool.fairq("slots", "add", "m", "--count", 10, "--cpus", cores, "--now", NOW)
        pool.submit("carl", 2)
        pool.submit("curt", 1)
        pool.submit("pia", 7)
        pool.cycle()
        pool.fairq("userprio", "--setfactor", "pia@example.org", 4000, "--now", NOW)
        pool.submit("carl", 9, now=NOW + HOUR)
        for hours in (1, 2):
            pool.cycle(NOW + hours * HOUR)
        assert held(pool) == {"carl": 7 * cores, "curt": cores, "pia": 2 * cores}

    @says(f"{PRIORITIES}, paragraph 2, the same inside a group", points=["negotiator.preempt_only_to_share"])
    def test_up_to_the_quota_of_a_group(self, pool):
        """A member preempts what is left of its group's quota, and no more."""
        pool.settings(YES + "[groups.chem]\nquota = 5\n[groups.phys]\nquota = 5\naccept_surplus = true\n")
        pool.slots(10)
        pool.submit("carl", 2, group="chem")
        pool.submit("curt", 1, group="chem")
        pool.submit("pia", 7, group="phys")
        pool.cycle()
        pool.fairq("userprio", "--setfactor", "phys.pia@example.org", 9000, "--now", NOW)
        pool.submit("carl", 9, group="chem", now=NOW + HOUR)
        for hours in (1, 2, 3):
            assert in_use(pool, NOW + hours * HOUR)["chem"] == 5

    @says(f'{PRIORITIES}, "Nice users"', points=["negotiator.preempt_only_to_share"])
    @pytest.mark.parametrize("slots", [6, 100])
    def test_a_nice_user_gives_way_with_the_last_slot(self, pool, slots):
        """Its share rounds to nothing: whoever else has jobs gets all slots."""
        pool.settings('[negotiator]\npreemption_requirements = "RemoteUserPrio > SubmitterUserPrio * 1.2"\n')
        pool.slots(slots)
        pool.submit("nel", slots + 20, "--nice-user")
        pool.cycle()
        pool.set_rup("ann", 58)
        pool.submit("ann", 300, now=NOW + HOUR)
        for hours in (1, 2):
            pool.cycle(NOW + hours * HOUR)
        assert held(pool) == {"ann": slots}

    def test_demand_is_bounded_by_the_ceiling(self, pool):
        """What a ceiling keeps from one user is not its entitlement, but that of the others."""
        pool.settings(FROZEN)
        pool.import_(slots=[busy_ad(f"slot1@n{number}", "pia") for number in range(9)])
        pool.set_eup("pia", 4000)
        for user in ("ann", "bob"):
            pool.submit(user, 9)
            pool.set_eup(user, 500)
        pool.fairq("userprio", "--setceiling", "bob@example.org", 1, "--now", NOW)
        pool.cycle()
        # 1 of bob, and 8 as 1/500 to 1/4000: 7.1 and 0.9.
        assert held(pool) == {"ann": 7, "bob": 1, "pia": 1}

    def test_frozen_priorities_come_to_rest(self, pool):
        """After some cycles nothing is preempted, and no slot goes back to who lost it."""
        pool.settings(FROZEN)
        pool.slots(30)
        pool.submit("pia", 30)
        pool.cycle()
        eups = {"ann": 500, "bob": 700, "cat": 1100, "pia": 3000}
        for user, eup in eups.items():
            pool.set_eup(user, eup)
            if user != "pia":
                pool.submit(user, 40, now=NOW)
        seen = [
            [(one["slot"], one["submitter"]) for one in pool.cycle(NOW + HOUR + hour)["matches"]] for hour in range(4)
        ]
        assert seen[0] and not seen[2] and not seen[3]
        lost = Counter(slot for matches in seen for slot, _ in matches)
        assert max(lost.values()) == 1
        shares = sum(1 / eup for eup in eups.values())
        for user, eup in eups.items():
            assert abs(held(pool)[user] - 30 / eup / shares) <= 0.5 + 1e-6

    def test_without_room_for_a_whole_slot_nobody_is_preempted(self, pool):
        """Ten equal users in turn for five slots: whoever has one keeps it."""
        pool.settings(FROZEN)
        pool.import_(
            slots=[busy_ad(f"slot1@n{number}", f"u{number}") for number in range(5)],
            jobs=[job_ad(number, f"w{number}") for number in range(1, 6)],
        )
        assert pool.cycle()["matches"] == []


def test_who_preempts_and_what_is_free_agree(pool):
    """A free slot goes to whom it brings nearer to its entitlement: nobody preempts it in the next cycle."""
    pool.settings(FROZEN)
    pool.import_(slots=[busy_ad("slot1@n1", "pia"), slot_ad("slot1@n2"), slot_ad("slot1@n3")])
    pool.set_eup("pia", 5000)
    pool.submit("ann", 9)
    pool.set_eup("ann", 500)
    pool.submit("pia", 9)
    pool.cycle()
    assert held(pool) == {"ann": 3}
    assert pool.cycle(NOW + HOUR)["matches"] == []


def test_the_manual_s_example_with_everybody_in_want(pool):
    """Physics 20 and chemistry 10 of thirty slots, whoever else waits."""
    pool.settings(PHYSICS)
    pool.slots(30)
    pool.submit("newton", 60, group="group_physics")
    pool.submit("curie", 60, group="group_chemistry")
    pool.submit("xena", 60)
    used = in_use(pool)
    assert (used["group_physics"], used["group_chemistry"]) == (20, 10)
