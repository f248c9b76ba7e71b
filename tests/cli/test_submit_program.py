"""The short options of submit, and what is replaced in arguments and file names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def ads(run, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def found(*words):
        ended = run("--state", state, "submit", "--dry-run", "--json", *words)
        assert ended.code == 0, ended.err
        jobs: list[dict[str, Any]] = json.loads(ended.out)
        return jobs

    return found


@pytest.mark.parametrize(
    ("words", "attribute", "value"),
    [
        (["--cpus", "4"], "RequestCpus", 4),
        (["--mem", "2GB"], "RequestMemory", 2048),
        (["--gpus", "1"], "RequestGPUs", 1),
        (["--time", "90"], "AllowedExecuteDuration", 90),
        (["--time", "1h30m"], "AllowedExecuteDuration", 5400),
        (["--name", "night"], "JobBatchName", "night"),
        (["--retries", "3"], "JobMaxRetries", 3),
        (["--mail", "end"], "JobNotification", 2),
        (["--mail", "fail"], "JobNotification", 3),
        (["--mail", "all"], "NotifyAllEnded", True),
        (["--env", "A=b c", "--env", "D='$x'"], "Environment", "'A=b c' 'D=''$x'''"),
    ],
)
def test_short_options(ads, words, attribute, value):
    assert ads(*words, "--", "/bin/true")[0][attribute] == value


def test_variables_come_from_here(ads, monkeypatch):
    monkeypatch.setenv("COLOUR", "dark blue")
    assert ads("--env", "COLOUR", "--", "/bin/true")[0]["Environment"] == "'COLOUR=dark blue'"
    assert "'COLOUR=dark blue'" in ads("--getenv", "--", "/bin/true")[0]["Environment"]
    assert ads("--", "/bin/true")[0]["Environment"] == ""


def test_three_names_are_replaced_and_nothing_else(ads):
    command = "echo $(Process) $(Cluster) $(Item) $(date) $(process) $HOME {} ${A} $$(B)"
    (job,) = ads("--", "/bin/sh", "-c", command)
    assert job["Arguments"] == "-c 'echo 0 1 $(Item) $(date) $(process) $HOME {} ${A} $$(B)'"
    (job,) = ads("--each", "it's $(date) {}", "--", "/bin/echo", "$(Item)|{}|$(date)", "{}", "{}{}")
    assert job["Arguments"].startswith("'it''s $(date) {}|it''s $(date) {}|$(date)' 'it''s $(date) {}' ")


def test_a_job_for_each_item(ads):
    made = ads("--each", "a b", "--each", "c", "--count", "2", "--output", "{}.$(Process)", "--", "/bin/echo", "{}")
    assert [job["Arguments"] for job in made] == ["'a b'", "'a b'", "c", "c"]
    assert [job["Out"] for job in made] == ["a b.0", "a b.1", "c.2", "c.3"]
    Path("items").write_text("one\n\n two  words\nlast")
    made = ads("--each-line", "items", "--", "/bin/echo", "{}")
    assert [job["Arguments"] for job in made] == ["one", "' two  words'", "last"]


def test_a_job_for_each_number_of_an_array(ads):
    made = ads("--array", "1-5:2,9%2", "--output", "{}.out", "--", "/bin/echo", "$(Item)")
    assert [(job["Arguments"], job["Out"]) for job in made] == [(n, f"{n}.out") for n in "1359"]
    assert made[0]["MaxRunning"] == 2
    assert "SLURM_ARRAY_TASK_ID=9" in made[3]["Environment"]
    assert ads("--array", "1-5%2", "--max-running", "3", "--", "/bin/true")[0]["MaxRunning"] == 3


def test_a_deadline_removes_what_has_not_ended(run, state, ads):
    assert ads("--deadline", "+2h", "--now", "1795000000", "--", "/bin/true")[0]["PeriodicRemove"] == (
        "/Expr(time() >= 1795007200)/"
    )
    run("--state", state, "slots", "add", "a", "--attribute", 'Launch="local"')
    run("--state", state, "submit", "--cpus", "2", "--deadline", "+1h", "--now", "1795000000", "--", "/bin/true")
    run("--state", state, "negotiate", "--now", "1795003599")
    assert "1 job" in run("--state", state, "queue").out
    run("--state", state, "negotiate", "--now", "1795003600")
    assert "0 jobs" in run("--state", state, "queue").out


def test_names_of_files_have_the_macros_that_there_are(ads):
    (job,) = ads("--output", "$(ClusterId).$(Process).$(date +%s).$(YEAR)", "--", "/bin/true")
    assert job["Out"].startswith("1.0.$(date +%s).2")
    assert ads("--verbatim", "--output", "$(Process).{}", "--", "/bin/echo", "$(Process)")[0]["Out"] == "$(Process).{}"


def test_verbatim_replaces_nothing(ads):
    (job,) = ads("--verbatim", "--each", "a", "--", "/bin/echo", "$(Process)", "$(Item)", "{}")
    assert job["Arguments"] == "$(Process) $(Item) {}"


def test_alike_jobs_stay_one_range(run, state):
    run("--state", state, "submit", "--count", "1000", "--", "/bin/echo", "$(Process)")
    assert run("--state", state, "queue").out.count("1.0-999") == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--mail", "begin"], "--mail begin: give end, fail or all"),
        (["--env", "1A=2"], "--env 1A=2: give NAME, or NAME=VALUE"),
        (["--env", "NO_SUCH_NAME"], "there is no such variable here; give NO_SUCH_NAME=VALUE"),
        (["--env", "A=1", "--environment", "B=2"], "both --environment and --env; give --env for each variable"),
        (["--each", "a", "--each-line", "-"], "--each, --each-line and --array exclude each other"),
        (["--array", "1-3", "--each", "a"], "--each, --each-line and --array exclude each other"),
        (["--array", "1-3", "--environment", "A=1"], "both --environment and --array"),
        (["--array", "1-3%0"], "--array=1-3%0: give numbers such as 0-9%2"),
        (["--each", "1", "2", "3"], "--each takes one item; repeat it"),
        (["--deadline", "5"], "--deadline is not later than"),
        (["--time", "soon"], "--time"),
    ],
)
def test_wrong_values(run, state, words, problem):
    ended = run("--state", state, "submit", *words, "--", "/bin/true")
    assert ended.code != 0
    assert problem in ended.err


SCRIPT = """#!/bin/bash
#SBATCH -J test --time=90     # minutes
#SBATCH --mem=4000 --cpus-per-task 2
#SBATCH --array=0-5:2%2 -p short

echo
#SBATCH --mem=1
"""


def test_a_script_with_lines_of_slurm(ads, run, state, monkeypatch):
    monkeypatch.setenv("COLOUR", "dark $blue")
    Path("job.sh").write_text(SCRIPT)
    made = ads("job.sh", "x y", "--flag")
    first = made[0]
    assert [job["Out"] for job in made] == [job["Err"] for job in made] == [f"slurm-1_{n}.out" for n in (0, 2, 4)]
    assert (first["Cmd"], first["Arguments"]) == ("/bin/bash", f"{Path('job.sh').absolute()} 'x y' --flag")
    assert (first["RequestCpus"], first["RequestMemory"], first["AllowedExecuteDuration"]) == (2, 4000, 5400)
    assert (first["JobBatchName"], first["MaxRunning"]) == ("test", 2)
    for text in ("'COLOUR=dark $blue'", "SLURM_JOB_ID=1_0", "SLURM_ARRAY_TASK_ID=0", "SLURM_CPUS_PER_TASK=2"):
        assert text in first["Environment"]
    assert "without effect here: --partition\n" in run("--state", state, "submit", "job.sh").err
    other = ads("--array", "7", "job.sh")
    assert [(job["Out"], "SLURM_ARRAY_TASK_ID=7" in job["Environment"]) for job in other] == [("slurm-2_7.out", True)]


def test_a_script_with_lines_of_fairq(ads):
    Path("job.sh").write_text("#!/bin/sh -e\n# A comment.\n#FAIRQ --cpus 4 --mem 2GB --name night\nhostname\n")
    (job,) = ads("--cpus", "1", "job.sh")
    assert (job["RequestCpus"], job["RequestMemory"], job["JobBatchName"]) == (1, 2048, "night")
    assert (job["Arguments"], job["Environment"], job["Out"]) == (f"-e {Path('job.sh').absolute()}", "", "/dev/null")


@pytest.mark.parametrize(
    ("line", "attribute", "value"),
    [
        ("-t 1-12", "AllowedExecuteDuration", 129600), ("-t 1:30", "AllowedExecuteDuration", 90),
        ("--time=2:00:00", "AllowedExecuteDuration", 7200), ("--mem=4G", "RequestMemory", 4096),
        ("--mem-per-cpu=1G -c 3", "RequestMemory", 3072), ("-n 4 -c2", "RequestCpus", 8),
        ("--gres=gpu:a100:2", "RequestGPUs", 2), ("-o out.%j.%x -J a", "Out", "out.1.a"),
        ("--mail-type=END,FAIL", "NotifyAllEnded", True), ("--export=NONE", "Environment",
         "SLURM_CPUS_PER_TASK=1 SLURM_JOB_ID=1 SLURM_JOB_NAME=script"),
    ],
)  # fmt: skip
def test_options_of_slurm(ads, line, attribute, value):
    Path("job.sh").write_text(f"#!/bin/sh\n#SBATCH {line}\n")
    assert ads("job.sh")[0][attribute] == value


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("-N 2", "--nodes=2: a job runs on one machine"), ("hetjob", "heterogeneous"), ("--mem=x", "--mem=x"),
        ("-d singleton", "singleton"), ("--array=1-", "--array=1-"), ("-d after:1", "--dependency=after:1"),
        ("--time=soon", "--time=soon"),
    ],
)  # fmt: skip
def test_what_would_run_another_job_is_refused(run, state, tmp_path, line, problem):
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n#SBATCH {line}\n")
    ended = run("--state", state, "submit", script)
    assert ended.code == 31
    assert problem in ended.err


def test_items_that_nothing_names(run, state):
    ended = run("--state", state, "submit", "--each", "a", "--each", "b", "--", "/bin/true")
    assert "the jobs are alike: neither {} nor $(Item)" in ended.err
