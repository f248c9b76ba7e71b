"""A match becomes a process, and its end frees the slot, is charged, and decides what becomes of the job."""

import json
import os

import pytest
from tests.launch.conftest import PYTHON, is_alive, until


def test_a_matched_job_runs_and_its_end_is_charged_without_a_word_of_anybody(pool):
    pool.slots(1)
    pool.submit("echo $FAIRQ_JOB on $_CONDOR_SLOT with $OMP_NUM_THREADS > out; exec sleep 1.2", "--request-cpus", 1)
    turn = pool.turn()
    assert [record["job"] for record in turn["started"]] == ["1.0"]
    (ended,) = pool.settled("1.0")
    assert (ended["exit_code"], ended["outcome"], ended["seconds"] >= 1) == (0, "finished", True)
    assert (pool.work / "out").read_text() == "1.0 on here with 1\n"
    document = pool.export()
    (run,) = document["runs"]
    (account,) = [record for record in document["submitters"] if not record["is_group"]]
    assert account["accumulated_usage"] == run["end_time"] - run["start_time"] == ended["seconds"]
    assert account["resources_used"] == 0
    assert (document["claims"], document["jobs"]) == ([], [])


def test_the_job_runs_as_its_description_says(pool, monkeypatch):
    monkeypatch.setenv("INHERITED", "yes")
    monkeypatch.setenv("FAIRQ_LAUNCH_UMASK", "027")
    (pool.work / "in").write_text("given")
    description = pool.work / "job.sub"
    description.write_text(
        "executable = /bin/sh\n"
        "arguments = \"-c 'cat; echo; pwd; umask; echo $A/$INHERITED/$OTHER/$CUDA_VISIBLE_DEVICES; echo bad >&2'\"\n"
        "environment = \"A='two words' OTHER=o\"\n"
        "getenv = INHERITED\n"
        f"initialdir = {pool.work}\n"
        "input = in\noutput = out.$(Cluster).$(Process)\nerror = err.$(Process)\nqueue 2\n"
    )
    pool.slots(2)
    pool.done("submit", description)
    pool.turn()
    pool.settled("1.0", "1.1")
    for proc in (0, 1):
        printed = (pool.work / f"out.1.{proc}").read_text().split("\n")
        assert printed == ["given", str(pool.work), "0027", "two words/yes/o/10000", ""]
        assert (pool.work / f"err.{proc}").read_text() == "bad\n"


def test_output_and_error_may_share_a_file_and_a_rerun_begins_it_anew(pool):
    pool.slots(1)
    pool.submit(
        "echo out; echo err >&2; [ -e again ] || { touch again; exit 1; }",
        "--output", "both", "--error", "both", "--attribute", "OnExitRemove=ExitCode == 0",
    )  # fmt: skip
    pool.turn()
    (first,) = pool.settled("1.0")
    assert (first["outcome"], first["exit_code"]) == ("requeued", 1)
    pool.turn()
    pool.settled("1.0")
    assert (pool.work / "both").read_text() == "out\nerr\n"
    assert pool.queue() == {}


def test_the_slot_of_an_ended_job_is_free_in_the_same_turn(pool):
    pool.slots(1)
    pool.submit("true", "--count", 2)
    pool.turn()
    turns = [pool.turn()]
    until(lambda: turns.append(pool.turn()) or any(turn["ended"] for turn in turns), "an end")
    turn = next(turn for turn in turns if turn["ended"])
    assert ([record["job"] for record in turn["ended"]], [record["job"] for record in turn["started"]]) == (
        ["1.0"],
        ["1.1"],
    )


def test_matching_collecting_and_starting_can_be_told_apart(pool):
    pool.slots(1)
    pool.submit("true")
    assert pool.turn("--no-launch")["started"] == []
    assert json.loads(pool.done("negotiate", "--collect-only", "--json")) == {"ended": [], "started": []}
    assert [record["job"] for record in pool.turn()["started"]] == ["1.0"]


def test_without_a_launcher_nothing_is_started(pool):
    pool.done("slots", "add", "elsewhere")
    pool.submit("touch ran")
    turn = pool.turn()
    assert [match["job"] for match in turn["matches"]] == ["1.0"]
    assert "started" not in turn
    assert pool.export()["launches"] == []
    assert not (pool.work / "ran").exists()


def test_one_command_makes_a_fresh_machine_ready(pool):
    pool.done("slots", "detect", "--slots", 1, "--add", "--launch", "local")
    pool.submit("touch ran")
    pool.turn()
    pool.settled("1.0")
    assert (pool.work / "ran").exists()


def test_a_launcher_that_there_is_not_is_named_with_the_others(pool):
    ended = pool("slots", "detect", "--add", "--launch", "pbs")
    assert (ended.code, "there is no launcher 'pbs'; give one of none, htcondor, local, slurm" in ended.err) == (
        88,
        True,
    )


@pytest.mark.parametrize(
    "script",
    [
        "setsid sleep 600 & echo $! > pid; exit 0",
        "(sleep 600 & echo $! > pid) & while [ ! -s pid ]; do sleep 0.01; done",
    ],
)
def test_what_a_job_leaves_behind_ends_with_it(pool, any_cgroup, script):
    pool.slots(1)
    pool.submit(f"{script}")
    pool.turn()
    leftover = pool.pid_in("pid")
    pool.settled("1.0")
    assert not is_alive(leftover)


def test_a_run_is_not_bound_to_the_command_that_started_it(pool, fairq):
    pool.slots(1)
    pool.submit("echo $$ > pid; exec sleep 600")
    assert fairq("negotiate", "--state", pool.state).code == 0
    job = pool.pid_in("pid")
    assert os.getsid(job) == job != os.getsid(0)
    assert is_alive(job)


@pytest.mark.parametrize(
    ("words", "code", "words_of_reason"),
    [
        (["--", "/nonexistent/program"], 6, "program /nonexistent/program cannot be started: No such file"),
        (["--output", "/nonexistent/out", "--", "/bin/true"], 7, "output /nonexistent/out cannot be opened"),
    ],
)
def test_a_job_that_cannot_start_is_held_with_the_reason(pool, words, code, words_of_reason):
    pool.slots(1)
    if "/nonexistent/program" in words:
        words = ["--attribute", 'Cmd="/nonexistent/program"', "--", "/bin/true"]
    pool.done("submit", *words)
    pool.turn()
    pool.settled("1.0")
    ad = pool.queue()["1.0"]
    assert (ad["JobStatus"], ad["HoldReasonCode"], ad["HoldReasonSubCode"]) == (5, code, 2)
    assert words_of_reason in ad["HoldReason"]


def test_a_slot_on_which_three_different_jobs_did_not_start_is_drained(pool):
    pool.slots(1)
    for _ in range(3):
        pool.done("submit", "--output", "/nonexistent/out", "--", "/bin/true")
    for job in ("1.0", "2.0", "3.0"):
        pool.turn()
        pool.settled(job)
    (slot,) = json.loads(pool.done("slots", "--json"))
    assert slot["State"] == "Drained"


@pytest.mark.parametrize(
    ("script", "words_of_reason"),
    [
        ("echo hello\n", "it is neither a program for this machine nor a script that begins with #!, as #!/bin/sh"),
        ("#!/bin/sh\r\ntrue\r\n", "its first line ends with a carriage return; save it with the line ends of Unix"),
        ("#!/nonexistent/sh -e\n", "there is no interpreter /nonexistent/sh, which its first line names"),
    ],
)
def test_a_script_that_cannot_be_executed_is_held_with_what_is_wrong_with_it(pool, script, words_of_reason):
    pool.slots(1)
    path = pool.script(script)
    pool.done("submit", "--", path)
    pool.turn()
    pool.settled("1.0")
    assert pool.queue()["1.0"]["HoldReason"] == f"its program {path} cannot be started: {words_of_reason}"


def test_scripts_that_are_themselves_the_fault_drain_no_slot(pool):
    """Three tries of a beginner must not stop the pool."""
    pool.slots(1)
    path = pool.script("echo hello\n")
    for job in ("1.0", "2.0", "3.0"):
        pool.done("submit", "--", path)
        pool.turn()
        pool.settled(job)
        path.chmod(0o666)
    assert pool.queue()["3.0"]["HoldReason"].endswith("it is not executable; run 'chmod +x' on it")
    (slot,) = json.loads(pool.done("slots", "--json"))
    assert slot["State"] == "Unclaimed"


@pytest.mark.parametrize(
    ("slot", "requested", "limit"),
    [
        (["--memory", "64MB"], 32, 64),
        (["--memory", "1GB"], 32, None),
        (["--memory", "1GB"], 128, None),
        (["--memory", "1GB", "--partitionable"], 32, 128),
        (["--memory", "1GB", "--partitionable"], 512, None),
    ],
)
def test_the_memory_limit_of_a_job_is_what_its_slot_holds(pool, any_cgroup, slot, requested, limit):
    pool.slots(1, *slot)
    filler = "b = bytearray(200_000_000); import time; time.sleep(1.5)"
    words = ["--request-memory", requested, "--initialdir", pool.work, "--", PYTHON, "-c", filler]
    pool.done("submit", *words)
    pool.turn()
    (ended,) = pool.settled("1.0")
    assert ended["outcome"] == ("finished" if limit is None else "held")
    if limit is not None:
        ad = pool.queue()["1.0"]
        assert (ad["HoldReasonCode"], f"more than its limit of {limit} MB" in ad["HoldReason"]) == (34, True)


def test_output_goes_to_a_directory_that_is_made_for_each_job(pool):
    (pool.work / "job.sub").write_text(
        "executable = /bin/sh\narguments = \"-c 'echo out; echo err >&2; mkdir -p d; echo x > d/f$FAIRQ_PROCESS'\"\n"
        "transfer_output_files = d/f$(ProcId), none\n"
        f"initialdir = {pool.work}\noutput = o\nerror = {pool.work}/e.$(ProcId)\n"
        "output_directory = res/$(ProcId)\nappend_files = o\nqueue 2\n"
    )
    pool.slots(2)
    (pool.work / "res" / "0").mkdir(parents=True)
    (pool.work / "res" / "0" / "o").write_text("before\n")
    pool.done("submit", pool.work / "job.sub")
    pool.turn()
    pool.settled("1.0", "1.1")
    assert (pool.work / "res" / "0" / "o").read_text() == "before\nout\n"
    assert (pool.work / "res" / "1" / "o").read_text() == "out\n"
    assert (pool.work / "res" / "1" / "f1").read_text() == "x\n"
    assert list((pool.work / "d").iterdir()) == []
    for proc in (0, 1):
        assert (pool.work / f"e.{proc}").read_text() == "err\n"
