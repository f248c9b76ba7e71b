"""HTCondor 8's manual, sentence by sentence, under the rules documented: group accounting and quotas."""

from collections import Counter

import pytest
from tests.documents.condor_pool import (
    CONDOR_7,
    DAY,
    HEP,
    HTCONDOR_8,
    LEP,
    NESTED,
    NOW,
    PHYSICS,
    make_pool,
    older,
    slot_ad,
)
from tests.documents.sentences import NotNormative, says

from fairq.errors.base import SettingValueError

TEXT = HTCONDOR_8

ACCOUNTING = "Group Accounting"
QUOTAS = "Group Quotas"
pool = pytest.fixture(make_pool)

NOT_NORMATIVE = [
    NotNormative(f"{ACCOUNTING}, previous method, why", "Why the previous method is no longer recommended.",
                 "reasons for a recommendation"),
    NotNormative(f"{ACCOUNTING}, last sentence", "Administrators may remove many short-lived groups themselves.",
                 "advice to administrators"),
    NotNormative(f"{QUOTAS}, paragraph 3", "RANK could steer jobs to the machines of a group's own.",
                 "describes what quotas are better than"),
    NotNormative(f"{QUOTAS}, hierarchy, 'In all these examples'", "Without surplus a flat structure would do.",
                 "a remark on the examples"),
    NotNormative(f"{QUOTAS}, 'Each job must state', sentence 2", "The system trusts users to name the right group.",
                 "says that nothing is checked"),
]  # fmt: skip


def quotas(pool, slots=None):
    """Quotas of all groups in a pool of that many slots, subgroups included."""
    if slots:
        pool.slots(slots)
    pool.cycle()
    return {one["group"]: one["quota"] for one in pool.fairq("quotas", "--json")}


def _quota(pool, now):
    """Hold a cycle and return the quota of physics."""
    return next(one["quota"] for one in pool.cycle(now)["groups"] if one["group"] == "group_physics")


class TestGroupAccounting:
    @says(f"{ACCOUNTING}, paragraph 1, sentences 1 and 4", also=older(f"{ACCOUNTING}, paragraph 1, sentence 1"))
    def test_accounts_are_by_user(self, pool):
        """Without a group, accounting and priority are those of the user."""
        pool.slots(2)
        pool.submit("ann")
        pool.submit("bob")
        pool.cycle()
        assert {pool.record(user)["ResourcesUsed"] for user in ("ann", "bob")} == {1}

    @says(f"{ACCOUNTING}, paragraph 1, sentences 2, 3 and 5",
          also=older(f"{ACCOUNTING}, paragraph 1, sentences 2 and 3"))  # fmt: skip
    def test_all_jobs_of_one_group_have_one_priority(self, pool, tmp_path):
        """Users who submit into the same accounting group share one account and one priority."""
        description = tmp_path / "group.sub"
        description.write_text('executable = /bin/true\n+AccountingGroup = "group_physics"\nqueue 50\n')
        for _ in range(2):
            pool.fairq("submit", description, "--now", NOW)
        pool.submit("ann", 50)
        pool.slots(10)
        assert pool.got() == {"group_physics": 5, "ann": 5}
        assert pool.record("group_physics")["ResourcesUsed"] == 5

    @says(f"{ACCOUNTING}, paragraphs 2 to 5")
    def test_the_two_submit_commands(self, pool, tmp_path):
        """accounting_group sets AcctGroup, accounting_group_user sets AcctGroupUser."""
        description = tmp_path / "group.sub"
        description.write_text(
            "executable = /bin/true\naccounting_group = group_physics\naccounting_group_user = albert\nqueue\n"
        )
        pool.fairq("submit", description, "--now", NOW)
        (job,) = pool.fairq("queue", "--json")
        assert (job["AcctGroup"], job["AcctGroupUser"]) == ("group_physics", "albert")
        pool.slots(1)
        assert pool.got() == {"group_physics.albert": 1}

    @says(f"{ACCOUNTING}, paragraphs 6 and 7", also=older(f"{ACCOUNTING}, paragraph 2"))
    def test_the_previous_method(self, pool, tmp_path):
        """The previous method sets the string AccountingGroup: group and user with a period between them."""
        description = tmp_path / "group.sub"
        description.write_text('executable = /bin/true\n+AccountingGroup = "group_physics.albert"\nqueue\n')
        pool.fairq("submit", description, "--now", NOW)
        pool.settings(PHYSICS)
        pool.slots(30)
        assert pool.groups_got() == {"group_physics": 1}

    @says(f"{ACCOUNTING}, 'The name should not be qualified'",
          also=older(f"{ACCOUNTING}, 'The name should not be qualified'"))  # fmt: skip
    def test_the_domain_is_appended(self, pool, tmp_path):
        """UID_DOMAIN is appended to the name, and condor_userprio shows it so."""
        description = tmp_path / "group.sub"
        description.write_text('executable = /bin/true\n+AccountingGroup = "group_physics"\nqueue\n')
        pool.fairq("submit", description, "--now", NOW)
        pool.slots(1)
        pool.cycle()
        assert "group_physics@example.org" in pool.fairq("userprio", "--allusers", "--now", NOW).out

    @says(f"{ACCOUNTING}, -delete", also=older(f"{ACCOUNTING}, -delete"))
    def test_delete(self, pool):
        """condor_userprio -delete removes a record, named with its domain, whose jobs are completed."""
        pool.slots(1)
        pool.submit("ann")
        pool.cycle()
        pool.finish(["1.0"], NOW + 60)
        pool.fairq("userprio", "-delete", "ann@example.org", "--now", NOW + 60)
        assert "ann@example.org" not in pool.records()

    @says(f"{ACCOUNTING}, 'removes entities itself'", points=["accounting.remove_idle_records"],
          also=older(f"{ACCOUNTING}, 'removes entities itself'"))  # fmt: skip
    def test_records_go_by_themselves(self, pool):
        """Records that are no longer relevant are removed without an administrator."""
        pool.set_rup("ann", 0.6)
        pool.slots(1)
        pool.cycle()
        assert "ann@example.org" in pool.records()
        pool.cycle(NOW + DAY)
        pool.cycle(NOW + 2 * DAY)
        assert "ann@example.org" not in pool.records()


class TestQuotas:
    @says(f"{QUOTAS}, paragraph 1, sentence 1", f"{QUOTAS}, paragraph 2", f"{QUOTAS}, paragraph 4")
    @pytest.mark.parametrize("jobs", [(60, 60), (60, 0), (0, 60), (12, 60)])
    def test_no_more_than_twenty_and_ten_of_thirty(self, pool, jobs):
        """Quotas are upper limits: of thirty slots physicists never have more than twenty, chemists than ten."""
        pool.settings(PHYSICS)
        pool.slots(30)
        for group, user, count in zip(("physics", "chemistry"), ("newton", "curie"), jobs, strict=True):
            if count:
                pool.submit(user, count, group=f"group_{group}")
        got = pool.groups_got()
        assert (got["group_physics"], got["group_chemistry"]) == (min(jobs[0], 20), min(jobs[1], 10))
        assert pool.groups_got(NOW + 60) == {}

    @says(f"{QUOTAS}, paragraph 5, sentences 1 and 2", f"{QUOTAS}, paragraph 5, sentence 4")
    def test_a_tree_by_periods(self, pool):
        """Quotas are those of a tree of groups, subgroups and so on; periods separate their names."""
        pool.settings(NESTED + '[groups."group_physics.hep.atlas"]\nquota = 4\n')
        found = quotas(pool, 30)
        assert [found[f"{HEP}.atlas"], found[HEP], found[LEP], found["group_physics"]] == [4, 15, 5, 20]

    @says(f"{QUOTAS}, paragraph 5, sentence 3", also={CONDOR_7: f"{QUOTAS}, names of groups"})
    def test_names_need_no_prefix(self, pool):
        """Names of groups need not begin with group_."""
        pool.settings("[groups.physics]\nquota = 2\n")
        pool.slots(4)
        pool.submit("newton", 9, group="physics")
        assert pool.groups_got() == {"physics": 2}

    @says(f"{QUOTAS}, paragraph 5, sentence 5", also={CONDOR_7: f"{QUOTAS}, case of names"})
    def test_letter_case_does_not_matter(self, pool):
        """Names of groups are case-insensitive in negotiation."""
        pool.settings(PHYSICS)
        pool.slots(30)
        pool.submit("newton", 15, group="GROUP_Physics")
        pool.submit("newton", 15, group="group_physics")
        assert sum(pool.groups_got().values()) == 20

    @says(f"{QUOTAS}, paragraph 6")
    def test_none_is_the_root(self, pool):
        """The root of the tree is <none>; its quota is all slots."""
        pool.settings(PHYSICS)
        pool.slots(30)
        pool.submit("newton", 15, group="group_physics")
        pool.cycle()
        assert pool.records()["<none>"]["SubtreeQuota"] == 30

    @says(f"{QUOTAS}, paragraph 7, sentences 1 to 3", points=["negotiator.negotiator_allow_quota_oversubscription"])
    @pytest.mark.parametrize(("slots", "found"), [(30, (20, 10)), (15, (10, 5)), (7.5, (5, 2.5))])
    def test_children_that_exceed_the_parent_are_scaled_down(self, pool, slots, found):
        """Quotas beyond the parent's are scaled down in proportion: 20 and 10 are 10 and 5 on 15 slots."""
        pool.settings(PHYSICS)
        pool.slots(int(slots))
        if slots % 1:
            pool.slots(1, "half", SlotWeight=0.5)
        seen = quotas(pool)
        assert (seen["group_physics"], seen["group_chemistry"]) == pytest.approx(found)

    @says(f"{QUOTAS}, paragraph 7, sentence 4")
    def test_unless_oversubscription_is_allowed(self, pool):
        """NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION disables the scaling."""
        pool.settings(PHYSICS + "[negotiator]\nnegotiator_allow_quota_oversubscription = true\n")
        found = quotas(pool, 15)
        assert (found["group_physics"], found["group_chemistry"]) == (20, 10)

    @says(f"{QUOTAS}, paragraph 7, sentences 5 to 7")
    def test_they_are_not_scaled_up(self, pool):
        """Quotas below the parent's stay: of sixty slots physics has 20 and chemistry 10."""
        pool.settings(PHYSICS)
        pool.slots(60)
        for user, group in (("newton", "group_physics"), ("curie", "group_chemistry")):
            pool.submit(user, 60, group=group)
        assert pool.groups_got() == {"group_physics": 20, "group_chemistry": 10}

    @says(f"{QUOTAS}, 'Each job must state', sentences 1 and 3 to 6")
    def test_jobs_without_a_group_are_in_none(self, pool):
        """Each job says its group; a user may be in several, and jobs without one negotiate in <none>."""
        pool.settings(PHYSICS)
        pool.slots(31)
        pool.submit("ann", 1, group="group_physics")
        pool.submit("ann", 1, group="group_chemistry")
        pool.submit("ann", 1)
        assert pool.groups_got() == {"group_physics": 1, "group_chemistry": 1, "<none>": 1}

    DYNAMIC = "[groups.group_chemistry]\nquota_dynamic = {}\n[groups.group_physics]\nquota_dynamic = {}\n"

    @says(f"{QUOTAS}, dynamic quotas, sentences 1 to 4")
    @pytest.mark.parametrize("slots", [3, 30, 90])
    def test_quotas_as_proportions(self, pool, slots):
        """A dynamic quota is a proportion of the pool as it is in this cycle: a third and two thirds of any size."""
        pool.settings(self.DYNAMIC.format(0.33, 0.66))
        found = quotas(pool, slots)
        assert (found["group_chemistry"], found["group_physics"]) == pytest.approx((0.33 * slots, 0.66 * slots))

    @says(f"{QUOTAS}, dynamic quotas, available size", points=["negotiator.count_unusable_slots"])
    @pytest.mark.parametrize(("attributes", "size"), [
        ({"State": "Drained"}, 12), ({"State": "Drained", "Activity": "Retiring"}, 12), ({"Draining": True}, 12),
        ({"Offline": True}, 12), ({"Absent": True}, 12), ({"State": "Owner"}, 20), ({"Offline": False}, 20),
    ])  # fmt: skip
    @pytest.mark.parametrize("model", ["hierarchical", "flat"])
    def test_what_cannot_be_used_is_no_part_of_the_pool(self, pool, model, attributes, size):
        """Quotas and slices are of the available slots: not of those that are drained, offline or absent."""
        pool.settings(f'[negotiator]\nquota_model = "{model}"\n' + self.DYNAMIC.format(0.5, 0.25))
        pool.import_(slots=[slot_ad(f"slot1@{n}", **(attributes if n < 8 else {})) for n in range(20)])
        for group in ("group_physics", "group_chemistry"):
            pool.submit("ann", 20, group=group)
        cycle = pool.cycle()
        assert {one["group"]: one["quota"] for one in cycle["groups"]}["group_physics"] == size / 4
        got = Counter(match["group"] for match in cycle["matches"])
        assert got == {"group_physics": size / 4, "group_chemistry": size / 2}
        assert pool.fairq("status", "--json", "--now", NOW)["weight"] == size

    @says(f"{QUOTAS}, dynamic quotas, available size, over time")
    def test_a_draining_slot_counts_until_its_job_ends(self, pool):
        """Of eight slots in use, four begin to drain: the quotas become smaller with the end of each of their jobs."""
        pool.settings(self.DYNAMIC.format(0.5, 0.5))
        pool.slots(8)
        pool.submit("ann", 4, group="group_physics")
        pool.submit("bob", 9, group="group_chemistry")
        pool.cycle()
        pool.fairq("slots", "drain", *(f"slot{n}@node" for n in range(1, 5)), "--now", NOW + 60)
        sizes = [_quota(pool, NOW + 120)]
        pool.finish(["2.0", "2.1", "2.2"], NOW + 180)
        sizes.append(_quota(pool, NOW + 240))
        pool.fairq("slots", "drain", "slot1@node", "--cancel", "--now", NOW + 300)
        sizes.append(_quota(pool, NOW + 360))
        assert sizes == [4, 2.5, 3]
        ads = pool.fairq("slots", "--json", "--now", NOW + 360)
        states = [(ad["State"], ad["Activity"], ad.get("Draining")) for ad in ads[:4]]
        assert states == [("Claimed", "Busy", None), *[("Drained", "Idle", True)] * 2, ("Claimed", "Retiring", True)]

    @says(f"{QUOTAS}, dynamic quotas, values, sentence 1",
          note="1.0 itself is taken: all of the parent")  # fmt: skip
    def test_they_are_fractions(self, pool):
        """A dynamic quota is a fraction, not a number of machines."""
        pool.settings(self.DYNAMIC.format(1.5, 0.5))
        refused = pool.fairq("negotiate", "--now", NOW, code=SettingValueError.exit_code)
        assert "quota_dynamic = 1.5 is not valid; give a number or a percentage, 0 to 1" in refused.err

    @says(f"{QUOTAS}, dynamic quotas, values, sentences 2 and 3")
    @pytest.mark.parametrize(("parts", "found"), [((0.8, 0.8), (15, 15)), ((0.9, 0.6), (18, 12)), ((0.2, 0.3), (6, 9))])
    def test_fractions_beyond_one_are_scaled_down(self, pool, parts, found):
        """Fractions that add up to more than 1 are scaled down to 1; others stay."""
        pool.settings(self.DYNAMIC.format(*parts))
        seen = quotas(pool, 30)
        assert (seen["group_chemistry"], seen["group_physics"]) == pytest.approx(found)

    @says(f"{QUOTAS}, subgroups")
    def test_hep_and_lep(self, pool):
        """Of the physicists' twenty slots, high energy has fifteen and low energy five."""
        pool.settings(NESTED)
        pool.slots(30)
        for user, group in (("higgs", HEP), ("bohr", LEP), ("curie", "group_chemistry")):
            pool.submit(user, 60, group=group)
        assert pool.groups_got() == {HEP: 15, LEP: 5, "group_chemistry": 10}

    @says(f"{QUOTAS}, subgroups, dynamic")
    @pytest.mark.parametrize("slots", [30, 60])
    def test_fractions_of_the_parent(self, pool, slots):
        """A subgroup's fraction is that of its parent's quota: 0.75 of 0.66667 of thirty slots is fifteen."""
        pool.settings(
            self.DYNAMIC.format(0.33334, 0.66667)
            + '[groups."group_physics.hep"]\nquota_dynamic = 0.75\n[groups."group_physics.lep"]\nquota_dynamic = 0.25\n'
        )
        found = quotas(pool, slots)
        assert (found[HEP], found[LEP]) == pytest.approx((slots / 2, slots / 6), abs=0.001)
