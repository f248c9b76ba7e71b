"""What a slot's ad tells of its holder during negotiation."""

import pytest
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, matched, slots
from tests.engine.quotas.groups import rules_of

from fairq.common.records import AccountingRecord

WORSE = {"a@x": 10.0, "v@x": 1000.0}


def held(count, user="v@x", **attributes):
    """Slots that *user* holds."""
    return [claimed(slot, user) for slot in slots(count, **attributes)]


def differing(count):
    """Jobs of which each is of a kind of its own, so that each is matched on its own."""
    return [jobs(1, RequestMemory=500 + number) for number in range(count)]


@pytest.mark.parametrize(
    ("gate", "got"),
    [
        ("RemoteUserPrio == 1000", 4),
        ("RemoteUserFloor == 2", 4),
        ("RemoteUserFloor > 2", 0),
        ("RemoteUserResourcesInUse >= 0", 4),
        ("RemoteUserResourcesInUse > 2", 2),
        ("RemoteUserResourcesInUse > RemoteUserFloor", 2),
        ("SubmitterUserResourcesInUse < RemoteUserResourcesInUse", 2),
        ("isUndefined(RemoteGroup) && isUndefined(RemoteGroupQuota)", 4),
        ("isUndefined(RemoteGroupResourcesInUse)", 4),
        ("SubmitterGroup =?= RemoteGroup", 4),
    ],
)
def test_a_preemption_policy_may_ask_about_the_holder(gate, got):
    """Priority, floor and use of who has the slot; its use as it is when each request is matched."""
    records = [AccountingRecord("v@x", floor=2)]
    decision = cycle(held(4), {"a@x": differing(4)}, WORSE, records, preemption_requirements=gate)

    assert matched(decision) == {"a@x": got}


def test_today_s_negotiator_rounds_the_priority_of_the_holder():
    """770.44 as a 32-bit float is more than 770.44: of two users of equal priority, either may preempt the other."""
    equal = {"a@x": 770.44, "v@x": 770.44}
    gate = {"preemption_requirements": "RemoteUserPrio > SubmitterUserPrio", "preempt_prio_delta": None}

    assert matched(cycle(held(4), {"a@x": [jobs(4)]}, equal, **gate)) == {"a@x": 0}
    assert matched(cycle(held(4), {"a@x": [jobs(4)]}, equal, **{**HTCONDOR, **gate})) == {"a@x": 4}


@pytest.mark.parametrize(
    ("gate", "got"),
    [
        ('RemoteGroup == "g.sub" && RemoteGroupQuota == 1', 4),
        ("RemoteGroupResourcesInUse > RemoteGroupQuota", 3),
        ("RemoteGroupResourcesInUse > 2", 2),
    ],
)
def test_with_groups_it_may_ask_about_the_holders_group(gate, got):
    """The holder's group, its quota, and what the group has in use at the moment."""
    quotas = rules_of({"g": 6, "g.sub": 1})
    priorities = {"a@x": 10.0, "g.sub.v@x": 1000.0}
    decision = cycle(
        held(4, "g.sub.v@x"), {"a@x": differing(4)}, priorities, quotas=quotas, preemption_requirements=gate
    )

    assert matched(decision)["a@x"] == got


@pytest.mark.parametrize(
    ("known", "gate", "got"),
    [
        (["g", "g.sub"], 'RemoteGroup == "g.sub"', 4),
        (["g"], 'RemoteGroup == "g.sub"', 0),
        ([], "isUndefined(RemoteGroup) && isUndefined(RemoteGroupQuota) && isUndefined(RemoteGroupResourcesInUse)", 4),
    ],
)
def test_of_groups_that_are_not_known_yet_nothing_is_told(known, gate, got):
    """The negotiator's slots tell of groups of whom an earlier cycle has settled the quotas."""
    decision = cycle(
        held(4, "g.sub.v@x"),
        {"a@x": differing(4)},
        {"a@x": 10.0, "g.sub.v@x": 1000.0},
        quotas=rules_of({"g": 6, "g.sub": 1}),
        preemption_requirements=gate,
        known_groups=frozenset(known),
    )

    assert matched(decision).get("a@x", 0) == got


@pytest.mark.parametrize(("rules", "got"), [({}, 0), (HTCONDOR, 2)])
def test_today_a_slot_tells_the_group_of_its_claim_until_the_group_is_known(rules, got):
    """The startd publishes RemoteGroup as it was at the match; of the other slot nobody knows it."""
    pool = [{**slot, "RemoteGroup": "g.sub"} for slot in held(2, "g.sub.v@x")]
    decision = cycle(
        [*pool, *held(3, "g.sub.v@x")[2:]],
        {"a@x": differing(4)},
        {"a@x": 10.0, "g.sub.v@x": 1000.0},
        quotas=rules_of({"g": 6, "g.sub": 1}),
        known_groups=frozenset(),
        **{**rules, "preemption_requirements": 'RemoteGroup == "g.sub"'},
    )

    assert matched(decision).get("a@x", 0) == got


@pytest.mark.parametrize(("stable", "got"), [(True, 4), (False, 2)])
def test_an_unstable_policy_is_asked_for_every_job(stable, got):
    """Jobs alike share one list, made when the first is matched, unless the policy is said not to be stable."""
    gate = "RemoteUserResourcesInUse > 2"
    decision = cycle(held(4), {"a@x": [jobs(4)]}, WORSE, preemption_requirements=gate, requirements_stable=stable)

    assert matched(decision) == {"a@x": got}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("gate", "stable", "got"),
    [
        ("SubmitterUserResourcesInUse < 1", True, [0, 1, 2]),
        ("SubmitterUserResourcesInUse < 1", False, [0, 1]),
        ("SubmitterUserResourcesInUse != 1", False, [0, 1, 2]),
    ],
)
def test_an_unstable_policy_is_asked_for_the_next_entry_of_the_list(whole, gate, stable, got):
    """The rule of PREEMPTION_REQUIREMENTS_STABLE = False.

    Before each further job of a list, the next entry of the whole list counts: if it would be preempted, the policy is
    asked anew, and where it refuses, a new list is made. For a free slot, or a part of one, nothing is asked, whatever
    comes after it.
    """
    first, free, last = held(1)[0], slots(1)[0], held(1)[0]
    if not whole:
        free |= {"PartitionableSlot": True, "Memory": 600}
    pool = [{**slot, "Name": f"slot1@m{place}", "Order": -place} for place, slot in enumerate((first, free, last))]
    decision = cycle(
        pool, {"a@x": [jobs(3)]}, WORSE, preemption_requirements=gate, requirements_stable=stable,
        pre_job_rank="My.Order",
    )  # fmt: skip

    assert [match.slot for match in decision.matches] == got


def test_the_preemption_rank_follows_the_use():
    """Ranking by the holder's use takes from whoever has most at the moment, in turns."""
    pool = [*held(3, "v@x"), *(claimed(slot, "w@x") for slot in slots(6)[3:])]
    decision = cycle(
        pool, {"a@x": differing(4)}, {"a@x": 10, "v@x": 1000, "w@x": 1000},
        preemption_requirements="true", preemption_rank="RemoteUserResourcesInUse",
    )  # fmt: skip

    holders = [match.preempted for match in decision.matches]
    assert sorted(map(str, holders[:2])) == ["v@x", "w@x"]
    assert sorted(map(str, holders[2:])) == ["v@x", "w@x"]


def test_a_job_may_ask_too():
    """The job's own Requirements see the same attributes."""
    requirements = "/Expr(TARGET.RemoteUserResourcesInUse > 2)/"
    wants = [jobs(1, RequestMemory=500 + number, Requirements=requirements) for number in range(4)]
    decision = cycle(held(4), {"a@x": wants}, WORSE, preemption_requirements="true")

    assert matched(decision) == {"a@x": 2}


@pytest.mark.parametrize("consider", [True, False])
def test_without_a_holder_nothing_is_defined(consider):
    """Free slots, and all where preemption is not considered, have none of them."""
    names = ("UserPrio", "UserFloor", "UserResourcesInUse", "Group", "GroupQuota", "GroupResourcesInUse")
    free = " && ".join(f"isUndefined(TARGET.Remote{name})" for name in names)
    decision = cycle(
        [*slots(2), *held(2, Cpus=2)[:1]],
        {"a@x": [jobs(4, Requirements=f"/Expr({free})/")]},
        consider_preemption=consider,
    )

    assert matched(decision) == {"a@x": 2}


class TestSiblings:
    """NEGOTIATOR_CROSS_SLOT_PRIOS: the other slots of the same machine."""

    def pool(self):
        """Two machines of two slots; v holds one slot of the first, and w all of the second."""
        pool = [
            {**slot, "Name": f"slot{number}@{machine}", "Machine": machine, "SlotID": number}
            for machine in ("m1", "m2")
            for number in (1, 2)
            for slot in slots(1)
        ]
        pool[1] = claimed(pool[1], "v@x")
        pool[2:] = [claimed(slot, "w@x") for slot in pool[2:]]
        return pool

    @pytest.mark.parametrize(
        ("requirements", "cross", "got"),
        [
            ("TARGET.Slot2_RemoteUserPrio == 1000", True, [0]),
            ("TARGET.Slot2_RemoteUserPrio == 1000", False, []),
            ("isUndefined(TARGET.Slot1_RemoteUserPrio)", True, [0]),
            ("TARGET.Slot2_RemoteUserResourcesInUse == 1", True, [0]),
            ("TARGET.Slot1_RemoteUserResourcesInUse == 2", True, []),
            ("isUndefined(TARGET.Slot3_RemoteUserPrio)", True, [0]),
        ],
    )
    def test_a_slot_knows_who_has_its_siblings(self, requirements, cross, got):
        """Only free slots are matched here; the attributes tell of the other slot of the machine."""
        decision = cycle(
            self.pool(), {"a@x": [jobs(4, Requirements=f"/Expr({requirements})/")]},
            {"a@x": 10, "v@x": 1000, "w@x": 500}, cross_slot_prios=cross,
        )  # fmt: skip

        assert [match.slot for match in decision.matches] == got

    def test_any_attribute_of_a_job_may_read_of_siblings(self):
        """If its Requirements read that attribute; of two jobs alike but for it, only one is matched."""
        needs_bad_neighbour, needs_good_one = (
            jobs(1, Requirements="/Expr(MY.Wanted)/", Wanted=f"/Expr(TARGET.Slot2_RemoteUserPrio == {priority})/")
            for priority in (1000, 1)
        )
        decision = cycle(
            self.pool(), {"a@x": [needs_good_one, needs_bad_neighbour]}, {"v@x": 1000, "w@x": 500},
            cross_slot_prios=True,
        )  # fmt: skip

        assert [(match.cluster, match.slot) for match in decision.matches] == [(2, 0)]

    def test_what_the_machine_says_comes_first(self):
        """A slot's ad may name the holders of its siblings itself."""
        pool = self.pool()
        pool[0]["Slot2_RemoteUser"] = "w@x"
        requirements = "/Expr(TARGET.Slot2_RemoteUserPrio == 500)/"
        decision = cycle(
            pool, {"a@x": [jobs(4, Requirements=requirements)]}, {"v@x": 1000, "w@x": 500}, cross_slot_prios=True
        )

        assert [match.slot for match in decision.matches] == [0]


@pytest.mark.parametrize(("stable", "got"), [(True, [1, 2, 3]), (False, [1, 2, 4])])
def test_an_unstable_rank_is_asked_for_the_next_slot(stable, got):
    """Whoever has most loses next, unless the list is kept: of v's three slots the third stays while w has two."""
    pool = [*held(3, "v@x"), *(claimed(slot, "w@x") for slot in slots(5)[3:])]
    decision = cycle(
        pool, {"a@x": [jobs(3)]}, {**WORSE, "w@x": 1000.0}, preemption_requirements="true",
        preemption_rank="RemoteUserResourcesInUse", preemption_rank_stable=stable,
    )  # fmt: skip

    assert [match.slot + 1 for match in decision.matches] == got


def test_the_one_preempted_is_who_runs_there():
    """A claim that waits is the one to beat, the job on the slot the one that goes."""
    (slot,) = held(1)
    waits = {"PreemptingUser": "w@x", "PreemptingAccountingGroup": "w@x", "PreemptingRank": 0.0}
    decision = cycle([{**slot, **waits}], {"a@x": [jobs(1)]}, {**WORSE, "w@x": 900.0}, preemption_requirements="true")

    assert [match.preempted for match in decision.matches] == ["v@x"]
