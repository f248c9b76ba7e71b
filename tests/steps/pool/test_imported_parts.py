"""Dynamic slots of an imported pool are preempted to make room on their machine, as those that fairq carved."""

import json

import pytest
from tests.steps.import_cases import NOW, claimed, imported, job, slot, user

from fairq.state import check
from fairq.state.connection import reading

FITS = "/Expr(MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory)/"
MACHINE = {"Machine": "m1", "Requirements": FITS, "SlotWeight": "/Expr(Cpus)/"}


def part(number, holder="bob@example.org"):
    """A dynamic slot of one core and 1000 MB; its job is cluster 9."""
    own = {"Cpus": 1, "Memory": 1000, "DynamicSlot": True, "SlotType": "Dynamic", "SlotID": 1, "CurrentRank": 0.0}
    return {**claimed(f"slot1_{number}@m1", holder, f"9.{number}", **MACHINE), **own}


@pytest.fixture
def fairq(run, state, tmp_path):
    """A machine of 4 cores, 4500 MB and no GPU, whose parts bob has, and alice's job, which wants two cores of it."""

    own = {"Cpus": 0, "Memory": 500, "GPUs": 0, "MachineResources": "Cpus Memory Disk GPUs"}
    rest = slot("slot1@m1", **MACHINE, **own, PartitionableSlot=True, SlotID=1)
    ads = {
        "slots": [rest, *map(part, range(1, 5))],
        "jobs": [job(1, RequestCpus=2, RequestMemory=1500)],
        "accounting": [user("bob@example.org", Priority=90.0), user("alice@example.org", Priority=1.0)],
    }
    settings = {
        "accounting.uid_domain": "example.org",
        "negotiator.preemption_requirements": "RemoteUserPrio > SubmitterUserPrio * 1.2",
        "negotiator.allow_pslot_preemption": "true",
    }
    return imported(run, state, tmp_path, ads, settings)


def sound(state):
    with reading(state) as opened:
        return check.findings(opened) == []


@pytest.mark.parametrize("cycles_before", [0, 1])
def test_as_many_go_as_are_needed(cycles_before, fairq, state):
    """Two parts are gone, what they had is the new part's and the machine's, and the others run on."""
    if cycles_before:
        fairq("hold", 1)
        fairq("negotiate", "--now", NOW)
        fairq("release", 1)
    (match,) = fairq("negotiate", "--now", NOW + 60, "--json")["matches"]
    assert (match["slot"], match["reason"], match["preempted"]["submitter"]) == (
        "slot1@m1", "priority", "bob@example.org",
    )  # fmt: skip
    slots = {ad["Name"]: (ad["Cpus"], ad["Memory"]) for ad in fairq("slots", "--json")}
    assert slots.pop("slot1@m1") == (0, 964)
    assert slots.pop(match["dynamic_slot"]) == (2, 1536)
    assert list(slots.values()) == [(1, 1000)] * 2
    assert sound(state)
    assert fairq("negotiate", "--now", NOW + 120, "--json")["matches"] == []
    fairq("finish", 1)
    assert {ad["Name"]: ad["Cpus"] for ad in fairq("slots", "--json")}["slot1@m1"] == 2
    assert sound(state)


def test_it_is_off_unless_allowed(fairq):
    fairq("config", "set", "negotiator.allow_pslot_preemption", "false")
    assert fairq("negotiate", "--now", NOW, "--json")["matches"] == []


def test_a_job_of_the_queue_on_such_a_slot_waits_again(fairq, state, tmp_path):
    """Its run is kept, and it may get what is left."""
    running = [job(9, n, JobStatus=2, Owner="bob", User="bob@example.org", RequestMemory=1000) for n in range(1, 5)]
    wants = job(1, RequestCpus=2, RequestMemory=1500)
    (tmp_path / "more.json").write_text(json.dumps([wants, *running]))
    fairq("import", "--jobs", tmp_path / "more.json", "--now", NOW)
    (match,) = fairq("negotiate", "--now", NOW + 60, "--json")["matches"]
    evicted = {match["preempted"]["job"], *(one["job"] for one in match["preempted"]["others"])}
    assert len(evicted) == 2 and all(one.startswith("9.") for one in evicted)
    idle = fairq("queue", "--idle", "--json")
    assert {row["ClusterId"] for row in idle} == {9} and sound(state)


def test_one_may_be_preempted_by_itself(fairq, state, tmp_path):
    """A job that fits a part takes it over as it is, and the part stays."""
    (tmp_path / "small.json").write_text(json.dumps([job(1, RequestCpus=1, RequestMemory=900)]))
    fairq("import", "--jobs", tmp_path / "small.json", "--now", NOW)
    (match,) = fairq("negotiate", "--now", NOW, "--json")["matches"]
    assert (match["slot"], match["dynamic_slot"]) == ("slot1_1@m1", None)
    assert len(fairq("slots", "--json")) == 5
    assert sound(state)
