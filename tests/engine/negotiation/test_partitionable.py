"""Partitionable slots in a cycle: what is taken, in which order, at what weight (reference 3.14)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.engine.negotiation.pools import HTCONDOR, SLOT, claimed, cycle, jobs, matched, slots

from fairq.common.records import Ad

POLICY: Ad = {
    "MachineResources": "Cpus Memory Swap",
    "ConsumptionCpus": "/Expr(TARGET.RequestCpus)/",
    "ConsumptionMemory": "/Expr(TARGET.RequestMemory)/",
}

_BOB_MAY_BE_PREEMPTED: Any = {
    "priorities": {"a@x": 1.0, "b@x": 1.0, "bob@x": 1000.0},
    "running": True,
    "preemption_requirements": "true",
}


def machines(count, cpus=8, memory=8192, **attributes):
    """Partitionable slots alike, weighed by their cores."""
    whole = {"PartitionableSlot": True, "SlotWeight": "/Expr(Cpus)/", "Cpus": cpus, "Memory": memory}
    return [{**SLOT, **whole, "Name": f"slot1@m{number}", **attributes} for number in range(1, count + 1)]


def picks(decision):
    return [match.slot for match in decision.matches]


def test_a_job_takes_what_it_requests_and_the_rest_serves_others():
    """8 cores serve jobs of 4, 3 and 1 core in one cycle; each costs its cores."""
    decision = cycle(machines(1), {"a@x": [jobs(1, RequestCpus=4), jobs(1, RequestCpus=3), jobs(3)]})
    assert [match.cost for match in decision.matches] == [4.0, 3.0, 1.0]
    assert [dict(match.carving.amounts) for match in decision.matches if match.carving] == [
        {"Cpus": 4.0, "Memory": 512.0},
        {"Cpus": 3.0, "Memory": 512.0},
        {"Cpus": 1.0, "Memory": 512.0},
    ]


def test_the_scarcest_resource_ends_it():
    """With memory for three jobs only three of eight cores are given."""
    decision = cycle(machines(1, memory=1600), {"a@x": [jobs(8)]})
    assert matched(decision) == {"a@x": 3}


def test_breadth_first_every_machine_gets_one_before_any_gets_two():
    decision = cycle(machines(3, cpus=2), {"a@x": [jobs(6)]})
    assert picks(decision) == [0, 1, 2, 0, 1, 2]


def test_depth_first_fills_a_machine_before_the_next():
    decision = cycle(machines(3, cpus=2), {"a@x": [jobs(5)]}, depth_first=True)
    assert picks(decision) == [0, 0, 1, 1, 2]


def test_every_round_goes_by_the_ranks_of_the_moment():
    """Slots with more cores left first: the machine that has most comes first in every round."""
    pool = [*machines(1, cpus=2), {**machines(1, cpus=5)[0], "Name": "slot1@big"}]
    decision = cycle(pool, {"a@x": [jobs(5, Rank="/Expr(TARGET.Cpus)/")]}, pre_job_rank="0")
    assert picks(decision) == [1, 0, 1, 0, 1]


def test_static_slots_stand_in_the_same_order():
    """Slots are taken by rank, whether they are divided or not."""
    pool = [*slots(2, Cpus=2, Memory=4096), *machines(1, cpus=1), *machines(1, cpus=4)]
    for number, ad in enumerate(pool):
        ad["Name"] = f"slot1@n{number}"
    decision = cycle(pool, {"a@x": [jobs(7)]})
    # Fewest cores first; the partitionable slot of 4 again when all had their turn.
    assert picks(decision) == [2, 0, 1, 3, 3, 3, 3]


def test_one_core_jobs_share_machines_as_they_share_single_cores():
    """Two users, one with twice the priority value: 16 and 8 of 24 cores, however they are packed."""
    wants = {"a@x": [jobs(30)], "b@x": [jobs(30)]}
    priorities = {"a@x": 10.0, "b@x": 20.0}
    packed = matched(cycle(machines(3), wants, priorities))
    assert packed == matched(cycle(slots(24), wants, priorities)) == {"a@x": 16, "b@x": 8}


def test_the_smallest_match_is_that_of_the_smallest_job():
    """A limit below the machine's weight is no reason to pass a submitter over."""
    decision = cycle(machines(1, cpus=64, memory=2**20), {"a@x": [jobs(40)], "b@x": [jobs(40, RequestCpus=2)]})
    assert decision.min_slot_weight == 1.0
    assert matched(decision) == {"a@x": 32, "b@x": 16}


def test_gpus_are_given_out_one_by_one():
    pool = machines(1, cpus=16, GPUs=2) + machines(1, cpus=16)
    pool[1]["Name"] = "slot1@without"
    decision = cycle(pool, {"a@x": [jobs(5, RequestGPUs=1)]})
    assert picks(decision) == [0, 0]


def test_any_resource_of_the_machine_can_be_requested():
    pool = machines(2, MachineResources="Cpus Memory Bandwidth", Bandwidth=10)
    decision = cycle(pool, {"a@x": [jobs(9, RequestBandwidth=4)]})
    assert picks(decision) == [0, 1, 0, 1]
    assert {match.carving.amounts["Bandwidth"] for match in decision.matches if match.carving} == {4.0}


@pytest.mark.parametrize("request_", [-1, "many", "/Expr(error)/", 9, 1e300])
def test_a_request_that_makes_no_sense_gets_nothing(request_):
    """Less than nothing, no number, and more than there is are no requests to carve."""
    ad: Ad = {"RequestCpus": request_, "RequestMemory": 0, "Requirements": True}
    decision = cycle(machines(1, Requirements=True), {"a@x": [jobs(2, **ad)]})
    assert decision.matches == []


def test_a_job_that_says_nothing_takes_a_core():
    ad = {"RequestCpus": "/Expr(undefined)/", "RequestMemory": "/Expr(undefined)/", "Requirements": True}
    decision = cycle(machines(1, cpus=2, Requirements=True), {"a@x": [jobs(3, **ad)]})
    assert [match.cost for match in decision.matches] == [1.0, 1.0]


def test_a_request_may_be_an_expression_over_the_slot():
    """Half the cores of the machine, whatever they are."""
    pool = machines(1, cpus=8, TotalSlotCpus=8)
    decision = cycle(pool, {"a@x": [jobs(3, RequestCpus="/Expr(TARGET.TotalSlotCpus / 2)/")]})
    assert [match.cost for match in decision.matches] == [4.0, 4.0]


def test_the_slots_own_expression_says_what_a_part_weighs():
    """Weight by memory: a job pays for the memory it takes."""
    pool = machines(1, memory=4096, SlotWeight="/Expr(Memory / 1024.0)/")
    decision = cycle(pool, {"a@x": [jobs(1, RequestMemory=1024), jobs(1, RequestMemory=512)]})
    assert [match.cost for match in decision.matches] == [1.0, 0.5]


def test_without_slot_weights_every_part_counts_one():
    decision = cycle(machines(1), {"a@x": [jobs(2, RequestCpus=3)]}, use_slot_weights=False)
    assert {match.cost for match in decision.matches} == {1.0}


def test_what_start_says_of_the_rest_is_heeded():
    """A machine that takes no job once fewer than five cores are left keeps four."""
    for depth_first in (False, True):
        pool = machines(1, Requirements="/Expr(MY.Cpus > 4 && TARGET.RequestCpus <= MY.Cpus)/")
        assert matched(cycle(pool, {"a@x": [jobs(8)]}, depth_first=depth_first)) == {"a@x": 4}


def test_whole_slots_are_given_once():
    """Today's negotiator gives a plain partitionable slot once in a cycle, at its whole weight."""
    decision = cycle(machines(2), {"a@x": [jobs(5)]}, partitionable_slots="whole")
    assert [(match.slot, match.cost, match.carving) for match in decision.matches] == [(0, 8.0, None), (1, 8.0, None)]


def test_whole_slots_depth_first_stand_for_the_jobs_that_fit():
    """A match stands for all jobs of the request that the slot has room for; the schedd packs them.

    It gives the next match to the next job: which ones it packs shows later.
    """
    decision = cycle(machines(3), {"a@x": [jobs(12)]}, partitionable_slots="whole", depth_first=True)
    assert [(match.slot, match.proc) for match in decision.matches] == [(0, 0), (1, 1)]


def test_depth_first_expects_two_jobs_on_a_static_slot_of_two_cores_too():
    """Today's negotiator does not ask whether a slot is partitionable: a job for each match is left to the schedd."""
    pool = slots(4, Cpus=2, Memory=4096)
    decision = cycle(pool, {"a@x": [jobs(5)]}, partitionable_slots="whole", depth_first=True)
    assert [match.proc for match in decision.matches] == [0, 1, 2]


def test_depth_first_expects_the_schedd_to_fill_the_rest_of_a_slot_with_a_consumption_policy():
    """A match leaves seven of eight cores: as many jobs are the schedd's. Seen in cycles of the real negotiator."""
    rules: dict[str, Any] = {**HTCONDOR, "partitionable_slots": "whole", "depth_first": True, "tie_break": "std_sort"}
    assert picks(cycle(machines(1, **POLICY), {"a@x": [jobs(5)]}, **rules)) == [0]
    assert picks(cycle(machines(2, **POLICY), {"a@x": [jobs(12)]}, **rules)) == [0, 1]
    both = {"a@x": [jobs(6)], "b@x": [jobs(6)]}
    decision = cycle(machines(2, cpus=4, **POLICY), both, {"a@x": 1.0, "b@x": 2.0}, **rules)
    assert [(match.submitter[0], match.slot) for match in decision.matches] == [
        *(("a", 0), ("a", 1)),
        *(("b", slot) for slot in (0, 1, 0, 1, 1, 0)),
    ]


def test_what_the_schedd_packs_is_offered_again_in_the_next_spin():
    """Nobody tells the negotiator that a packed job started: after its first turn a@x offers all jobs but four."""
    wants = {"a@x": [jobs(100)], "b@x": [jobs(100)], "c@x": [jobs(1)]}
    decision = cycle(machines(12), wants, partitionable_slots="whole", depth_first=True, **HTCONDOR)
    offered = [match.proc for match in decision.matches if match.submitter == "a@x"]
    assert offered == [0, 1, 2, 3, 4, 5]


def test_consumption_policies_go_round_as_today():
    """With the default ranks matches rotate over equal slots, by the comparison the wrong way round."""
    decision = cycle(
        machines(3, cpus=3, **POLICY), {"a@x": [jobs(9)]}, partitionable_slots="whole", tie_break="std_sort"
    )
    assert Counter(picks(decision)) == {0: 3, 1: 3, 2: 3}
    assert picks(decision)[:3] == [0, 1, 2]


@pytest.mark.parametrize(("rule", "first"), [("carve", 0), ("whole", 1)])
def test_today_a_consumption_policy_does_not_override_what_ranks_read(rule, first):
    """The first machine counts 500 MB as 2000 and ranks by what is asked for; the second ranks all jobs at 1000."""
    policy = POLICY | {"ConsumptionMemory": "/Expr(quantize(TARGET.RequestMemory, {2000}))/"}
    pool = machines(2, **policy, Rank="/Expr(TARGET.RequestMemory)/")
    pool[1]["Rank"] = 1000
    decision = cycle(pool, {"a@x": [jobs(1, RequestMemory=500)]}, partitionable_slots=rule)
    assert [match.slot for match in decision.matches] == [first]


def test_today_a_consumption_policy_is_charged_by_weight_without_slot_weights_too():
    """NEGOTIATOR_USE_SLOT_WEIGHTS = False does not bind what the slot's ad says a part is worth."""
    pool = machines(1, **POLICY)
    rules = {"partitionable_slots": "whole", "use_slot_weights": False}
    decision = cycle(pool, {"a@x": [jobs(2, RequestCpus=3)]}, **rules)
    assert {match.cost for match in decision.matches} == {3.0}


def test_a_consumption_policy_overrides_the_request():
    """Memory in steps of 1000 MB, whatever the job asks for."""
    pool = machines(1, memory=2500, **POLICY | {"ConsumptionMemory": "/Expr(quantize(TARGET.RequestMemory, {1000}))/"})
    for rule in ("whole", "carve"):
        assert matched(cycle(pool, {"a@x": [jobs(8)]}, partitionable_slots=rule)) == {"a@x": 2}


@pytest.mark.parametrize(("rule", "depth_first"), [("carve", False), ("carve", True), ("whole", False)])
def test_a_slot_with_a_consumption_policy_has_as_many_matches_as_claims(rule, depth_first):
    """The first slot has cores for eight jobs, and two claims; the second does not say how many it has.

    Seen in cycles of the real negotiator.
    """
    pool = machines(2, **POLICY)
    pool[0]["NumClaims"] = 2
    rules: dict[str, Any] = {"partitionable_slots": rule, "depth_first": depth_first}
    wants = {"a@x": [jobs(6)], "b@x": [jobs(14, RequestMemory=256)]}
    assert Counter(picks(cycle(pool, wants, **rules))) == {0: 2, 1: 8}
    pool[0]["NumClaims"] = 0
    assert Counter(picks(cycle(pool, wants, **rules))) == {1: 8}


def test_today_a_slot_with_a_consumption_policy_comes_up_again_if_it_suited_the_last_job():
    """Start is tested again after each match, with what the submitter had in use when the job was offered.

    The second job finds the slot on the list, where the first one's match left it. Seen in a cycle of the real
    negotiator.
    """
    pool = machines(1, **POLICY, Start="/Expr(SubmitterUserResourcesInUse < 1)/", Requirements="/Expr(Start)/")
    rules: dict[str, Any] = {**HTCONDOR, "partitionable_slots": "whole", "tie_break": "std_sort"}
    assert matched(cycle(pool, {"a@x": [jobs(4)]}, **rules)) == {"a@x": 2}


def test_today_a_slot_without_a_claim_is_a_candidate_until_a_job_is_to_have_it():
    """The large job learns that the slice keeps it from the slot; then a small one finds the slot without a claim.

    From then on there is nothing left. Seen in cycles of the real negotiator.
    """
    pool = machines(1, **POLICY, NumClaims=1)
    wants = {"a@x": [jobs(1), *(jobs(1, RequestCpus=cpus) for cpus in (6, 2, 5))], "b@x": [jobs(1, RequestCpus=9)]}
    rules: dict[str, Any] = {**HTCONDOR, "partitionable_slots": "whole", "tie_break": "std_sort"}
    decision = cycle(pool, wants, **rules)

    reasons = [rejection.reason.name for rejection in decision.rejections if rejection.submitter == "a@x"]
    assert picks(decision) == [0]
    assert reasons[:3] == ["SUBMITTER_LIMIT", "NO_MATCH", "NO_MATCH"]


def test_the_claims_of_a_slot_without_a_consumption_policy_are_no_maximum():
    assert matched(cycle(machines(1, NumClaims=2), {"a@x": [jobs(9)]})) == {"a@x": 8}


def test_a_policy_for_some_resources_is_none():
    incomplete = {name: value for name, value in POLICY.items() if name != "ConsumptionMemory"}
    decision = cycle(machines(1, **incomplete), {"a@x": [jobs(3)]}, partitionable_slots="whole")
    assert matched(decision) == {"a@x": 1}


def test_a_draining_or_used_up_machine_gives_nothing():
    pool = [*machines(1), *machines(1, cpus=0)]
    pool[1]["Name"] = "slot1@full"
    assert cycle(pool, {"a@x": [jobs(3)]}, draining=[0]).matches == []


@pytest.mark.parametrize(
    ("attributes", "considered", "count"),
    [
        ({}, False, 1),
        ({"WantMatching": False}, False, 0),
        ({"WorkingCM": "<10.0.0.1>"}, False, 0),
        ({"WorkingCM": "<10.0.0.1>"}, True, 1),
        ({"WantMatching": False, "WorkingCM": "<10.0.0.1>"}, True, 0),
    ],
)
def test_claimed_partitionable_slots_of_others(attributes, considered, count):
    """Those that want no match, or that another pool works on, are no candidates."""
    pool = machines(1, State="Claimed", Activity="Busy", **attributes)
    decision = cycle(pool, {"a@x": [jobs(1)]}, match_working_cm_slots=considered)
    assert len(decision.matches) == count


@pytest.mark.parametrize(("mips", "victims"), [(1, []), (2, []), (3, ["bob@x"])])
def test_nobody_leaves_a_slot_while_what_is_left_of_a_machine_ranks_higher_or_equally(mips, victims):
    """Four jobs and eight cores on each of two machines: bob keeps his slot, unless the jobs like it better."""
    pool = [*machines(2, Mips=2), claimed({**SLOT, "Name": "slot1@bob", "Mips": mips}, "bob@x")]
    decision = cycle(pool, {"a@x": [jobs(4, Rank="/Expr(TARGET.Mips)/")]}, pre_job_rank="0", **_BOB_MAY_BE_PREEMPTED)
    assert matched(decision)["a@x"] == 4
    assert [match.preempted for match in decision.matches if match.preempted] == victims


@pytest.mark.parametrize(("mips", "first"), [(1, "slot1@m1"), (2, "slot1@m1"), (3, "slot1@bob")])
def test_a_free_part_beyond_the_slice_bars_preemption_where_it_ranks_higher_or_equally(mips, first):
    """A slice is two cores, the only free part has four: bob is preempted before it is gone only for a better slot."""
    bobs = claimed({**SLOT, "Name": "slot1@bob", "Cpus": 4, "SlotWeight": 1, "Mips": mips}, "bob@x")
    pool = [*machines(1, cpus=4, Mips=2), bobs]
    wants = {name: [jobs(1, Rank="/Expr(TARGET.Mips)/", RequestCpus=4)] for name in ("a@x", "b@x")}
    decision = cycle(pool, wants, pre_job_rank="0", **_BOB_MAY_BE_PREEMPTED)
    assert [pool[match.slot]["Name"] for match in decision.matches if match.submitter == "a@x"] == [first]
    assert matched(decision) == {"a@x": 1, "b@x": 1, "bob@x": 0}
