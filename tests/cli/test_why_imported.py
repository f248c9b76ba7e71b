"""``fairq why`` on jobs of an imported pool: several schedds, limits, preemption."""

import json

from tests.cli.test_why import first_line, job
from tests.engine.negotiation.pools import NOW, SLOT


def test_of_several_schedds_jobs_of_one_number_it_says_which(tmp_path, state, run):
    jobs = [one for at in "ab" for one in job(7, "bob", GlobalJobId=f"{at}@x#7.0#1", RequestMemory=8192)]
    for name, ads in {"slots": [{**SLOT, "Name": "slot1@m"}], "jobs": jobs}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))
    dumps = ("--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json")
    assert run("--state", state, "import", *dumps, "--now", NOW).code == 0

    line = run("--state", state, "why", "7.0", "--now", NOW).out.splitlines()[1]
    assert line.endswith("This is the job of schedd a@x; choose among 7.0@a@x, 7.0@b@x.")
    for named in ("7.0@b@x", "7.0@b"):
        document = json.loads(run("--state", state, "why", named, "--now", NOW, "--json").out)
        assert (document["subject"], "schedd" in document) == ("7.0", False)
    assert run("--state", state, "why", "7.0@c", "--now", NOW).code == 30


def test_of_several_schedds_a_command_changes_the_job_of_the_one_named(tmp_path, state, run):
    """Without a schedd it names all the jobs that it changes."""
    jobs = [one for at in "ab" for one in job(7, "bob", GlobalJobId=f"{at}@x#7.0#1")]
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    assert run("--state", state, "import", "--jobs", tmp_path / "jobs.json", "--now", NOW).code == 0

    assert run("--state", state, "hold", "7.0@b@x").out == "Job 7.0@b@x held\n"
    assert run("--state", state, "queue", "--af", "GlobalJobId", "JobStatus").out.split("\n")[0].endswith(" 1")
    assert run("--state", state, "remove", "7.0").out == "Job 7.0@a@x, 7.0@b@x removed\n"
    assert run("--state", state, "queue", "--af", "ClusterId").out == ""


def test_a_limit_below_what_the_job_alone_uses_comes_first(tmp_path, state, run):
    """No slot is free either, but the job would never start: the limit is named, and the least that helps."""
    (tmp_path / "c.toml").write_text("[limits]\nlic = 4\n")
    held = {**SLOT, "Name": "slot1@m", "State": "Claimed", "Activity": "Busy", "RemoteUser": "x@y"}
    for name, ads in {"slots": [held], "jobs": job(7, "bob", ConcurrencyLimits="lic:9")}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))
    dumps = ("--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json")
    words = ("--state", state, "--config", tmp_path / "c.toml")
    assert run(*words, "import", *dumps, "--now", NOW).code == 0

    line = first_line(run(*words, "why", "7.0", "--now", NOW))
    assert line.startswith("Job 7.0 waits because it asks for 9 of the concurrency limit lic, whose maximum is 4. ")
    assert "a concurrency limit of 9 for lic" in line


def test_slots_taken_by_preemption_were_not_free(tmp_path, state, run):
    """What the machine preferred was in use until this cycle."""
    held = {"State": "Claimed", "Activity": "Busy", "RemoteUser": "x@y", "Rank": "/Expr(TARGET.JobPrio)/"}
    small = [{**SLOT, "Name": f"slot{number}@m", "Requirements": False} for number in range(2, 7)]
    slots = [{**SLOT, **held, "Name": "slot1@m", "CurrentRank": 0.0}, *small]
    jobs = [*job(7, "bob", JobPrio=9), *job(8, "eve", JobPrio=5)]
    for name, ads in {"slots": slots, "jobs": jobs}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))
    dumps = ("--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json")
    assert run("--state", state, "import", *dumps, "--now", NOW).code == 0

    line = first_line(run("--state", state, "why", "8.0", "--now", NOW))
    assert "no slot that matched was free, and the only slot that could be preempted went to bob@" in line
