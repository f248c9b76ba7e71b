"""A cycle with groups: one pie for each turn, what expressions see of groups, and why somebody got no more."""

import pytest
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, slots
from tests.engine.quotas.groups import both_rules, hold, rules_of, used

from fairq.common.records import AccountingRecord
from fairq.engine.classad import parse
from fairq.engine.negotiation.decision import StopReason
from fairq.engine.negotiation.rejections import RejectReason

PHYSICS = {"p": 20, "p.hep": 15, "p.lep": 5, "c": 10}


class TestWhy:
    """Every rejection for a quota says which group in the chain stopped it."""

    @both_rules
    def test_the_group_s_own_quota(self, rules):
        """c takes no surplus: its quota of 10 is the end."""
        decision = hold(rules_of(PHYSICS, rules), 30, {"c.u@d": 15})

        assert {(r.group, r.quota_group) for r in decision.rejections} == {("c", "c")}
        (submitter,) = decision.submitters
        assert (submitter.group, submitter.stopped, submitter.quota_group) == ("c", StopReason.QUOTA, "c")

    @both_rules
    def test_a_group_above_that_takes_no_surplus(self, rules):
        """hep would take surplus; the 20 of p stop it."""
        decision = hold(rules_of(PHYSICS, rules, surplus=["p.hep"]), 30, {"p.hep.u@d": 50})

        assert used(decision)["p.hep"] == 20
        assert {(r.group, r.quota_group) for r in decision.rejections} == {("p.hep", "p")}
        assert decision.submitters[0].quota_group == "p"

    @both_rules
    def test_of_equal_quotas_the_nearest(self, rules):
        """Hep and p both take no surplus, and both have 15: hep's own quota is the end."""
        decision = hold(rules_of({"p": 15, "p.hep": 15}, rules), 30, {"p.hep.u@d": 50})

        assert {(r.group, r.quota_group) for r in decision.rejections} == {("p.hep", "p.hep")}
        assert decision.submitters[0].quota_group == "p.hep"

    def test_a_quota_of_zero(self):
        """Who is in a group without quota gets no turn, and is told whose quota it is."""
        decision = hold(rules_of({"a": 0, "b": 0, "b.x": "100%"}), 5, {"a.u@d": 1, "b.x.u@d": 1, "u@d": 1})
        stopped = {submitter.submitter: (submitter.stopped, submitter.quota_group) for submitter in decision.submitters}

        assert stopped["a.u@d"] == (StopReason.QUOTA, "a")
        assert stopped["b.x.u@d"] == (StopReason.QUOTA, "b.x")
        assert stopped["u@d"] == (StopReason.NO_MORE_JOBS, None)

    def test_a_share_of_the_group_s_quota(self):
        """The first of two has its half of the quota: the limit is its own, the quota that of the group."""
        decision = hold(rules_of({"a": 10}), 30, {"a.u@d": 50, "a.v@d": 50})
        stopped = {submitter.submitter: submitter.stopped for submitter in decision.submitters}

        assert stopped == {"a.u@d": StopReason.QUOTA, "a.v@d": StopReason.QUOTA}
        assert {submitter.quota_group for submitter in decision.submitters} == {"a"}
        assert {submitter.submitter: submitter.matched for submitter in decision.submitters} == {"a.u@d": 5, "a.v@d": 5}

    def test_what_is_no_matter_of_quota_names_no_group(self):
        """Jobs that fit nowhere, and the share of a pool without groups."""
        decision = cycle(slots(4), {"a.u@d": [jobs(2, RequestMemory=10**6)]}, quotas=rules_of({"a": 3}))
        assert [(r.reason, r.quota_group) for r in decision.rejections] == [(RejectReason.NO_MATCH, None)]

        shared = cycle(slots(4), {"u@d": [jobs(9)], "v@d": [jobs(9)]})
        assert {r.quota_group for r in shared.rejections} == {None}
        assert {submitter.quota_group for submitter in shared.submitters} == {None}

    def test_a_full_group_without_preemption(self):
        """Its submitters have no turn at all, and are told why."""
        decision = hold(rules_of(PHYSICS), 30, {"c.u@d": 5}, {"c.old@d": 10}, consider_preemption=False)

        assert (decision.submitters[0].stopped, decision.submitters[0].quota_group) == (StopReason.QUOTA, "c")


class TestEphemeralAttributes:
    """What expressions see of groups while they negotiate (reference 3.11)."""

    def seen(self, requirement, policy, wants, **keywords):
        """The submitters that get slots which ask for *requirement*."""
        pool = slots(10, Requirements=f"/Expr({requirement})/")
        decision = cycle(pool, {name: [jobs(count)] for name, count in wants.items()}, quotas=policy, **keywords)
        return sorted({match.submitter for match in decision.matches})

    def test_the_submitter_s_group_and_its_quota(self):
        """SubmitterGroup and SubmitterGroupQuota, in the configured spelling."""
        policy = rules_of({"Physics": 4, "b": 2})
        wants = {"physics.u@d": 1, "b.u@d": 1, "u@d": 1}

        assert self.seen('TARGET.SubmitterGroup == "Physics"', policy, wants) == ["physics.u@d"]
        assert self.seen('TARGET.SubmitterGroup == "<none>"', policy, wants) == ["u@d"]
        assert self.seen("TARGET.SubmitterGroupQuota == 2", policy, wants) == ["b.u@d"]

    def test_the_group_s_use_of_the_moment(self):
        """SubmitterGroupResourcesInUse counts what other users of the group got a moment ago."""
        policy = rules_of({"a": 10})
        wants = {"a.u@d": 3, "a.v@d": 3}

        assert self.seen("TARGET.SubmitterGroupResourcesInUse < 1", policy, wants) == ["a.u@d"]
        assert self.seen("TARGET.SubmitterGroupResourcesInUse < 4", policy, wants) == ["a.u@d", "a.v@d"]

    def test_whose_turn_it_is(self):
        """SubmitterNegotiatingGroup; under autoregroup it is <none> at the second chance."""
        policy = rules_of({"a": 2}, regroup=True)
        regrouped = 'TARGET.SubmitterNegotiatingGroup == "<none>" && TARGET.SubmitterAutoregroup'

        assert self.seen('TARGET.SubmitterNegotiatingGroup == "a"', policy, {"a.u@d": 5}) == ["a.u@d"]
        assert self.seen(regrouped, policy, {"a.u@d": 5}) == ["a.u@d"]
        assert self.seen("TARGET.SubmitterAutoregroup", rules_of({"a": 2}), {"a.u@d": 5, "u@d": 5}) == []

    def test_without_groups_there_are_none(self):
        """SubmitterGroup is undefined where no groups are configured."""
        assert self.seen("TARGET.SubmitterGroup is undefined", None, {"a.u@d": 1}) == ["a.u@d"]

    def test_the_holder_s_group(self):
        """RemoteGroup and RemoteGroupQuota: a preemption policy may look at the groups of both."""
        users = ["a.old@d"] * 2 + ["old@d"] * 2
        pool = [claimed(slot, user, CurrentRank=0.0) for slot, user in zip(slots(4), users, strict=True)]
        wants = {"a.u@d": [jobs(2)], "b.u@d": [jobs(2)]}
        priorities = {"a.old@d": 100.0, "old@d": 100.0, "a.u@d": 1.0, "b.u@d": 1.0}
        decision = cycle(
            pool, wants, priorities,
            quotas=rules_of({"a": 8, "b": 8}),
            preemption_requirements="SubmitterGroup == RemoteGroup && RemoteGroupQuota == 2",
        )  # fmt: skip

        assert {match.submitter for match in decision.matches} == {"a.u@d"}


class TestPies:
    """Each group's turn is a pie of its own."""

    def test_floors_come_first_inside_a_group(self):
        """A floor of 4 in a quota of 6 is dealt before the rest is shared by priority."""
        records = [AccountingRecord("a.low@d", priority=1000.0, priority_factor=1.0, floor=4)]
        wants = {"a.low@d": [jobs(9)], "a.top@d": [jobs(9)]}
        decision = cycle(slots(10), wants, {"a.top@d": 1.0}, records, quotas=rules_of({"a": 6}))

        assert {submitter.submitter: submitter.matched for submitter in decision.submitters} == {
            "a.low@d": 4,
            "a.top@d": 2,
        }

    def test_ceilings_bind_inside_a_group(self):
        """What one may not have the other gets."""
        records = [AccountingRecord("a.u@d", ceiling=2)]
        decision = cycle(slots(10), {"a.u@d": [jobs(9)], "a.v@d": [jobs(9)]}, None, records, quotas=rules_of({"a": 6}))

        assert {submitter.submitter: submitter.matched for submitter in decision.submitters} == {"a.u@d": 2, "a.v@d": 4}

    def test_heavy_slots_count_their_weight(self):
        """A quota of 12 is three slots of weight 4."""
        decision = cycle(slots(10, Cpus=4), {"a.u@d": [jobs(9)]}, quotas=rules_of({"a": 12}))

        assert used(decision)["a"] == 12

    def test_a_pie_without_priorities_spins_once_today(self):
        """An infinite pie is never smaller after a match: what a quota of 6 leaves of a slot of 4 stays free."""
        wants = {"a.u@d": [jobs(9)]}
        changes = {"quotas": rules_of({"a": 6}, "htcondor", max_rounds=1), "ignore_user_priorities": True, **HTCONDOR}
        decision = cycle(slots(10, Cpus=4), wants, **changes)

        assert used(decision)["a"] == 4

    def test_without_slot_weights_a_quota_counts_slots(self):
        """NEGOTIATOR_USE_SLOT_WEIGHTS = False: a quota of 3 is three slots of whatever size."""
        decision = cycle(slots(10, Cpus=4), {"a.u@d": [jobs(9)]}, quotas=rules_of({"a": 3}), use_slot_weights=False)

        assert used(decision)["a"] == 3

    def test_the_size_of_the_pool_may_leave_slots_out(self):
        """NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT: half of the slots that count, not of all."""
        pool = [{**slot, "Counts": number < 4} for number, slot in enumerate(slots(10))]
        decision = cycle(pool, {"a.u@d": [jobs(9)]}, quotas=rules_of({"a": "50%"}), pool_size=parse("Counts"))

        assert used(decision)["a"] == 2

    def test_without_slot_weights_a_partitionable_slot_counts_its_cpus(self):
        """The pool's size is 8 + 2; half of it is 5."""
        pool = [{**slot, "PartitionableSlot": number == 0, "Cpus": 8} for number, slot in enumerate(slots(3))]
        decision = cycle(pool, {"a.u@d": [jobs(1)]}, quotas=rules_of({"a": "50%"}), use_slot_weights=False)

        assert {group.group: group.quota for group in decision.quotas} == {"<none>": 5, "a": 5}

    @pytest.mark.parametrize("size", [0, 3])
    def test_no_slots_or_no_jobs_are_no_trouble(self, size):
        """An empty pool, an idle pool."""
        policy = rules_of({"a": "50%", "b": 3}, surplus=True)

        assert hold(policy, size, {}).matches == []
        assert len(hold(policy, size, {"a.u@d": 1}).matches) == min(size, 1)


@pytest.mark.parametrize("cap", [None, 20, 3, 1])
def test_a_schedd_may_offer_only_so_many_jobs_in_a_turn(cap):
    """MAX_CONCURRENT_UPLOADS_PER_USER: at the cap the turn ends as if there were no more jobs."""
    decision = cycle(slots(60), {"u@d": [jobs(30), jobs(20)], "v@d": [jobs(50)]}, jobs_per_turn=cap)
    got = {submitter.submitter: submitter.matched for submitter in decision.submitters}

    assert got == dict.fromkeys(got, 30 if cap is None else cap)


def test_jobs_offered_in_vain_count_towards_the_cap():
    """Of four jobs offered in a turn, three fit nowhere."""
    wants = {"u@d": [jobs(3, RequestMemory=10**6, JobPrio=1), jobs(9)]}
    decision = cycle(slots(60), wants, jobs_per_turn=4)

    assert decision.submitters[0].matched == 1
