"""Nothing is free: 2,000 random requests of partitionable machines, and the limits of the jobs that get a part."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from tests.engine.negotiation.pools import SLOT, cycle

from fairq.common.records import Ad, Launch, LaunchPhase
from fairq.settings import load
from fairq.steps.launch.assignment import assignment
from fairq.steps.pool.dynamic_slots import carved_slots

EXPRESSIONS = ("/Expr(TARGET.Cpus / 4.0)/", "/Expr(TARGET.Cpus - TARGET.Cpus)/", "/Expr(undefined)/", "/Expr(error)/")
MEMORY = ("/Expr(TARGET.Memory / 3.0)/", "/Expr(TARGET.Memory * 0)/", "/Expr(undefined)/", "/Expr(-1)/")


def requests(chance):
    """Return what a job requests: nothing, fractions, whole amounts, expressions, or no attribute at all."""
    ad: Ad = {}
    if chance.random() < 0.8:
        ad["RequestCpus"] = chance.choice([0, 0.1, 0.5, 1, 1.5, 2, 7, *EXPRESSIONS])
    if chance.random() < 0.8:
        ad["RequestMemory"] = chance.choice([0, 1, 0.5, 100, 128, 129, 700.5, 4000, *MEMORY])
    if chance.random() < 0.5:
        ad["RequestDisk"] = chance.choice([0, 1, 1023.5, 1024, 5000])
    return ad


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rules", [{}, {"depth_first": True}], ids=["breadth first", "depth first"])
def test_what_is_carved_is_whole_is_there_and_is_charged(seed, rules, tmp_path):
    chance = random.Random(seed)
    weights = ["/Expr(Cpus)/", "/Expr(Cpus + Memory / 1000.0)/", 8, "/Expr(Memory)/"]
    machines = [
        {**SLOT, "Name": f"slot1@m{number}", "PartitionableSlot": True, "Cpus": chance.randint(0, 16),
         "Memory": chance.randint(0, 9000), "Disk": chance.randint(0, 50_000), "Requirements": True,
         "SlotWeight": chance.choice(weights)}
        for number in range(6)
    ]  # fmt: skip
    wanted = [{**requests(chance), "Requirements": True, "Owner": "a"} for _ in range(50)]
    queues = {f"u{n}@x": [(1, ad) for ad in wanted[n::2]] for n in range(2)}
    decision = cycle(machines, queues, **rules)
    taken: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    matches: defaultdict[int, int] = defaultdict(int)
    for match in decision.matches:
        assert match.carving is not None
        assert match.cost > 0
        assert match.carving.amounts["Cpus"] >= 1
        assert match.carving.amounts["Cpus"] % 1 == 0
        assert match.carving.amounts["Memory"] > 0
        matches[match.slot] += 1
        for name, amount in match.carving.amounts.items():
            taken[match.slot][name] += amount
    for row, ad in enumerate(machines):
        assert matches[row] <= ad["Cpus"]
        assert all(taken[row][name] <= ad[name] + 1e-6 for name in ("Cpus", "Memory", "Disk"))
    names = [str(ad["Name"]) for ad in machines]
    settings = load(None, None, {})
    for carved in carved_slots(decision.matches, list(range(6)), names, machines).values():
        launch = Launch(0, "1.0-x", "local", "", 1, 0, carved.name, LaunchPhase.INTENDED, 0, "b", 0.0)
        for asked in wanted[:5]:
            made = assignment(launch, {"Cmd": "/bin/true", "Iwd": "/", **asked}, carved.ad, settings, 0)
            assert made.memory == max(1, int(carved.ad["Memory"]))
            assert made.cpus == carved.ad["Cpus"]


@pytest.mark.parametrize(
    ("left", "asked", "carved"),
    [
        ({"Memory": 1000}, {"RequestMemory": 1}, 128),
        ({"Memory": 1000}, {"RequestMemory": 129}, 256),
        ({"Memory": 1000}, {"RequestMemory": 950}, 950),
        ({"Memory": 100}, {"RequestMemory": 50}, 50),
        ({"Memory": 100}, {"RequestMemory": 0}, 100),
        ({"Memory": 1000}, {}, 128),
        ({"Memory": 1000, "Requirements": "/Expr(TARGET.RequestMemory <= 130)/"}, {"RequestMemory": 130}, 130),
    ],
)
def test_memory_is_raised_to_its_step_where_that_fits_and_suits(left, asked, carved):
    slot = {**SLOT, "Name": "slot1@m", "PartitionableSlot": True, "Cpus": 4, "Requirements": True, **left}
    (match,) = cycle([slot], {"a@x": [(1, {"Requirements": True, **asked})]}).matches
    assert match.carving is not None
    assert match.carving.amounts["Memory"] == carved
