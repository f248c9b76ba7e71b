"""Dynamic slots in the pool: made by a cycle, gone with their job, whatever happens in between."""

import json

import pytest

from fairq.state import check, dynamic_slots
from fairq.state.connection import reading


@pytest.fixture
def fairq(run, state):
    """Call fairq on the state; it must succeed. Returns what it prints, read if it is JSON."""

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return json.loads(ended.out) if "--json" in words else ended.out

    return fairq


@pytest.fixture
def machine(fairq):
    """A machine of 8 cores, 8 GB and 2 GPUs, and two running jobs: 3 cores with a GPU, and 1 core."""
    fairq("slots", "add", "node1", "--partitionable", "--cpus", 8, "--memory", 8192, "--gpus", 2)
    fairq("submit", "--request-cpus", 3, "--request-memory", 1024, "--request-gpus", 1, "--", "/bin/sleep", "9")
    fairq("submit", "--request-cpus", 1, "--request-memory", 512, "--", "/bin/sleep", "9")
    fairq("negotiate")
    return fairq


def left(fairq):
    """Cores, memory and GPUs of every slot as it stands."""
    return {ad["Name"]: (ad["Cpus"], ad["Memory"], ad["GPUs"]) for ad in fairq("slots", "--json")}


WHOLE = {"slot1@node1": (8, 8192, 2)}


def sound(state):
    with reading(state) as opened:
        return check.findings(opened) == []


def test_a_match_makes_a_dynamic_slot(machine, state):
    """Parts and rest sum up to the machine; every part has its own ad, claim and weight."""
    assert left(machine) == {
        "slot1@node1": (4, 6656, 1),
        "slot1_1@node1": (3, 1024, 1),
        "slot1_2@node1": (1, 512, 0),
    }
    rest, first, _ = machine("slots", "--json")
    assert (rest["PartitionableSlot"], rest["SlotType"], rest["NumDynamicSlots"]) == (True, "Partitionable", 2)
    want = {
        "SlotType": "Dynamic", "DynamicSlot": True, "ParentSlotId": 1, "DSlotId": 1, "SlotWeight": 3,
        "TotalSlotCpus": 3, "State": "Claimed", "JobId": "1.0", "Machine": "node1",
    }  # fmt: skip
    assert {name: first.get(name) for name in want} == want
    assert "PartitionableSlot" not in first
    assert sound(state)


def test_negotiate_names_the_dynamic_slot(fairq):
    """A dry run names the same one that the cycle makes."""
    fairq("slots", "add", "node1", "--partitionable", "--cpus", 4)
    fairq("submit", "--count", 2, "--", "/bin/sleep", "9")
    tried = fairq("negotiate", "--json", "--dry-run")["matches"]
    made = fairq("negotiate", "--json")["matches"]
    assert tried == made
    assert [(one["slot"], one["dynamic_slot"]) for one in made] == [
        ("slot1@node1", "slot1_1@node1"),
        ("slot1@node1", "slot1_2@node1"),
    ]
    assert "slot1_2@node1" in fairq("queue", "1.1", "--af", "RemoteHost")


@pytest.mark.parametrize("words", [("finish",), ("remove",), ("hold",)])
def test_the_end_of_a_job_gives_back_what_it_took(machine, state, words):
    machine(*words, "1", "2")
    assert left(machine) == WHOLE
    assert sound(state)


def test_a_number_is_given_again(machine):
    """The dynamic slot of the next job has the lowest number that is free."""
    machine("finish", "1.0")
    machine("submit", "--request-cpus", 2, "--", "/bin/sleep", "9")
    (match,) = machine("negotiate", "--json")["matches"]
    assert match["dynamic_slot"] == "slot1_1@node1"


def test_the_use_of_a_part_is_charged_by_its_weight(machine):
    (user,) = (one for one in machine("userprio", "--all", "--allusers", "--json") if "@" in one["Name"])
    assert (user["ResourcesUsed"], user["WeightedResourcesUsed"]) == (2, 4.0)


def test_running_parts_stay_over_cycles(machine):
    before = left(machine)
    machine("negotiate")
    machine("negotiate")
    assert left(machine) == before


def test_a_pool_without_the_machine_ends_its_parts(machine, state):
    ended = machine("slots", "remove", "node1", "--force")
    assert "slot1_2@node1" in ended
    assert left(machine) == {}
    assert machine("queue", "--af", "JobStatus").split() == ["1", "1"]
    assert sound(state)


def test_a_machine_with_running_parts_is_not_removed(run, machine, state):
    assert run("--state", state, "slots", "remove", "slot1@node1").code == 41
    assert len(left(machine)) == 3


def test_removal_spares_another_slot_with_the_name_of_a_part(machine, state, tmp_path):
    """A slot elsewhere is called as a dynamic slot of the machine; it keeps its job."""
    ads = [ad for ad in machine("slots", "--json") if ad["Name"] == "slot1@node1"]
    other = {"Name": "slot1_1@node1", "MyAddress": "<2>", "Machine": "other", "Requirements": True}
    pool = tmp_path / "slots.json"
    pool.write_text(json.dumps([*ads, {**ads[0], "PartitionableSlot": False, "Cpus": 8, **other}]))
    machine("import", "--slots", pool)
    machine("submit", "--request-cpus", 8, "--", "/bin/sleep", "9")
    machine("negotiate")
    machine("slots", "remove", "--force", "slot1@node1")

    assert [(ad["Machine"], ad.get("JobId")) for ad in machine("slots", "--json")] == [("other", "3.0")]
    with reading(state) as opened:
        assert check.findings(opened) == []


def test_whole_state_document_round_trips(machine, state, tmp_path):
    document = machine("export")
    (tmp_path / "document.json").write_text(document)
    machine("finish", "1", "2")
    machine("import", tmp_path / "document.json")
    assert len(left(machine)) == 3
    assert machine("export").partition('"history"')[0] == document.partition('"history"')[0]
    machine("finish", "1", "2")
    assert left(machine) == WHOLE


def test_an_import_of_the_same_machine_keeps_its_parts(machine, state, tmp_path):
    """The dump knows nothing of fairq's parts: the machine has as much less as they took."""
    (ad,) = (ad for ad in machine("slots", "--json") if ad["Name"] == "slot1@node1")
    dump = tmp_path / "slots.json"
    dump.write_text(json.dumps([{**ad, "Cpus": 8, "Memory": 8192, "GPUs": 2}]))
    before = left(machine)
    machine("import", "--slots", dump)
    assert left(machine) == before
    assert sound(state)
    machine("finish", "1", "2")
    assert left(machine) == WHOLE


def test_an_import_of_fairqs_own_dump_makes_the_parts_ordinary_slots(machine, state, tmp_path):
    """What the machine itself advertises as dynamic slots are slots like any other; nothing is counted twice."""
    dump = tmp_path / "slots.json"
    dump.write_text(json.dumps(machine("slots", "--json")))
    before = left(machine)
    machine("import", "--slots", dump)
    assert left(machine) == before
    assert sound(state)
    with reading(state) as opened:
        assert dynamic_slots.load_all(opened) == []
    machine("submit", "--count", 9, "--request-memory", 100, "--", "/bin/sleep", "9")
    machine("negotiate")
    assert sum(cores for cores, _, _ in left(machine).values()) == 8


def test_an_import_without_the_machine_ends_its_parts(machine, state, tmp_path):
    dump = tmp_path / "slots.json"
    dump.write_text(json.dumps([{"MyType": "Machine", "Name": "slot1@other", "State": "Unclaimed"}]))
    machine("import", "--slots", dump)
    assert machine("queue", "--af", "JobStatus").split() == ["1", "1"]
    assert sound(state)


def test_a_preempted_part_goes_to_the_better_job(machine, state):
    """A dynamic slot can be preempted as any slot; it then runs the other job, with what it has."""
    machine("config", "set", "negotiator.preemption_requirements", "true")
    machine("config", "set", "negotiator.preempt_prio_delta", "off")
    machine("slots", "drain", "slot1@node1")
    machine("submit", "--accounting-group", "other", "--request-cpus", 3, "--", "/bin/sleep", "9")
    (match,) = machine("negotiate", "--json")["matches"]
    assert (match["slot"], match["dynamic_slot"], match["preempted"]["job"]) == ("slot1_1@node1", None, "1.0")
    assert sound(state)
    machine("finish", "3")
    machine("remove", "2")
    assert left(machine) == WHOLE


def test_a_part_with_whole_rules_is_the_whole(fairq):
    fairq("config", "set", "negotiator.rules", "htcondor")
    fairq("slots", "add", "node1", "--partitionable", "--cpus", 4)
    fairq("submit", "--count", 3, "--", "/bin/sleep", "9")
    (match,) = fairq("negotiate", "--json")["matches"]
    assert (match["slot"], match["dynamic_slot"]) == ("slot1@node1", None)


class TestRoom:
    """With allow_pslot_preemption dynamic slots are preempted together, to make room for a larger job."""

    @pytest.fixture
    def full(self, fairq):
        """A machine of 4 cores that one user's four jobs fill."""
        fairq("config", "set", "negotiator.preemption_requirements", "true")
        fairq("config", "set", "negotiator.preempt_prio_delta", "off")
        fairq("config", "set", "negotiator.allow_pslot_preemption", "true")
        fairq("slots", "add", "node1", "--partitionable", "--cpus", 4, "--memory", 4096)
        fairq("submit", "--count", 4, "--request-memory", 100, "--", "/bin/sleep", "9")
        fairq("negotiate")
        fairq("userprio", "--setprio", fairq("queue", "1.0", "--af", "User").strip(), 100)
        return fairq

    def submit(self, full, cores, group="other"):
        full("submit", "--accounting-group", group, "--request-cpus", cores, "--request-memory", 300,
             "--", "/bin/sleep", "9")  # fmt: skip

    def test_as_many_go_as_are_needed(self, full, state):
        self.submit(full, 2)
        (match,) = full("negotiate", "--json")["matches"]
        assert (match["slot"], match["reason"]) == ("slot1@node1", "priority")
        assert len({match["preempted"]["job"], *(one["job"] for one in match["preempted"]["others"])}) == 2
        assert match["dynamic_slot"] == "slot1_5@node1"
        cores = {ad["Name"]: ad["Cpus"] for ad in full("slots", "--json")}
        assert sorted(cores.values()) == [0, 1, 1, 2]
        assert full("queue", "--idle", "--af", "ClusterId").split() == ["1", "1"]
        assert sound(state)

    def test_nobody_goes_where_even_that_is_not_enough(self, full):
        self.submit(full, 5)
        assert full("negotiate", "--json")["matches"] == []
        assert full("queue", "--running", "--af", "ClusterId").split() == ["1"] * 4

    def test_nobody_preempts_oneself(self, full):
        full("submit", "--request-cpus", 2, "--request-memory", 300, "--", "/bin/sleep", "9")
        assert full("negotiate", "--json")["matches"] == []

    def test_nothing_moves_in_the_cycle_after(self, full, state):
        self.submit(full, 2)
        full("negotiate")
        before = left_cores(full)
        full("config", "set", "negotiator.preempt_prio_delta", "0.5")
        assert full("negotiate", "--json")["matches"] == []
        assert left_cores(full) == before

    def test_it_is_off_unless_allowed(self, full):
        full("config", "set", "negotiator.allow_pslot_preemption", "false")
        self.submit(full, 2)
        assert full("negotiate", "--json")["matches"] == []

    def test_all_comes_back(self, full, state):
        self.submit(full, 3)
        full("negotiate")
        full("remove", "1", "2")
        assert left_cores(full) == {"slot1@node1": 4}
        assert sound(state)


def left_cores(fairq):
    return {ad["Name"]: ad["Cpus"] for ad in fairq("slots", "--json")}
