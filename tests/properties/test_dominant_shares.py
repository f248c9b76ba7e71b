"""The laws of Dominant Resource Fairness (Ghodsi and others, NSDI 2011, sections 3 and 4), held by one cycle.

An empty pool of equal machines that are divided as jobs request, and equal priorities.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import claimed, cycle, jobs, matched, slots

from fairq.engine.classad import parse
from fairq.engine.dominance import Dominance, Price
from fairq.engine.negotiation.resource_shares import ResourceTaking, fill_progressively

NAMES = ("Cpus", "Memory", "GPUs", "Licences")


def deal(machine, wants, count=1):
    """Hold one cycle on *count* machines; *wants*: how many jobs of which request each submitter has."""
    has = dict(zip(NAMES, machine, strict=True))
    pool = slots(count, **has, PartitionableSlot=True, MachineResources="Cpus Memory Disk Swap GPUs Licences")
    queues = {
        name: [jobs(number, **{f"Request{of}": amount for of, amount in zip(NAMES, request, strict=True)})]
        for name, (number, request) in wants.items()
    }
    modify = {"cpus": parse("RequestCpus"), "memory": parse("RequestMemory")}
    return cycle(pool, queues, dominant=Dominance(), modify_requests=modify)


def test_the_example_of_the_paper():
    """9 cores and 18 GB; A wants (1, 4) and B (3, 1) for each job: 3 jobs and 2, both two thirds of the pool."""
    decision = deal((9, 18, 0, 0), {"A": (20, (1, 4, 0, 0)), "B": (20, (3, 1, 0, 0))})

    assert matched(decision) == {"A": 3, "B": 2}
    assert decision.pie == 9
    assert {of.submitter: of.matched_weight for of in decision.submitters} == {"A": 6, "B": 6}


def test_a_lie_brings_nothing():
    """Who asks for more than it needs gets no more jobs: here A, of cores or of memory."""
    honest = (20, (1, 4, 0, 0))
    for lie in ((2, 4, 0, 0), (3, 4, 0, 0), (1, 5, 0, 0), (1, 8, 0, 0), (4, 4, 0, 0)):
        told = deal((9, 18, 0, 0), {"A": (20, lie), "B": (20, (3, 1, 0, 0))})
        true = deal((9, 18, 0, 0), {"A": honest, "B": (20, (3, 1, 0, 0))})
        assert matched(told)["A"] <= matched(true)["A"]


def test_what_is_left_of_a_machine_outside_the_pie_is_in_no_slice():
    """The pie is one machine of 8 cores; 4 of each are taken in the first spin: 4 are left to slice, not 8."""
    machines = slots(2, Cpus=8, Memory=8000, PartitionableSlot=True, MachineResources="Cpus Memory Disk Swap")
    machines[0]["Counts"] = True
    wanted = [jobs(20, RequestCpus=1, RequestMemory=100)]
    modify = {"cpus": parse("RequestCpus"), "memory": parse("RequestMemory")}
    rules = {"dominant": Dominance(), "pool_size": parse("Counts =?= true"), "modify_requests": modify}
    decision = cycle(machines, {"A": wanted, "B": wanted}, {"A": 1.0, "B": 3.0}, **rules)

    assert [submitter.slices[:2] for submitter in decision.submitters] == [[6, 3], [2, 1]]


request = st.tuples(st.integers(1, 9), st.integers(1, 30), st.integers(0, 2), st.integers(0, 1))
WANTS = st.dictionaries(st.sampled_from("ABCDE"), st.tuples(st.integers(1, 40), request), min_size=2)
MACHINES = st.tuples(st.integers(9, 40), st.integers(30, 200), st.integers(2, 8), st.integers(1, 5))


def fits(request, space):
    """How many jobs with a *request* fit in a *space*."""
    return min(has // asked for has, asked in zip(space, request, strict=True) if asked)


@settings(max_examples=60, deadline=None)
@given(machine=MACHINES, wants=WANTS, count=st.sampled_from([1, 1, 2, 5]))
def test_the_laws(machine, wants, count):
    """No waiting job fits anywhere; nobody would have more in an equal part, or in the place of another one.

    Jobs are whole: the latter hold up to one job. Which jobs fit beside each other on several machines is no question
    of shares, so that there an equal part counts up to one job of each machine, and places are not compared.
    """
    decision = deal(machine, wants, count)
    got = dict.fromkeys(wants, 0) | matched(decision)
    left = [list(machine) for _ in range(count)]
    for match in decision.matches:
        left[match.slot] = [has - asked for has, asked in zip(left[match.slot], wants[match.submitter][1], strict=True)]
    waiting = {name: one for name, (number, one) in wants.items() if got[name] < number}

    assert not [name for name, one in waiting.items() if any(fits(one, tuple(rest)) for rest in left)]
    for name, one in waiting.items():
        part = tuple(amount // len(wants) for amount in machine)
        assert got[name] >= count * fits(one, part) - count, (name, got)
        for other, (_, request) in wants.items() if count == 1 else ():
            bundle = tuple((got[other] - 1) * amount for amount in request)
            assert got[name] + 1 >= fits(one, bundle), (name, other, got)


def test_what_is_worth_more_counts_for_more():
    """At equal prices all GPUs weigh the same; a price makes one of them heavier."""
    fast, slow = slots(1, Kind="fast", **_GPUS), slots(1, Kind="slow", **_GPUS)
    pool = [fast[0], {**slow[0], "Name": "slot1@m2"}]
    wants = {name: [jobs(9, RequestGPUs=1, Requirements=f'/Expr(Kind == "{name}")/')] for name in ("fast", "slow")}
    price = Price("gpus", 8, parse('Kind == "fast"'))

    plain = cycle(pool, wants, dominant=Dominance())
    priced = cycle(pool, wants, dominant=Dominance(prices=(price,)))

    assert [match.cost for match in plain.matches] == [8 / 8 * 2] * 8
    assert {match.submitter: match.cost for match in priced.matches} == {
        "fast": 16 * 8 / 36,
        "slow": 1,
    }  # its core is more than its GPU


_GPUS = {"Cpus": 8, "Memory": 8000, "GPUs": 4, "PartitionableSlot": True}


def test_a_slot_that_is_not_divided_weighs_what_it_has():
    """SlotWeight of its ad does not count: 8 cores and all GPUs are the whole pool."""
    pool = [*slots(1, Cpus=8, GPUs=2, SlotWeight=1), *(slots(3, Cpus=8, SlotWeight=1)[1:])]

    decision = cycle(pool, {"A": [jobs(3)], "B": [jobs(3)]}, dominant=Dominance())

    assert decision.pie == 24
    assert sorted(match.cost for match in decision.matches) == [8, 8, 24]


def test_priority_preempts_up_to_what_filling_entitles_to():
    """B has a better priority; A holds all memory. The paper's shares, weighted, are what B preempts for."""
    pool = [{**one, "Memory": 4, "Cpus": 1, "DynamicSlot": True} for one in slots(4)]
    pool = [claimed(one, "A") for one in pool]
    rest = {**slots(5)[4], "Cpus": 5, "Memory": 2, "PartitionableSlot": True}

    decision = cycle(
        [*pool, rest],
        {"B": [jobs(9, RequestCpus=1, RequestMemory=4)]},
        {"A": 100.0, "B": 10.0},
        dominant=Dominance(),
        preemption_requirements=None,
        partitionable_slots="carve",
    )

    assert matched(decision)["B"] == 4


def test_a_job_that_takes_nothing_takes_nothing_from_others():
    """Where priority may preempt, shares are computed first, also of A, whose job weighs nothing."""
    pool = [*slots(4), {**slots(5)[4], "Cpus": 0, "Memory": 0}]
    wants = {"A": [jobs(1, RequestCpus=0, RequestMemory=0)], "B": [jobs(9)]}
    decision = cycle(pool, wants, dominant=Dominance(), preemption_requirements=None)

    assert {match.slot: match.submitter for match in decision.matches} == {4: "A", **dict.fromkeys(range(4), "B")}


def test_the_scarcest_resource_requested_is_what_is_divided():
    """C has most memory: what is left is enough for four jobs, two of A and two of B, however many cores are free."""
    used = claimed({**slots(1)[0], "Cpus": 1, "Memory": 12, "DynamicSlot": True}, "C")
    rest = {**slots(2)[1], "Cpus": 7, "Memory": 4, "PartitionableSlot": True, "MachineResources": "Cpus Memory"}
    modify = {"cpus": parse("RequestCpus"), "memory": parse("RequestMemory")}
    wants = {name: [jobs(9, RequestMemory=1)] for name in "AB"}

    assert matched(cycle([used, rest], wants, dominant=Dominance(), modify_requests=modify)) == {"A": 2, "B": 2}


def test_entitlements_fill_until_a_resource_is_used_up():
    """The paper's example again; then with A at a fourth of the share, and with A content with one job of weight 2."""
    infinite, a, b = float("inf"), [4.5 / 9, 1, 1], [1, 1.5 / 9, 1]
    sizes = np.array([9, 9, infinite])

    def entitled(priority, demand):
        return fill_progressively(
            sizes, {"A": ResourceTaking(priority, demand, np.array(a)), "B": ResourceTaking(1, infinite, np.array(b))}
        )

    assert entitled(1, infinite) == {"A": 6, "B": 6}
    assert entitled(4, infinite) == {"A": 2, "B": 8}
    assert entitled(1, 2) == {"A": 8, "B": 8}


def test_a_pool_without_a_core_gives_nothing_and_warns_of_nothing(recwarn):
    decision = cycle(slots(2, Cpus=0), {"A": [jobs(2)]}, dominant=Dominance(), preemption_requirements=None)

    assert not decision.matches and decision.pie == 0
    assert not recwarn.list
