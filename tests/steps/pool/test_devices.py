"""GPUs by name: a dynamic slot gets as many of its machine's as its job asks for, and nobody else has them."""

import json

import pytest
from tests.steps.import_cases import NOW, job, slot

FITS = "/Expr(TARGET.RequestCpus <= MY.Cpus && (TARGET.RequestGPUs is undefined || TARGET.RequestGPUs <= MY.GPUs))/"
GPUS = ["GPU-aa", "GPU-bb", "GPU-cc"]


@pytest.mark.parametrize(
    ("told", "of"),
    [
        ({"AssignedGPUs": ",".join(GPUS)}, GPUS),
        ({"AssignedGPUs": ", ".join(GPUS), "AvailableGPUs": "/Expr({ GPUs_GPU_bb,GPUs_GPU_cc,GPUs_GPU_aa })/"}, GPUS),
        ({"AvailableGPUs": GPUS}, GPUS),
        ({}, []),
    ],
    ids=["assigned", "as condor_startd tells", "available", "no names"],
)
def test_gpus_are_given_and_given_back(told, of, run, state, tmp_path):
    size = {"Cpus": 8, "GPUs": 3, "Memory": 1000, "Disk": 10**9, "Arch": "X86_64", "OpSys": "LINUX"}
    machine = slot("slot1@m1", **{**size, "PartitionableSlot": True, "Requirements": FITS, **told})
    wants = [job(1, RequestCpus=1, RequestGPUs=2), job(2, RequestCpus=1), job(3, RequestCpus=1, RequestGPUs=1)]
    for name, ads in (("slots", [machine]), ("jobs", wants)):
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return json.loads(ended.out) if "--json" in words else ended.out

    def given():
        found = json.loads(fairq("export", "--slots"))
        assert all("AvailableGPUs" not in ad for ad in found if "JobId" in ad)
        return {ad["JobId"]: ad["AssignedGPUs"].split(",") for ad in found if "JobId" in ad and "AssignedGPUs" in ad}

    fairq("import", "--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json", "--now", NOW)
    fairq("negotiate", "--now", NOW)
    first = given()
    if not of:
        assert first == {}
        return
    assert sorted(first) == ["1.0", "3.0"]
    assert (len(first["1.0"]), sorted(first["1.0"] + first["3.0"])) == (2, of)
    fairq("finish", 1, "--now", NOW + 60)
    fairq("submit", "--request-cpus", 1, "--request-memory", 1, "--request-gpus", 1, "--now", NOW + 60,
          "--", "/bin/true")  # fmt: skip
    fairq("negotiate", "--now", NOW + 120)
    later = given()
    assert later["3.0"] == first["3.0"]
    (new,) = (names for one, names in later.items() if one != "3.0")
    assert len(new) == 1 and new[0] in first["1.0"]
