"""A job sees exactly its GPUs: on static, partitionable and added slots, and under Slurm and HTCondor."""

import json
import os
import random

import pytest
from tests.launch.conftest import until

from fairq.common.hardware import amd_gpus
from fairq.launch.interface import GPU_VARIABLES
from fairq.steps.launch.gpus import gpu_variables, gpus_of
from fairq.steps.pool.slot_ads import WITHIN

UUIDS = [f"GPU-{letter * 4}1111-0000-0000-0000-00000000000{n}" for n, letter in enumerate("abcd")]
SHORT = [uuid[:12] for uuid in UUIDS]
SHOW = "".join(f'echo "{name}=${name}";' for name in GPU_VARIABLES)
HIDDEN = {**dict.fromkeys(GPU_VARIABLES, "10000"), "NVIDIA_VISIBLE_DEVICES": "none"}


@pytest.fixture
def gpus(pool, monkeypatch):
    """Give the machine as many GPUs as the test asks for, as nvidia-smi prints them."""
    programs = pool.work / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def have(count):
        lines = "".join(f"echo '{uuid}, Tesla T4, 15360, 7.5, 535.1'\n" for uuid in UUIDS[:count])
        (programs / "nvidia-smi").write_text(f"#!/bin/sh\n{lines}")
        (programs / "nvidia-smi").chmod(0o755)

    return have


def shown(job, slot):
    """Return the variables of a job on a slot."""
    return gpu_variables(gpus_of(job, slot, 0), slot)


def seen(pool, job):
    """Return the variables that a job of `SHOW` saw."""
    return dict(line.split("=", 1) for line in pool.done("tail", job).splitlines())


def run_two(pool):
    """Run a job with a GPU and one without, whose environments ask for all; return what they see."""
    environment = ";".join(f"{name}=0,1,2,3" for name in GPU_VARIABLES)
    pool.submit(SHOW, "--request-gpus", 1, "--environment", environment)
    pool.submit(SHOW, "--environment", environment, "--requirements", "TARGET.GPUs > 0")
    pool.done("run", "--until-idle", "-q")
    return seen(pool, "1.0"), seen(pool, "2.0")


@pytest.mark.parametrize("way", [[], ["--partitionable"]], ids=["static", "partitionable"])
def test_a_job_sees_its_gpu_of_a_detected_machine_and_no_other_job_does(pool, gpus, way):
    gpus(1)
    pool.done("slots", "detect", "--add", "--launch", "local", *way)
    one, other = run_two(pool)
    assert (one["CUDA_VISIBLE_DEVICES"], one["NVIDIA_VISIBLE_DEVICES"]) == (SHORT[0], UUIDS[0])
    assert {name: one[name] for name in GPU_VARIABLES[2:]} == dict.fromkeys(GPU_VARIABLES[2:], "10000")
    assert other == HIDDEN


def test_a_job_sees_a_number_for_the_gpu_of_a_slot_that_was_added(pool):
    pool.slots(1, "--gpus", 1)
    one, other = run_two(pool)
    assert (one["CUDA_VISIBLE_DEVICES"], one["NVIDIA_VISIBLE_DEVICES"]) == ("0", "0")
    assert other == HIDDEN


def test_several_gpus_are_told_by_their_whole_identifiers_which_newer_versions_of_cuda_need(pool, gpus):
    gpus(2)
    pool.done("slots", "detect", "--add", "--launch", "local", "--partitionable")
    pool.submit(SHOW, "--request-gpus", 2)
    pool.done("run", "--until-idle", "-q")
    assert seen(pool, "1.0")["CUDA_VISIBLE_DEVICES"] == ",".join(UUIDS[:2])


def names_of(pool):
    return {ad["Name"]: ad.get("AssignedGPUs") for ad in json.loads(pool.done("slots", "--json"))}


def test_added_slots_of_this_machine_share_no_device_whatever_they_are_called(pool):
    pool.slots(2, "--gpus", 2)
    pool.done("slots", "add", "box", "--gpus", 1, "--attribute", 'Launch="local"')
    assert names_of(pool) == {"slot1@here": "CUDA0,CUDA1", "slot2@here": "CUDA2,CUDA3", "box": "CUDA4"}
    pool.done("slots", "remove", "slot1@here")
    pool.done("slots", "add", "again", "--gpus", 3, "--attribute", 'Launch="local"')
    assert names_of(pool)["again"] == "CUDA0,CUDA1,CUDA5"


def test_each_other_machine_numbers_its_own_devices_and_own_names_are_kept(pool):
    pool.done("slots", "add", "m1", "--partitionable", "--gpus", 2)
    pool.done("slots", "add", "m2", "--gpus", 2, "--count", 2)
    pool.done("slots", "add", "m3", "--gpus", 1, "--attribute", 'AssignedGPUs="GPU-ab"')
    pool.done("slots", "add", "m4", "--gpus", 1, "--attribute", 'Launch="slurm"')
    pool.done("slots", "add", "m5")
    assert names_of(pool) == {
        "slot1@m1": "CUDA0,CUDA1", "slot1@m2": "CUDA0,CUDA1", "slot2@m2": "CUDA2,CUDA3", "m3": "GPU-ab", "m4": None,
        "m5": None,
    }  # fmt: skip


LOCK = """
for device in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do
  [ $device = 10000 ] || mkdir locks/$device || echo $device >> clashes
done
sleep 0.0$(($FAIRQ_PROCESS % 5))
for device in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do [ $device = 10000 ] || rmdir locks/$device; done
echo $FAIRQ_PROCESS $CUDA_VISIBLE_DEVICES >> seen
"""


@pytest.mark.parametrize("way", ["partitionable", "static"])
def test_random_jobs_on_four_devices_never_share_one(pool, way):
    pool.slots(*((1, "--partitionable", "--cpus", 8, "--gpus", 4) if way == "partitionable" else (4, "--gpus", 1)))
    pool.done("slots", "add", "plain", "--count", 2, "--attribute", 'Launch="local"')
    (pool.work / "locks").mkdir()
    (pool.work / "job.sh").write_text(LOCK)
    dice = random.Random(41)
    kinds = (0, 0, 1, 1, 1, 2, 4) if way == "partitionable" else (0, 1)
    requests = [dice.choice(kinds) for _ in range(40)]
    items = "\n".join(map(str, requests))
    (pool.work / "job.sub").write_text(
        f"executable = /bin/sh\narguments = job.sh\ninitialdir = {pool.work}\nrequest_memory = 1\nrequest_disk = 1\n"
        f"queue request_gpus from (\n{items}\n)\n"
    )
    pool.done("submit", pool.work / "job.sub")
    until(lambda: pool.turn() and not pool.queue(), "the end of all jobs")
    assert not (pool.work / "clashes").exists()
    devices_by_proc = dict(line.split() for line in (pool.work / "seen").read_text().splitlines())
    counts = {
        int(proc): 0 if devices == "10000" else len(set(devices.split(",")))
        for proc, devices in devices_by_proc.items()
    }
    assert counts == dict(enumerate(requests))


def test_amd_s_gpus_are_shown_as_its_runtime_numbers_them(tmp_path):
    for node, simds in ((0, 0), (1, 304), (2, 304), (10, 304)):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "properties").write_text(f"cpu_cores_count 4\nsimd_count {simds}\n")
    assert [gpu.name for gpu in amd_gpus(tmp_path)] == ["HIP0", "HIP1", "HIP2"]
    assert shown({"RequestGPUs": 2}, {"AssignedGPUs": "HIP1,HIP2"}) == {
        **HIDDEN, "ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "0,1", "GPU_DEVICE_ORDINAL": "0,1",
        "_CONDOR_AssignedGPUs": "HIP1,HIP2",
    }  # fmt: skip


def test_the_rest_of_a_machine_still_describes_its_gpus(pool, gpus):
    gpus(2)
    pool.done("slots", "detect", "--add", "--launch", "none", "--partitionable")
    for _ in range(2):
        pool.submit("true", "--request-gpus", 1, "--attribute", "RequireGPUs=Capability > 7", "--requirements",
                    "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs")  # fmt: skip
        assert len(pool.turn()["matches"]) == 1
    assert {*names_of(pool).values()} == {*SHORT[:2], ",".join(SHORT[:2])}


def test_a_number_is_the_same_device_for_every_job():
    assert shown({"RequestGPUs": 1}, {"AssignedGPUs": "CUDA0"})["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_a_slot_without_names_shows_no_gpu():
    assert shown({"RequestGPUs": 1}, {"GPUs": 2, "WithinResourceLimits": WITHIN}) == HIDDEN


@pytest.mark.parametrize(
    ("request_gpus", "slot", "want"),
    [
        ({"RequestGPUs": "/Expr(Foo)/"}, {"AssignedGPUs": "CUDA1"}, "1"),
        ({"RequestGPUs": 0}, {"AssignedGPUs": "CUDA1"}, "10000"),
        ({}, {"AssignedGPUs": "CUDA1"}, "10000"),
        ({}, {"AssignedGPUs": "CUDA1", "DynamicSlot": True}, "1"),
        ({"RequestGPUs": 1}, {"AvailableGPUs": ["CUDA3"], "DynamicSlot": True}, "10000"),
        ({"RequestGPUs": 1}, {"AvailableGPUs": ["/Expr(GPUs_GPU_1a)/"], "gpus_gpu_1a": {"Id": "GPU-1A"}}, "GPU-1A"),
        ({"RequestGPUs": 1}, {"AvailableGPUs": "/Expr({ GPUs_GPU_1a })/"}, "GPU-1a"),
    ],
)
def test_who_asks_gets_what_the_slot_has(request_gpus, slot, want):
    assert shown(request_gpus, slot)["CUDA_VISIBLE_DEVICES"] == want


def test_a_job_gets_the_devices_of_its_machine_that_it_requires(pool, gpus):
    gpus(2)
    program = pool.work / "bin" / "nvidia-smi"
    program.write_text(program.read_text().replace("Tesla T4, 15360, 7.5", "A100, 40000, 8.0", 1))
    pool.done("slots", "detect", "--add", "--launch", "local", "--partitionable")
    (pool.work / "a.sub").write_text(
        f"executable = /bin/sh\narguments = \"-c '{SHOW}'\"\nrequest_gpus = 1\nrequire_gpus = $(wanted)\n"
        "queue wanted in (Capability<8, GlobalMemoryMb>20000)\n".replace('echo "', "echo ").replace('";', ";")
    )
    pool.done("submit", pool.work / "a.sub")
    pool.done("run", "--until-idle", "-q")
    assert [seen(pool, job)["CUDA_VISIBLE_DEVICES"] for job in ("1.0", "1.1")] == [SHORT[1], SHORT[0]]


def late_launch(pool, monkeypatch):
    """Let the machine start the jobs of a pool that only matched them; return the jobs with GPUs after two turns."""
    monkeypatch.setenv("FAIRQ_LAUNCH_KIND", "local")
    monkeypatch.setenv("FAIRQ_LAUNCH_GRACE", "0")
    for _ in range(2):
        pool.submit("echo $CUDA_VISIBLE_DEVICES >> seen; until [ -e go ]; do sleep 0.02; done", "--request-gpus", 1)
    notes = pool("negotiate").err
    assert notes.count("\n") == 1
    pool.done("negotiate", "--collect-only")
    until((pool.work / "seen").exists, "the first job")
    return pool.queue() | {"note": notes}


@pytest.mark.parametrize("way", [[], ["--partitionable"]], ids=["static", "partitionable"])
def test_of_two_slots_with_one_device_only_one_runs_a_job_at_a_time(pool, monkeypatch, way):
    pool.done("slots", "add", "m1", "--gpus", 1, *way)
    pool.done("slots", "add", "m2", "--gpus", 1, *way)
    jobs = late_launch(pool, monkeypatch)
    (waiting,) = [job for job, ad in jobs.items() if job != "note" and "EngineReason" in ad]
    for message in (jobs["note"], jobs[waiting]["EngineReason"], pool.done("why", waiting)):
        assert "has CUDA0, the GPU of slot" in message
        assert "m1" in message
        assert "m2" in message
        assert "remove one of the slots and add it again" in message
    check = pool("pool", "check").out
    assert "have the same GPU CUDA0" in check
    (pool.work / "go").touch()
    until(lambda: pool.turn() and not pool.queue(), "the end of both jobs")
    assert (pool.work / "seen").read_text() == "0\n0\n"


def test_a_number_and_an_identifier_of_one_device_are_one_device(pool, gpus, monkeypatch):
    gpus(2)
    pool.done("slots", "detect", "--add", "--slots", 2)
    pool.done("slots", "remove", next(name for name in names_of(pool) if name.startswith("slot1@")))
    pool.done("slots", "add", "box", "--gpus", 1, "--attribute", 'AssignedGPUs="CUDA1"')
    jobs = late_launch(pool, monkeypatch)
    assert sum("EngineReason" in ad for job, ad in jobs.items() if job != "note") == 1
    (pool.work / "go").touch()


def test_different_devices_of_two_host_names_run_jobs_together(pool, gpus, monkeypatch):
    gpus(2)
    pool.done("slots", "detect", "--add", "--slots", 2)
    pool.done("slots", "remove", next(name for name in names_of(pool) if name.startswith("slot1@")))
    pool.done("slots", "add", "box", "--gpus", 1)
    monkeypatch.setenv("FAIRQ_LAUNCH_KIND", "local")
    for _ in range(2):
        pool.submit("echo $CUDA_VISIBLE_DEVICES >> seen", "--request-gpus", 1)
    pool.done("run", "--until-idle", "-q")
    assert sorted((pool.work / "seen").read_text().split()) == ["0", SHORT[1]]


def test_a_device_is_free_only_when_the_job_of_its_former_slot_has_ended(pool, monkeypatch):
    monkeypatch.setenv("FAIRQ_LAUNCH_GRACE", "60")
    pool.slots(1, "--gpus", 1)
    pool.submit("trap '' TERM; mkdir lock; touch began; until [ -e go ]; do sleep 0.02; done; rmdir lock",
                "--request-gpus", 1)  # fmt: skip
    pool.done("negotiate")
    until((pool.work / "began").exists, "the first job")
    pool.done("slots", "remove", "here", "--force")
    pool.done("hold", "1")
    pool.done("slots", "add", "again", "--gpus", 1, "--attribute", 'Launch="local"')
    pool.submit("mkdir lock && echo alone > second", "--request-gpus", 1)
    pool.done("negotiate")
    assert "has CUDA0" in pool.queue()["2.0"]["EngineReason"]
    (pool.work / "go").touch()
    until(lambda: pool.turn() and "2.0" not in pool.queue(), "the end of the second job")
    assert (pool.work / "second").read_text() == "alone\n"


def test_a_job_with_gpus_never_runs_without_on_a_slot_that_names_none(pool):
    pool.slots(1, "--attribute", "GPUs=1+1")
    pool.submit("touch ran", "--request-gpus", 1)
    assert "does not name enough of its own; remove the slot and add it again" in pool("negotiate").err
    assert not (pool.work / "ran").exists()


def machine_of(pool, gpus, cpus):
    """Add this machine with *cpus* cores and two GPUs, of which only the first has the capability 8."""
    gpus(2)
    program = pool.work / "bin" / "nvidia-smi"
    program.write_text(program.read_text().replace("Tesla T4, 15360, 7.5", "A100, 40000, 8.0", 1))
    (ad,) = json.loads(pool.done("slots", "detect", "--partitionable", "--json"))
    (pool.work / "slots.json").write_text(json.dumps([{**ad, "Cpus": cpus, "Launch": "local"}]))
    pool.done("import", "--slots", pool.work / "slots.json")


@pytest.mark.parametrize("depth_first", ["false", "true"])
@pytest.mark.parametrize("clause", ["", 'requirements = Arch == "X86_64" && TARGET.AvailableGPUs =!= 1\n'])
def test_of_jobs_that_need_the_same_device_one_is_matched_and_the_others_stay_idle(
    pool, gpus, monkeypatch, depth_first, clause
):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_NEGOTIATOR_DEPTH_FIRST", depth_first)
    machine_of(pool, gpus, 8)
    (pool.work / "a.sub").write_text(
        "executable = /bin/sh\narguments = \"-c 'echo $CUDA_VISIBLE_DEVICES'\"\nrequest_memory = 1\nrequest_disk = 1\n"
        f"request_gpus = 1\nrequire_gpus = Capability >= 8\n{clause}queue 3\n"
    )
    pool.done("submit", pool.work / "a.sub")
    for _ in range(3):
        assert len(pool.turn()["matches"]) == 1
        (running,) = [job for job, ad in pool.queue().items() if ad["JobStatus"] == 2]
        pool.settled(running)
        assert pool.done("tail", running).strip() == SHORT[0]


def test_a_job_that_took_the_only_suitable_device_first_leaves_the_other_idle(pool, gpus):
    machine_of(pool, gpus, 8)
    resources = ("--request-gpus", 1, "--request-memory", 1, "--request-disk", 1)
    pool.submit("sleep 100", *resources, "--priority", 1)
    pool.submit("sleep 100", *resources, "--attribute", "RequireGPUs=Capability >= 8")
    assert [match["job"] for match in pool.turn()["matches"]] == ["1.0"]
    assert pool.queue()["2.0"]["JobStatus"] == 1


def test_a_part_of_a_gpu_is_refused_at_submit(pool):
    refused = pool("submit", "--request-gpus", "0.5", "--", "/bin/true")
    assert (refused.code, "attribute RequestGPUs cannot be used: it is not a whole number" in refused.err) == (38, True)
