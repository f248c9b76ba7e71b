"""Dynamic slots preempted for a partitionable slot that is matched as a whole (docs/htcondor.md 3.14).

The real negotiator (23.9.6) was seen to decide each of these pools as it is claimed here.
"""

from __future__ import annotations

import pytest
from tests.engine.negotiation.pools import HTCONDOR, SLOT, claimed, cycle, jobs

from fairq.common.records import Ad
from fairq.engine.negotiation.decision import MatchReason

PRIORITIES = {"eve@x": 1.0, "bob@x": 20.0, "ann@x": 10.0}
NAME = "slot1_{}@m1"


def machine(free, parts, **attributes):
    """A partitionable slot with *free* cores, and its dynamic slots, of which its ad lists what they say."""
    made = []
    for number, part in enumerate(parts, 1):
        own = {"Name": NAME.format(number), "DynamicSlot": True, "PslotRollupInformation": True, "CurrentRank": 0.0}
        ad = claimed({**SLOT, "Memory": 1024, "SlotWeight": "/Expr(Cpus)/", **own}, "bob@x", **part)
        made.append({name: value for name, value in ad.items() if value is not None})
    lists: Ad = {"NumDynamicSlots": len(made)}
    for name in ("Name", "State", "CurrentRank", "RetirementTimeRemaining", "Cpus", "Memory"):
        lists[f"Child{name}"] = [ad.get(name) for ad in made]
    own = {"PartitionableSlot": True, "MachineResources": "Cpus Memory", "SlotWeight": "/Expr(Cpus)/"}
    whole = {**SLOT, "Name": "slot1@m1", "Cpus": free, "Memory": 4096, **own}
    return [{**whole, **lists, **attributes}, *made]


def hold(pool, *wanted, **changes):
    """Hold a cycle for the jobs that eve wants to run."""
    rules = {"partitionable_slots": "whole", "allow_pslot_preemption": True, "preemption_requirements": "true"}
    return cycle(pool, {"eve@x": wanted}, PRIORITIES, **{**HTCONDOR, **rules, "tie_break": "std_sort", **changes})


def victims(decision):
    """The dynamic slots that each match preempts, by number."""
    return [match.evicted for match in decision.matches]


def test_those_with_the_lowest_rank_go_until_the_job_fits():
    parts = [{"CurrentRank": 3.0}, {"CurrentRank": 1.0}, {"CurrentRank": 2.0}]
    decision = hold(machine(1, parts, Rank=5.0), jobs(1, RequestCpus=3))
    (match,) = decision.matches
    assert (match.slot, match.evicted, match.reason) == (0, (2, 3), MatchReason.RANK)
    assert match.preempted == "bob@x"
    assert match.victims == (2, 3)


def test_one_that_the_slot_prefers_to_the_job_stays():
    parts = [{"CurrentRank": 3.0}, {"CurrentRank": 1.0}]
    assert not hold(machine(1, parts, Rank=2.0), jobs(1, RequestCpus=3)).matches


def test_equal_rank_needs_the_policy_and_another_submitter():
    parts: list[Ad] = [{}, {"Cpus": 2, "RemoteUser": "eve@x"}, {"RemoteUser": "ann@x"}]
    assert victims(hold(machine(0, parts), jobs(1, RequestCpus=2))) == [(1, 3)]
    assert not hold(machine(0, parts), jobs(1, RequestCpus=2), preemption_requirements="RemoteUserPrio > 15").matches
    assert not hold(machine(0, parts), jobs(1), preemption_requirements="false").matches


def test_the_policy_is_asked_for_each_dynamic_slot():
    parts: list[Ad] = [{"RemoteUser": "ann@x"}, {}, {"Cpus": 2}]
    decision = hold(machine(0, parts), jobs(1, RequestCpus=3), preemption_requirements="RemoteUserPrio > 15")
    assert victims(decision) == [(2, 3)]
    assert [match.reason for match in decision.matches] == [MatchReason.PRIORITY]


def test_without_a_policy_the_next_slot_is_taken_as_the_first():
    """Also where the policy, which there is none of, may change its answer within the cycle."""
    parts: list[Ad] = [{"Cpus": 2}]
    other = [{**ad, "Name": ad["Name"].replace("m1", "m2"), "Machine": "m2"} for ad in machine(0, parts)]
    other[0]["ChildName"] = [other[1]["Name"]]
    rules = {"preemption_requirements": None, "requirements_stable": False}
    assert victims(hold(machine(0, parts) + other, jobs(2, RequestCpus=2), **rules)) == [(1,), (3,)]


def test_of_preferences_mixed_the_match_counts_as_one_by_priority():
    parts = [{"CurrentRank": 2.0}, {"CurrentRank": 1.0}]
    (match,) = hold(machine(0, parts, Rank=2.0), jobs(1, RequestCpus=2)).matches
    assert (match.evicted, match.reason) == ((2, 1), MatchReason.PRIORITY)


@pytest.mark.parametrize("left", [{"RetirementTimeRemaining": 60}, {"State": "Preempting"}])
def test_one_with_retirement_time_or_that_is_being_preempted_stays(left):
    assert victims(hold(machine(0, [left, {}]), jobs(1))) == [(2,)]


def test_nobody_leaves_a_slot_that_has_room():
    decision = hold(machine(2, [{}, {}]), jobs(1, RequestCpus=2))
    assert [(match.slot, match.evicted, match.preempted) for match in decision.matches] == [(0, None, None)]


def test_one_of_lower_rank_leaves_even_if_it_does_not_help():
    parts = [{"CurrentRank": 1.0, "Cpus": 4}, {"CurrentRank": 0.0, "Cpus": 0}]
    assert victims(hold(machine(0, parts, Rank=5.0), jobs(1, RequestCpus=4))) == [(2, 1)]


def test_the_match_costs_the_weight_of_the_slot_with_what_is_returned():
    (match,) = hold(machine(1, [{"Cpus": 2}, {}]), jobs(1, RequestCpus=3)).matches
    assert match.cost == 3.0


def test_priority_preempts_within_the_limit_and_rank_beyond_it():
    """Eve has all the weight there is, so that her slice is used up."""
    hers, his = {"RemoteUser": "eve@x", "Cpus": 4, "CurrentRank": 9.0}, {"SlotWeight": 0}
    assert not hold(machine(0, [hers, his]), jobs(1)).matches
    assert victims(hold(machine(0, [hers, his], Rank=5.0), jobs(1))) == [(2,)]


def test_a_dynamic_slot_is_no_candidate_by_itself():
    """One that its partitionable slot does not list is."""
    parts = [{"Cpus": 4}]
    assert [match.slot for match in hold(machine(0, parts), jobs(1)).matches] == [0]
    pool = machine(0, [{"Cpus": 4, "PslotRollupInformation": None}])
    alone = [{name: value for name, value in ad.items() if not name.startswith("Child")} for ad in pool]
    assert [match.slot for match in hold(alone, jobs(1)).matches] == [1]
    assert [match.slot for match in hold(machine(0, parts), jobs(1), allow_pslot_preemption=False).matches] == [1]


def test_a_list_of_another_length_counts_for_nothing():
    assert not hold(machine(0, [{}, {}], NumDynamicSlots=1), jobs(1)).matches


def test_without_preemption_nobody_leaves():
    assert not hold(machine(0, [{}]), jobs(1), consider_preemption=False).matches


def test_each_is_given_away_once_even_if_no_job_takes_its_room():
    """The first kind of job takes the free slot; the search for it has used up the room on the machine."""
    free = {**SLOT, "Name": "slot2@m1", "Cpus": 1, "Memory": 4096}
    pool = [*machine(0, [{}, {}]), free]
    assert [match.slot for match in hold(pool, jobs(1, RequestMemory=600)).matches] == [3]
    decision = hold(pool, jobs(1, RequestMemory=600), jobs(1, RequestMemory=500))
    assert [(match.slot, match.evicted) for match in decision.matches] == [(3, None), (0, (2,))]
    decision = hold(pool, *(jobs(1, RequestMemory=memory) for memory in (600, 500, 400)))
    assert [(match.slot, match.evicted) for match in decision.matches] == [(3, None), (0, (2,))]
    decision = hold(pool[:1] + pool[1:2] + pool[3:], jobs(1, RequestMemory=600), jobs(1, RequestMemory=500))
    assert [match.slot for match in decision.matches] == [2]


def test_use_that_ends_with_the_cycle_counts_in_it():
    """Whoever is preempted has not less before the next cycle."""
    parts: list[Ad] = [{}, {}]
    pool = [*machine(0, parts), *machine(0, parts)]
    pool = [{**ad, "Name": ad["Name"].replace("m1", f"m{number // 3}")} for number, ad in enumerate(pool)]
    for number in (0, 3):
        pool[number]["ChildName"] = [pool[number + 1]["Name"], pool[number + 2]["Name"]]
    decision = hold(pool, jobs(2, RequestCpus=2), preemption_requirements="RemoteUserResourcesInUse >= 4")
    assert [match.slot for match in decision.matches] == [0, 3]


def test_no_more_leave_than_a_submitter_may_preempt():
    """Two machines have room for a job each; after the first, eve's maximum of a cycle is reached."""
    pool = machine(0, [{}])
    other = [{**ad, "Name": ad["Name"].replace("m1", "m2")} for ad in pool]
    other[0]["ChildName"] = [other[1]["Name"]]
    assert victims(hold([*pool, *other], jobs(2))) == [(1,), (3,)]
    assert victims(hold([*pool, *other], jobs(2), max_preemptions_per_submitter=1)) == [(1,)]


def test_equal_ones_leave_in_the_order_of_the_negotiators_sort():
    """Of more than 16, std::sort takes others first than those listed first."""
    assert victims(hold(machine(0, [{}] * 16), jobs(1, RequestCpus=2))) == [(1, 2)]
    (leaving,) = victims(hold(machine(0, [{}] * 17), jobs(1, RequestCpus=2)))
    assert sorted(leaving or ()) == [9, 17]
