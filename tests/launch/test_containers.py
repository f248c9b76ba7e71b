"""A job in a container is never run outside of it."""

from __future__ import annotations

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
