"""``fairq history``: what is told of jobs that have left the queue."""

import json
import time
from pathlib import Path

import pytest

NOW = 1_795_000_000


@pytest.fixture
def pool(run, state, made_once, monkeypatch):
    """1.0 failed after 100 s, 1.1 was removed while it ran, 1.2 and 1.3 never ran; 2.0 ended well at last."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")

    def filled(folder):
        for words in (
            ["slots", "add", "node", "--count", "3", "--now", NOW],
            ["submit", "--count", "4", "--accounting-group-user", "anna", "--now", NOW, "--", "/bin/sleep", "5"],
            ["submit", "--accounting-group", "physics", "--accounting-group-user", "bert", "--now", NOW + 10, "--",
             "/bin/true"],
            ["hold", "1.3", "--reason", "not yet", "--now", NOW + 11],
            ["hold", "1.2", "--reason", "nor this", "--now", NOW + 11],
            ["negotiate", "--now", NOW + 60],
            ["finish", "1.0", "--at", NOW + 160, "--exit-code", "3", "--now", NOW + 200],
            ["remove", "1.1-3", "--reason", "no need", "--now", NOW + 300],
            ["finish", "2.0", "--exit-code", "0", "--now", NOW + 400],
        ):  # fmt: skip
            ended = run("--state", folder / state.name, *words)
            assert ended.code == 0, ended.err

    made_once(filled)
    return lambda *words: run("--state", state, "history", *words)


def ids(pool, *words):
    ended = pool("--af:j", "Owner", *words)
    assert ended.code == 0, ended.err
    return [line.split()[0] for line in ended.out.splitlines()]


def test_the_last_one_that_ended_comes_first_and_jobs_that_never_ran_share_a_line(pool):
    ended = pool()
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == ["2.0", "1.3", "1.2", "1.1", "1.0"]
    assert lines[-1] == "5 jobs"
    failed = lines[5].split()
    ended_at = time.strftime("%Y-%m-%d %H:%M", time.localtime(NOW + 160)).split()
    assert failed[4:9] == ["0+00:01:00", "0+00:01:40", *ended_at, "C"]
    assert failed[9] == "3"
    assert lines[2].endswith("no need")


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["--exit", "failed"], ["1.0"]),
        (["--exit", "0"], ["2.0"]),
        (["--removed"], ["1.3", "1.2", "1.1"]),
        (["--completed"], ["2.0", "1.0"]),
        (["--user", "anna@x"], ["1.3", "1.2", "1.1", "1.0"]),
        (["--user", "physics.bert@x"], ["2.0"]),
        (["--group", "physics"], ["2.0"]),
        (["--group", "phys"], []),
        (["--since", NOW + 300], ["2.0", "1.3", "1.2", "1.1"]),
        (["--until", NOW + 300], ["1.0"]),
        (["--limit", "2"], ["2.0", "1.3"]),
        (["-limit", "1"], ["2.0"]),
        (["-completedsince", NOW + 301], ["2.0"]),
        (["--constraint", "NumJobStarts == 0 && ProcId == 3"], ["1.3"]),
    ],
)
def test_what_is_asked_for_is_shown(pool, words, want):
    assert ids(pool, *words) == want


@pytest.mark.parametrize(
    ("name", "want"),
    [("1.1-2", ["1.2", "1.1"]), ("2", ["2.0"]), ("1.0", ["1.0"]), ("anna@x", ["1.3", "1.2", "1.1", "1.0"]), ("9", [])],
)
def test_jobs_are_named_as_in_the_queue(pool, name, want):
    assert [record["ClusterId"] for record in json.loads(pool(name, "--json").out)] == [int(id_[0]) for id_ in want]


def test_the_ad_says_how_the_job_ran_and_leaves_out_what_nobody_knows(pool):
    (failed,) = json.loads(pool("1.0", "--json").out)
    known = {"JobStatus": 4, "QDate": NOW, "JobStartDate": NOW + 60, "CompletionDate": NOW + 160, "ExitCode": 3}
    known |= {"RemoteWallClockTime": 100, "CumulativeSlotTime": 100.0, "NumJobStarts": 1, "ExitBySignal": False}
    assert {name: failed[name] for name in known} == known
    assert "RemoteUserCpu" not in failed
    held = json.loads(pool("1.3", "--json").out)[0]
    assert (held["RemoveReason"], held["HoldReason"], held["CompletionDate"]) == ("no need", "not yet", 0)
    assert "ExitCode" not in held


def test_a_table_without_limit_says_that_it_is_cut(run, state):
    for words in (
        ["submit", "--count", "1001", "--", "/bin/true"],
        ["remove", "1"],
    ):
        assert run("--state", state, *words).code == 0
    ended = run("--state", state, "history", "--procs")
    assert len(ended.out.splitlines()) == 1 + 1000 + 2
    assert ended.err == "only the last 1000 lines are shown; give --limit or --since\n"
    assert run("--state", state, "history").out.splitlines()[1].startswith("1.0-1000 ")


def test_jobs_are_forgotten_after_the_time_of_the_settings(pool, run, state):
    Path(f"{state}.toml").write_text("[history]\nkeep_jobs = 150\n")
    assert run("--state", state, "negotiate", "--now", NOW + 400).code == 0
    assert ids(pool) == ["2.0", "1.3", "1.2", "1.1"]
    assert run("--state", state, "state", "check").code == 0


def test_wrong_use_is_told(pool):
    for words, said in (
        (["--exit", "bad"], "give an exit code such as 1, or failed"),
        (["--removed", "--completed"], "exclude each other"),
        (["-forwards"], "newest jobs come first"),
    ):
        ended = pool(*words)
        assert ended.code != 0
        assert said in ended.err
