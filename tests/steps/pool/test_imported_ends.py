"""Imported dynamic slots are merged back into their partitionable slot when their jobs end, however that is told."""

import pytest
from tests.steps.import_cases import NOW, claimed, imported, job, slot
from tests.steps.pool.test_imported_parts import sound

FITS = "/Expr(TARGET.RequestCpus <= MY.Cpus && (TARGET.RequestGPUs ?: 0) <= MY.GPUs)/"
GPUS = "/Expr({ GPUs_GPU_c })/"
MACHINE = {
    "Machine": "m1",
    "Requirements": FITS,
    "SlotWeight": "/Expr(Cpus)/",
    "MachineResources": "Cpus Swap GPUs tape",
}
LISTED = ("Name", "Cpus", "State")


def part(number, cpus, gpu, tape):
    """A dynamic slot with a GPU and some tape; its job is cluster 9."""
    own = {"Cpus": cpus, "Memory": 1000, "Disk": 500, "GPUs": 1, "tape": tape, "AssignedGPUs": gpu}
    more = {"DynamicSlot": True, "SlotType": "Dynamic", "SlotID": 1, "DSlotID": number}
    return {**claimed(f"slot1_{number}@m1", "bob@example.org", f"9.{number}", **MACHINE), **own, **more}


@pytest.fixture
def fairq(run, state, tmp_path):
    """A machine of 12 cores: jobs of bob's run on parts of 2 and 3; alice's job needs 10 cores, cyd's two GPUs."""
    parts = [part(1, 2, "GPU-a", 1), part(2, 3, "GPU-b", 4)]
    free = {"Cpus": 7, "Memory": 500, "Disk": 2000, "GPUs": 1, "tape": 0, "AvailableGPUs": GPUS, "NumDynamicSlots": 2}
    rest = slot("slot1@m1", **MACHINE, PartitionableSlot=True, SlotID=1, AssignedGPUs="GPU-a,GPU-b,GPU-c")
    lists = {f"Child{name}": [ad[name] for ad in parts] for name in LISTED}
    running = [
        job(9, n, JobStatus=2, Owner="bob", User="bob@example.org", JobCurrentStartDate=NOW - 600) for n in (1, 2)
    ]
    ads = {
        "slots": [{**rest, **free, **lists}, *parts],
        "jobs": [
            *running,
            job(1, RequestCpus=10),
            job(2, Owner="cyd", User="cyd@example.org", RequestCpus=1, RequestGPUs=2),
        ],
    }
    return imported(run, state, tmp_path, ads, {"accounting.uid_domain": "example.org"})


def whole(fairq):
    (found,) = (ad for ad in fairq("slots", "--json", "--now", NOW + 60) if ad["Name"] == "slot1@m1")
    return found


ENDS = [
    ("finish", ["finish", "9.1"]),
    ("remove", ["remove", "9.1"]),
    ("hold", ["hold", "9.1"]),
    ("drain", ["slots", "drain", "slot1_1@m1", "--fast"]),
    ("lost", ["slots", "remove", "slot1_1@m1", "--force"]),
]


@pytest.mark.parametrize("words", [words for _, words in ENDS], ids=[name for name, _ in ENDS])
def test_the_machine_has_what_the_part_had(fairq, state, words):
    """Cores, memory, disk, GPUs and tape go back, and the lists of dynamic slots name the other one alone."""
    fairq(*words, "--now", NOW + 60)
    assert [ad["Name"] for ad in fairq("slots", "--json")] == ["slot1@m1", "slot1_2@m1"]
    ad = whole(fairq)
    assert {name: ad[name] for name in ("Cpus", "Memory", "Disk", "GPUs", "tape", "NumDynamicSlots")} == {
        "Cpus": 9, "Memory": 1500, "Disk": 2500, "GPUs": 2, "tape": 1, "NumDynamicSlots": 1,
    }  # fmt: skip
    assert set(ad["AvailableGPUs"]) == {"GPU-c", "GPU-a"}
    assert [ad[f"Child{name}"] for name in LISTED] == [["slot1_2@m1"], [3], ["Claimed"]]
    assert sound(state)
    assert [one["job"] for one in fairq("negotiate", "--now", NOW + 120, "--json")["matches"]][-1] == "2.0"
    assert sound(state)


def test_after_the_last_end_there_is_one_slot(fairq, state):
    fairq("finish", "9.1", "9.2", "--now", NOW + 60)
    (ad,) = fairq("slots", "--json")
    assert (ad["Cpus"], ad["GPUs"], ad["tape"], ad["NumDynamicSlots"], ad["ChildName"]) == (12, 3, 5, 0, [])
    (match,) = fairq("negotiate", "--now", NOW + 120, "--json")["matches"][:1]
    assert match["dynamic_slot"] == "slot1_1@m1"
    assert sound(state)


def test_forecasts_merge_them_as_well(fairq):
    """What the job waits for is told with the time; queue --start and simulate agree with it."""
    start = fairq("why", "1.0", "--json", "--now", NOW)["start"]["start_time"]
    assert start is not None
    times = {one["Jobs"]: one["EstimatedStart"] for one in fairq("queue", "--start", "--json", "--now", NOW)}
    assert times["1.0"] == start
