"""A job that would be another one if it ran, such as one in a container, is held instead."""

import json

import pytest

IMAGES = {
    "docker": "universe = docker\ndocker_image = debian:12\n",
    "container": "universe = container\ncontainer_image = docker://debian:12\n",
    "singularity": "container_image = /images/debian.sif\n",
    "folder": "universe = container\ncontainer_image = /images/debian/\n",
}
CAN = [
    word
    for name in ("Container", "Docker", "DockerURL", "SIF", "SandboxImage", "Singularity")
    for word in ("--attribute", f"Has{name}=true")
]


@pytest.fixture
def description(pool, request):
    path = pool.work / "job.sub"
    path.write_text(f"{IMAGES[request.param]}executable = /bin/touch\narguments = {pool.work}/ran\nqueue\n")
    return path


@pytest.mark.parametrize("description", IMAGES, indirect=True)
def test_a_job_in_a_container_is_held_where_a_launcher_would_run_its_program_without(pool, description):
    pool.slots(1, *CAN)
    pool.done("submit", description)
    assert len(pool.turn()["matches"]) == 1
    ad = pool.queue()["1.0"]
    assert (ad["JobStatus"], ad["HoldReasonCode"]) == (5, 90)
    assert "fairq starts no containers; submit a job whose program runs its container" in ad["HoldReason"]
    pool.submit("touch other")
    pool.done("run", "--until-idle", "-q")
    assert not (pool.work / "ran").exists()
    assert (pool.work / "other").exists()


@pytest.mark.parametrize("description", IMAGES, indirect=True)
def test_a_pool_that_only_matches_matches_it_as_before(pool, description):
    pool.done("slots", "add", "m", *CAN)
    pool.done("submit", description)
    assert len(pool.turn()["matches"]) == 1
    assert pool.queue()["1.0"]["JobStatus"] == 2


@pytest.mark.parametrize(
    "asked",
    [{"CronMinute": "*/5"}, {"CronHour": "3"}, {"SuccessCheckpointExitCode": 85}],
    ids=str,
)
def test_what_submit_refuses_holds_an_imported_job(pool, asked):
    pool.slots(2)
    ad = {
        "ClusterId": 1, "ProcId": 0, "JobUniverse": 5, "JobStatus": 1, "Owner": "root", "User": "root@example.org",
        "Iwd": str(pool.work), "Requirements": True, "QDate": 1, "Cmd": "/bin/touch",
    }  # fmt: skip
    jobs = [
        {**ad, "Arguments": "ran", **asked},
        {**ad, "ProcId": 1, "Arguments": "other", "DeferralTime": None},
    ]
    (pool.work / "jobs.json").write_text(json.dumps(jobs))
    pool.done("import", "--jobs", pool.work / "jobs.json")
    pool.turn()
    held = pool.queue()["1.0"]
    assert (held["JobStatus"], held["HoldReasonCode"]) == (5, 90)
    name = next(iter(asked))
    why = "the job was imported without its next time" if name.startswith("Cron") else "fairq refuses it, because"
    assert f"its attribute {name} cannot be used: {why}".lower() in held["HoldReason"].lower()
    pool.done("run", "--until-idle", "-q")
    assert not (pool.work / "ran").exists()
    assert (pool.work / "other").exists()
