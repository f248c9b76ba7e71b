"""``fairq slots`` through the command line."""

import json
import os
from pathlib import Path

import pytest

T = 1_795_000_000
DUMP = Path(__file__).parents[1] / "data"


@pytest.fixture
def slots(run, state):
    def slots(*words):
        return run("slots", "--state", state, *words)

    return slots


def listed(slots, *words):
    return json.loads(slots("list", "--json", *words).out)


def test_a_slot_has_what_was_given(slots):
    ended = slots("add", "node1", "--cpus", 8, "--memory", "32GB", "--disk", "1TB", "--gpus", 2,
                  "--attribute", 'Site="CERN"', "--attribute", "opsys=\"WINDOWS\"", "--now", T)  # fmt: skip
    assert (ended.code, ended.out) == (0, "1 slot added\n")
    (ad,) = listed(slots)
    want = {"Name": "node1", "Machine": "node1", "Cpus": 8, "Memory": 32768, "Disk": 2**30, "GPUs": 2,
            "Site": "CERN", "opsys": "WINDOWS", "State": "Unclaimed", "Activity": "Idle",
            "EnteredCurrentState": T}  # fmt: skip
    assert {name: ad.get(name) for name in want} == want
    assert "OpSys" not in ad and "SlotWeight" not in ad


def test_several_slots_are_numbered(slots):
    slots("add", "node2", "--count", 3)
    assert [(ad["Name"], ad["Machine"], ad["SlotID"]) for ad in listed(slots)] == [
        (f"slot{number}@node2", "node2", number) for number in (1, 2, 3)
    ]


def test_a_slot_takes_no_job_that_asks_for_more_than_it_has(run, state, slots):
    slots("add", "small", "--cpus", 1, "--memory", 1000)
    run("submit", "--state", state, "--request-memory", 2000, "--requirements", "true", "--", "/bin/sh")
    run("submit", "--state", state, "--request-memory", 1000, "--", "/bin/sh")
    run("negotiate", "--state", state)
    assert run("queue", "--state", state, "--running", "--af", "ClusterId").out == "2\n"


def test_slots_come_from_a_dump(slots):
    ended = slots("add", "--file", DUMP / "condor_status-long-8.9.ads.gz")
    assert ended.code == 0, ended.err
    assert len(listed(slots)) > 0


def test_this_machine_is_described(slots, state):
    """One slot per core this process may use; nothing is stored unless asked for."""
    ads = json.loads(slots("detect", "--json").out)
    assert 1 <= len(ads) <= len(os.sched_getaffinity(0))
    assert all(ad["Cpus"] == 1 and ad["Memory"] > 0 and ad["Disk"] > 0 for ad in ads)
    assert all(ad["Arch"] and ad["OpSys"] == "LINUX" for ad in ads)
    assert not state.exists()


def test_this_machine_can_join_the_pool_as_one_slot(slots):
    ended = slots("detect", "--slots", 1, "--add")
    assert ended.err == "1 slot added\n"
    (ad,) = listed(slots)
    assert ad["Cpus"] == ad["TotalCpus"]
    assert ad["Name"] == f"slot1@{ad['Machine']}"


def test_gpus_are_read_as_nvidia_smi_prints_them():
    from fairq.common.hardware import gpu_of

    gpu = gpu_of("GPU-c4a646d7-aa14-1dd1-f1b0-57288cda864d, NVIDIA A100, 40536, 8.0, 535.129")
    assert gpu.name == "GPU-c4a646d7"
    assert gpu.properties["Capability"] == 8.0
    assert gpu.properties["GlobalMemoryMb"] == 40536


def test_gpus_are_shared_out():
    from fairq.common.hardware import Gpu, Machine
    from fairq.steps.pool.slot_ads import machine_slots

    machine = Machine(
        "m", "X86_64", "LINUX", 5, 1000, 900, tuple(Gpu(f"GPU-{n}", {"Capability": 7.5}) for n in range(3))
    )
    first, second = machine_slots(machine, 2, T)
    assert [(ad["Cpus"], ad["GPUs"], ad["Memory"]) for ad in (first, second)] == [(3, 2, 500), (2, 1, 500)]
    assert second["AvailableGPUs"] == ["/Expr(GPUs_GPU_1)/"]
    assert second["GPUs_GPU_1"]["Capability"] == 7.5


def test_the_list_shows_states_users_and_totals(run, state, slots):
    slots("add", "node", "--count", 2, "--cpus", 2)
    run("submit", "--state", state, "--accounting-group-user", "alice", "--", "/bin/sh")
    run("negotiate", "--state", state)
    lines = slots().out.splitlines()
    assert lines[0].split() == ["Name", "OpSys", "Arch", "State", "Activity", "LoadAv", "Cpus", "Mem", "User", "Job"]
    assert sum("Claimed    Busy" in line and "alice@" in line for line in lines) == 1
    assert sum("Unclaimed  Idle" in line for line in lines) == 1
    assert lines[-1].split() == ["Total", "2", "0", "1", "1", "0", "0"]
    claimed = [ad for ad in listed(slots) if ad["State"] == "Claimed"]
    assert claimed[0]["JobId"] == "1.0"
    assert claimed[0]["AccountingGroup"].startswith("alice@")


def test_the_list_can_be_limited(slots):
    slots("add", "a", "--count", 2)
    slots("add", "b", "--cpus", 2)
    assert [ad["Name"] for ad in listed(slots, "a")] == ["slot1@a", "slot2@a"]
    assert slots("list", "--constraint", "Cpus > 1", "--af", "Name").out == "b\n"
    assert slots("list", "--constraint", "Cpus > 1").out.splitlines()[-1].split()[1] == "1"


def test_a_draining_slot_finishes_its_job_and_takes_no_other(run, state, slots):
    slots("add", "node")
    run("submit", "--state", state, "--count", 2, "--", "/bin/sh")
    run("negotiate", "--state", state, "--now", T)
    assert slots("drain", "node").out == "slot node is being drained\n"
    assert [(ad["State"], ad["Activity"]) for ad in listed(slots)] == [("Claimed", "Retiring")]

    run("finish", "--state", state, "--all", "--now", T + 10)
    run("negotiate", "--state", state, "--now", T + 20)
    assert [ad["State"] for ad in listed(slots)] == ["Drained"]
    assert run("queue", "--state", state, "--running", "--json").out == "[]\n"

    slots("drain", "node", "--cancel")
    run("negotiate", "--state", state, "--now", T + 30)
    assert [ad["State"] for ad in listed(slots)] == ["Claimed"]


def test_a_slot_in_use_is_removed_by_force_and_its_job_waits_again(run, state, slots):
    slots("add", "node", "--count", 2)
    run("submit", "--state", state, "--", "/bin/sh")
    run("negotiate", "--state", state, "--now", T)
    refused = slots("remove", "node")
    assert refused.code == 41
    assert "for job 1.0" in refused.err
    assert len(listed(slots)) == 2

    assert slots("remove", "node", "--force", "--now", T + 10).out.count("removed") == 2
    assert listed(slots) == []
    assert run("queue", "--state", state, "--idle", "--af", "ProcId").out == "0\n"


def test_changes_of_the_pool_are_in_the_history(run, state, slots):
    slots("add", "node")
    slots("drain", "node")
    slots("remove", "node")
    entries = json.loads(run("state", "--state", state, "history", "--json").out)
    assert len(entries) == 3
    assert "slot node" in str(entries[0])


WRONG = [
    (["add"], 2, "either a NAME or --file"),
    (["add", "x", "--file", "y"], 2, "either a NAME or --file"),
    (["add", "--file", "/no/such/dump"], 46, "/no/such/dump cannot be read"),
    (["add", "a b"], 26, "'a b'"),
    (["add", ""], 26, "not a valid name"),
    (["add", "x", "--cpus", "0"], 2, "--cpus"),
    (["add", "x", "--cpus", "many"], 2, "--cpus"),
    (["add", "x", "--memory", "lots"], 25, "--memory"),
    (["add", "x", "--memory", "-5"], 25, "--memory"),
    (["add", "x", "--disk", "0"], 25, "--disk"),
    (["add", "x", "--gpus", "-1"], 2, "--gpus"),
    (["add", "x", "--count", "0"], 2, "--count"),
    (["add", "x", "--attribute", "Site"], 43, "'Site' is not an attribute"),
    (["add", "x", "--attribute", "a-b=1"], 43, "is not an attribute"),
    (["add", "x", "--attribute", "Site=a b"], 43, "not a ClassAd expression"),
    (["add", "node"], 42, "'node' is already in the pool"),
    (["detect", "--slots", "100000"], 43, "cannot share"),
    (["detect", "--slots", "0"], 2, "--slots"),
    (["remove"], 2, "no slots are selected"),
    (["remove", "nodee"], 40, "did you mean 'node'?"),
    (["remove", "node", "other"], 40, "'other'"),
    (["drain", "other"], 40, "no slot 'other'"),
    (["list", "other"], 40, "no slot 'other'"),
    (["list", "--constraint", "(("], 21, "not a ClassAd expression"),
    (["lst"], 2, "lst"),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=[" ".join(words) for words, _, _ in WRONG])
def test_wrong_use_ends_in_one_line_and_an_unchanged_state(slots, state, words, code, message):
    slots("add", "node")
    before = state.read_bytes()
    ended = slots(*words)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert state.read_bytes() == before


@pytest.mark.parametrize("way", [(), ("--partitionable",)], ids=["static", "partitionable"])
def test_the_setting_slot_weight_weighs_the_slots_that_fairq_describes(run, state, slots, monkeypatch, way):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_SLOT_WEIGHT", "Cpus + Memory / 1024")
    slots("add", "node", "--cpus", 2, "--memory", "6GB", *way)
    run("submit", "--state", state, "--request-cpus", 2, "--request-memory", "6GB", "--", "/bin/sh")
    decided = json.loads(run("negotiate", "--state", state, "--json").out)
    assert [submitter["matched_weight"] for submitter in decided["submitters"]] == [8]
    users = json.loads(run("userprio", "--state", state, "--json").out)
    assert max(user["WeightedResourcesUsed"] for user in users) == 8


def test_drained_slots_show_since_when_by_whom_and_why(slots):
    slots("add", "node1", "--count", 2, "--now", T)
    assert "Reason" not in slots("list").out
    slots("drain", "slot1@node1", "--reason", "new disk", "--now", T + 5)
    ads = {ad["Name"]: ad for ad in listed(slots)}
    assert ads["slot1@node1"]["DrainReason"] == "new disk"
    assert ads["slot1@node1"]["LastDrainStartTime"] == T + 5
    assert ads["slot1@node1"]["DrainedBy"]
    assert "LastDrainStartTime" not in ads["slot2@node1"]
    assert "new disk" in slots("list").out
    assert "new disk" in slots("list", "--limit", 1).out
    assert "new disk" in slots("list", "node1").out
    slots("drain", "node1", "--cancel", "--now", T + 6)
    assert "DrainReason" not in listed(slots)[0]
    slots("drain", "node1", "--now", T + 7)
    assert "DrainReason" not in listed(slots)[0]
    assert listed(slots)[0]["LastDrainStartTime"] == T + 7


def test_all_slots_are_drained_or_those_that_a_constraint_selects(slots):
    slots("add", "small", "--cpus", 1)
    slots("add", "big", "--cpus", 8)
    slots("add", "bigger", "--cpus", 16)
    ended = slots("drain", "--constraint", "Cpus > 4", "--reason", "x")
    assert ended.out == "slot big is being drained\nslot bigger is being drained\n"
    assert slots("drain", "big", "--constraint", "Cpus > 8").err == "no changes: no slot is selected\n"
    assert slots("drain", "--all").out == "slot small is being drained\n"
    assert slots("drain", "--all", "--cancel").out.count("takes jobs again") == 3
    assert slots("drain").code == slots("drain", "big", "--all").code == 2
    assert slots("remove", "--constraint", "Cpus == 16").out == "slot bigger removed\n"


def test_the_dynamic_slots_of_a_drained_machine_are_not_drained_by_themselves(run, state, slots):
    slots("add", "node", "--partitionable", "--cpus", 4, "--now", T)
    run("submit", "--state", state, "--now", T, "--", "/bin/sh")
    run("negotiate", "--state", state, "--now", T)
    assert slots("drain", "--all", "--now", T + 1).out == "slot slot1@node is being drained\n"


def test_machines_in_one_line_each_with_what_is_free(run, state, slots):
    slots("add", "node", "--partitionable", "--cpus", 8, "--memory", "8GB", "--gpus", 2, "--now", T)
    slots("add", "other", "--count", 2, "--now", T)
    slots("drain", "slot1@other", "--reason", "new disk", "--now", T)
    run("submit", "--state", state, "--request-cpus", 3, "--request-gpus", 1, "--now", T, "--", "/bin/sh")
    run("negotiate", "--state", state, "--now", T)
    node, other = json.loads(slots("--compact", "--json").out)
    assert "GPUs" in slots("list", "--now", T + 1).out.splitlines()[0]
    assert [node[name] for name in ("machine", "cpus", "free_cpus", "gpus", "free_gpus", "jobs")] == [
        "node", 8, 5, 2, 1, 1
    ]  # fmt: skip
    assert (other["cpus"], other["free_cpus"], other["reasons"]) == (2, 1, ["new disk"])
    shown = slots("--compact").out
    assert "GPUs" in shown and "new disk" in shown
    assert [ad["Name"] for ad in listed(slots, "--available")] == ["slot1@node", "slot2@other"]
    assert slots("--available", "--total").out.count("\n") == 3
    assert "Machine = " in slots("list", "other", "--long").out
    assert slots("--long", "--total").code == 2
