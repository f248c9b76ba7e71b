"""HTCondor 8's manual, sentence by sentence, under the rules documented: surplus and the order of groups."""

import pytest
from tests.documents.condor_pool import HEP, HTCONDOR_8, LEP, NESTED, NOW, PHYSICS, make_pool
from tests.documents.sentences import says

TEXT = HTCONDOR_8

QUOTAS = "Group Quotas"
SHARING = (
    NESTED.replace("quota = 15", "quota = 15\naccept_surplus = true")
    .replace("quota = 5", "quota = 5\naccept_surplus = true")
    .replace("quota = 20", "quota = 20\naccept_surplus = false")
)

pool = pytest.fixture(make_pool)


class TestSurplus:
    @says(f"{QUOTAS}, surplus, sentences 1 and 2")
    def test_it_is_off_by_default_and_lets_exceed_the_quota(self, pool):
        """A group that accepts surplus may exceed its quota by what others do not use; by default none does."""
        pool.settings(PHYSICS)
        pool.slots(30)
        pool.submit("newton", 60, group="group_physics")
        assert pool.groups_got() == {"group_physics": 20}
        pool.settings(PHYSICS.replace("quota = 20", "quota = 20\naccept_surplus = true"))
        assert pool.groups_got(NOW + 60) == {"group_physics": 10}

    @says(f"{QUOTAS}, surplus, sentence 3")
    def test_for_all_groups(self, pool):
        """GROUP_ACCEPT_SURPLUS lets all groups accept it."""
        pool.settings(PHYSICS + "[negotiator]\ngroup_accept_surplus = true\n")
        pool.slots(30)
        pool.submit("curie", 60, group="group_chemistry")
        assert pool.groups_got() == {"group_chemistry": 30}

    @says(f"{QUOTAS}, surplus, sentence 4")
    def test_for_one_group(self, pool):
        """GROUP_ACCEPT_SURPLUS_<group> lets one group accept it."""
        pool.settings(PHYSICS.replace("quota = 10", "quota = 10\naccept_surplus = true"))
        pool.slots(30)
        pool.submit("curie", 60, group="group_chemistry")
        pool.submit("newton", 4, group="group_physics")
        assert pool.groups_got() == {"group_chemistry": 26, "group_physics": 4}

    @says(f"{QUOTAS}, surplus, example", f"{QUOTAS}, distribution, last sentence",
          points=["negotiator.live_group_caps"])  # fmt: skip
    @pytest.mark.parametrize(("hep", "lep", "found"), [(60, 0, (20, 0)), (60, 2, (18, 2)), (3, 60, (3, 17))])
    def test_subgroups_share_within_their_parent(self, pool, hep, lep, found):
        """hep and lep may exceed 15 and 5, but together have no more than 20, for physics accepts no surplus."""
        pool.settings(SHARING)
        pool.slots(30)
        for user, group, jobs in (("higgs", HEP, hep), ("bohr", LEP, lep)):
            if jobs:
                pool.submit(user, jobs, group=group)
        got = pool.groups_got()
        assert (got[HEP], got[LEP]) == found

    @says(f"{QUOTAS}, surplus, example, last sentence")
    def test_without_limit_if_the_parent_accepts(self, pool):
        """If physics accepted surplus, its subgroups would not be limited to its quota."""
        pool.settings(SHARING.replace("accept_surplus = false", "accept_surplus = true"))
        pool.slots(30)
        pool.submit("higgs", 60, group=HEP)
        assert pool.groups_got() == {HEP: 30}

    @says(f"{QUOTAS}, distribution, sentences 1 to 3")
    def test_peers_first(self, pool):
        """Surplus goes bottom-up: first to peers that accept it, then to the parent and all its children."""
        pool.settings(SHARING.replace("accept_surplus = false", "accept_surplus = true")
                      .replace("quota = 10", "quota = 10\naccept_surplus = true"))  # fmt: skip
        pool.slots(30)
        for user, group, jobs in (("higgs", HEP, 60), ("bohr", LEP, 1), ("curie", "group_chemistry", 60)):
            pool.submit(user, jobs, group=group)
        assert pool.groups_got() == {HEP: 19, LEP: 1, "group_chemistry": 10}


class TestOrder:
    def order(self, pool, now=NOW):
        """Hold a cycle and name the groups in the order of their turns."""
        return list(dict.fromkeys(one["group"] for one in pool.cycle(now)["groups"]))

    @says(f"{QUOTAS}, order, sentences 1 to 5")
    def test_starvation_order(self, pool):
        """Groups negotiate one at a time: the one that uses the least part of its quota first, <none> last."""
        pool.settings(PHYSICS)
        pool.slots(20)
        pool.submit("newton", 15, group="group_physics")
        pool.submit("curie", 5, group="group_chemistry")
        pool.cycle()
        pool.slots(20, "more")
        for user, group in (("newton", "group_physics"), ("curie", "group_chemistry"), ("ann", "")):
            pool.submit(user, 50, group=group)
        assert self.order(pool, NOW + 60) == ["group_chemistry", "group_physics", "<none>"]

    @says(f"{QUOTAS}, order, sentences 6 and 7")
    def test_group_sort_expr(self, pool):
        """GROUP_SORT_EXPR replaces this order: the smallest value goes first."""
        pool.settings(PHYSICS + '[negotiator]\ngroup_sort_expr = "-GroupQuota"\n')
        pool.slots(40)
        for user, group in (("newton", "group_physics"), ("curie", "group_chemistry")):
            pool.submit(user, 50, group=group)
        assert [name for name in self.order(pool) if name != "<none>"] == ["group_physics", "group_chemistry"]

    @says(f"{QUOTAS}, table 3.1")
    @pytest.mark.parametrize(
        "expression",
        [
            'ifThenElse(AccountingGroup == "group_physics", 1, 2)',
            "ifThenElse(GroupQuota == 20, 1, 2)",
            "ifThenElse(GroupQuotaInUse > 0, 1, 2)",
            "ifThenElse(GroupQuotaAllocated >= 15, 1, 2)",
        ],
    )
    def test_what_it_reads(self, pool, expression):
        """It reads AccountingGroup, GroupQuota, GroupQuotaInUse and GroupQuotaAllocated."""
        pool.settings(PHYSICS)
        pool.slots(3)
        pool.submit("newton", 3, group="group_physics")
        pool.cycle()
        pool.settings(PHYSICS + f"[negotiator]\ngroup_sort_expr = '{expression}'\n")
        pool.slots(37, "more")
        for user, group in (("newton", "group_physics"), ("curie", "group_chemistry")):
            pool.submit(user, 50, group=group)
        order = self.order(pool, NOW + 60)
        assert order.index("group_physics") < order.index("group_chemistry")

    @says(f"{QUOTAS}, strict priority", points=["negotiator.strict_priority_quotas"])
    @pytest.mark.parametrize("held", [0, 7])
    def test_strict_priority(self, pool, held):
        """A quota too large to be met makes a group always negotiate first; a smaller one comes second, and so on."""
        pool.settings(
            "[groups.physics]\nquota = 1000000\n[groups.chemistry]\nquota = 1000\n[groups.biology]\nquota = 100\n"
            "[negotiator]\nnegotiator_allow_quota_oversubscription = true\n"
        )
        pool.slots(held or 1)
        if held:
            pool.submit("newton", held, group="physics")
            assert pool.groups_got() == {"physics": held}
        pool.slots(10 - (held or 1), "more")
        for user, group, jobs in (("linne", "biology", 50), ("curie", "chemistry", 50), ("newton", "physics", 2)):
            pool.submit(user, jobs, group=group)
        assert pool.groups_got(NOW + 60) == {"physics": 2, "chemistry": 8 - held}


class TestUserprio:
    @says(f"{QUOTAS}, condor_userprio -quotas")
    def test_quotas(self, pool):
        """condor_userprio -quotas shows the quotas and, of two groups with 60 jobs each, 60 requested."""
        pool.settings(NESTED)
        pool.slots(30)
        pool.submit("higgs", 60, group=HEP)
        pool.submit("bohr", 60, group=LEP)
        pool.cycle()
        lines = pool.fairq("userprio", "-quotas", "-allusers", "--now", NOW).out.splitlines()
        rows = {line.split()[0]: line.split()[1:] for line in lines if "group_physics." in line}
        assert {name: row[0:2] + row[2:4] + row[-1:] for name, row in rows.items()} == {
            HEP: ["15.00", "15.00", "no", "15.00", "60"],
            LEP: ["5.00", "5.00", "no", "5.00", "60"],
        }

    @says(f"{QUOTAS}, condor_userprio -most", points=["accounting.exact_usage"])
    def test_most(self, pool):
        """-most shows the number of resources in use, also straight after the first cycle."""
        pool.slots(3)
        pool.submit("ann", 3)
        pool.cycle()
        out = pool.fairq("userprio", "-most", "--now", NOW).out
        (row,) = [line.split() for line in out.splitlines() if "ann@example.org" in line]
        assert row[3] == "3"
        assert "Number of users: 1" in out
