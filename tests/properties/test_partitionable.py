"""Whatever is asked of partitionable slots: they never give more than they have, and are refused to none they suit."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import SLOT, claimed, cycle, jobs

from fairq.common.records import AccountingRecord

machine = st.fixed_dictionaries(
    {
        "Cpus": st.integers(0, 9),
        "Memory": st.integers(0, 6000),
        "PartitionableSlot": st.sampled_from([True, True, False]),
    },
    optional={
        "GPUs": st.integers(0, 3),
        "SlotWeight": st.sampled_from(["/Expr(Cpus)/", "/Expr(Cpus + Memory / 1000.0)/", 2]),
        "Rank": st.sampled_from([0.0, "/Expr(TARGET.RequestCpus)/"]),
        "ConsumptionCpus": st.just("/Expr(TARGET.RequestCpus)/"),
        "ConsumptionMemory": st.just("/Expr(quantize(TARGET.RequestMemory, {128}))/"),
        "MachineResources": st.sampled_from(["Cpus", "Cpus Memory", "Cpus, Memory, Swap"]),
    },
)
job = st.fixed_dictionaries(
    {"RequestCpus": st.sampled_from([0, 0.5, 1, 2, 3, 20]), "RequestMemory": st.integers(0, 3000)},
    optional={"RequestGPUs": st.integers(0, 2), "Rank": st.sampled_from(["/Expr(Cpus)/", "/Expr(-Memory)/", 1.0])},
)
RULES = st.fixed_dictionaries(
    {
        "partitionable_slots": st.sampled_from(["carve", "carve", "whole"]),
        "depth_first": st.booleans(),
        "use_slot_weights": st.booleans(),
        "consider_preemption": st.booleans(),
        "tie_break": st.sampled_from(["slot_name", "std_sort"]),
    }
)


@settings(max_examples=75, deadline=None)
@given(
    machines=st.lists(machine, min_size=1, max_size=5),
    wants=st.lists(st.lists(st.tuples(st.integers(1, 12), job), max_size=3), min_size=1, max_size=3),
    rules=RULES,
)
def test_no_slot_gives_more_than_it_has(machines, wants, rules):
    """Parts sum up to at most the slot, a slot that goes as a whole goes once, and no job runs twice."""
    pool = [{**SLOT, **ad, "Name": f"slot1@m{number}"} for number, ad in enumerate(machines)]
    queues = {f"u{n}@x": [jobs(count, **ad) for count, ad in entries] for n, entries in enumerate(wants)}
    decision = cycle(pool, queues, **rules)

    for row, ad in enumerate(pool):
        found = [match for match in decision.matches if match.slot == row]
        pieces = [match.carving for match in found if match.carving is not None]
        assert len(pieces) == len(found) or len(found) == 1
        assert not pieces or ad["PartitionableSlot"]
        for name in ("Cpus", "Memory", "GPUs"):
            assert sum(piece.amounts.get(name, 0) for piece in pieces) <= ad.get(name, 0) + 1e-9
        assert all(piece.cost >= 0 and piece.amounts for piece in pieces)
    keys = [match.key for match in decision.matches]
    assert len(set(keys)) == len(keys)
    assert len({(match.cluster, match.proc) for match in decision.matches}) == len(decision.matches)
    if rules["partitionable_slots"] == "carve" and rules["use_slot_weights"]:
        assert sum(match.cost for match in decision.matches) <= decision.pie + 1e-6


WANTS_LITTLE, WANTS_MUCH = "/Expr(TARGET.Cpus < 3)/", "/Expr(TARGET.Memory > 2 * MY.RequestMemory)/"
asked = st.fixed_dictionaries(
    {"RequestCpus": st.sampled_from([0, 1, 2, 3]), "RequestMemory": st.sampled_from([100, 500, 1500])},
    optional={"Requirements": st.sampled_from(["/Expr(TARGET.HasIt)/", WANTS_LITTLE, WANTS_MUCH])},
)
host = st.tuples(
    st.fixed_dictionaries(
        {
            "Cpus": st.sampled_from([0, 1, 2, 4, 8]),
            "Memory": st.sampled_from([1000, 4000]),
            "PartitionableSlot": st.sampled_from([True, True, False]),
            "HasIt": st.booleans(),
            "Requirements": st.sampled_from([SLOT["Requirements"], True, "/Expr(Cpus > 1)/"]),
        }
    ),
    st.lists(st.sampled_from(["u0@x", "u1@x", "z@x"]), max_size=2),
)


@settings(max_examples=100, deadline=None)
@given(
    hosts=st.lists(host, min_size=1, max_size=5),
    wants=st.lists(st.lists(st.tuples(st.integers(1, 4), asked), min_size=1, max_size=4), min_size=1, max_size=3),
    priorities=st.lists(st.sampled_from([1.0, 5.0, 100.0]), min_size=3, max_size=3),
    ceilings=st.lists(st.sampled_from([-1, -1, 0, 2]), min_size=3, max_size=3),
    weights=st.booleans(),
    by_column=st.booleans(),
)
def test_requests_are_passed_over_only_where_they_would_be_refused(
    hosts, wants, priorities, ceilings, weights, by_column
):
    """A slot that prefers every job to the one it runs, but starts none, changes only how the others are searched."""
    pool = []
    for number, (ad, users) in enumerate(hosts):
        name = f"m{number}"
        pool += [claimed({**SLOT, "Name": f"slot1_{n}@{name}"}, user) for n, user in enumerate(users, 1)]
        pool.append({**SLOT, **ad, "Name": f"slot1@{name}"})
    queues = {f"u{n}@x": [jobs(count, **ad) for count, ad in entries] for n, entries in enumerate(wants)}
    known = {f"u{n}@x": priority for n, priority in enumerate(priorities)}

    def decide(rank, by_column):
        sealed = claimed({**SLOT, "Name": "slot1@sealed", "Requirements": False, "Rank": rank}, "z@x")
        records = [AccountingRecord(f"u{n}@x", ceiling=ceiling) for n, ceiling in enumerate(ceilings)]
        return cycle([*pool, sealed], queues, known, records, by_column=by_column, use_slot_weights=weights)

    told, untold = decide(0.0, True), decide(1.0, by_column)

    assert list(told.matches) == list(untold.matches)
    assert list(told.rejections) == list(untold.rejections)
    assert told.submitters == untold.submitters
