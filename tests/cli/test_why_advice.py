"""``fairq why``: advice that people can act on, and the reasons of all idle jobs together."""

import json
from pathlib import Path

import pytest

from fairq.steps.why import answer

NOW = 1_795_200_000


@pytest.fixture
def pool(run, state, made_once):
    """One machine of 8 cores and 16 GB, of which alice's six jobs of a core and 2 GB use a part."""

    def filled(folder):
        made = folder / state.name
        words = ["--cpus", 8, "--memory", "16GB", "--partitionable", "--now", NOW]
        assert run("--state", made, "slots", "add", "node", *words).code == 0
        submit(run, made, "alice", 6, "2GB")
        assert run("--state", made, "negotiate", "--now", NOW).code == 0

    made_once(filled)
    return state


def submit(run, state, user, count, memory, cpus=1):
    words = ["--count", count, "--request-memory", memory, "--request-cpus", cpus, "--now", NOW]
    words += ["--accounting-group", "x", "--accounting-group-user", user]
    ended = run("--state", state, "submit", *words, "--", "/bin/true")
    assert ended.code == 0, ended.err


def why(run, pool, *words):
    ended = run("--state", pool, "why", *words, "--now", NOW)
    assert ended.code == 0, ended.err
    return ended.out


def test_more_than_any_whole_machine_has_is_said_first(run, pool):
    submit(run, pool, "bob", 1, "500GB")
    first = why(run, pool, "2.0").splitlines()[0]
    assert "No machine has more than 16 GB of memory; you ask for 500." in first
    assert "at most request_memory = 16384" in first


def test_what_is_left_of_a_machine_is_not_taken_for_the_whole(run, pool):
    submit(run, pool, "bob", 1, "12GB")
    out = why(run, pool, "2.0")
    assert "No machine has more" not in out
    assert "it starts about" in out


def test_a_machine_whose_ad_does_not_tell_its_size_is_as_large_as_all_of_its_parts(run, state, tmp_path):
    ad = {"Name": "slot1@node", "PartitionableSlot": True, "Cpus": 2, "Memory": 4096, "Requirements": True}
    (tmp_path / "slots.json").write_text(json.dumps([ad]))
    assert run("--state", state, "import", "--slots", tmp_path / "slots.json", "--now", NOW).code == 0
    submit(run, state, "alice", 2, "1GB")
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    submit(run, state, "bob", 1, "1GB", 2)
    submit(run, state, "bob", 1, "1GB", 3)
    assert "No machine" not in why(run, state, "2.0")
    assert why(run, state, "3.0").startswith("Job 3.0 cannot run. No machine has more than 2 cores; you ask for 3.")


def test_a_start_too_far_ahead_is_left_to_another_command(run, pool, monkeypatch):
    submit(run, pool, "bob", 90, "2GB")
    assert "it starts about" in why(run, pool, "2.80")
    monkeypatch.setattr(answer, "_FORECAST", 1)
    out = why(run, pool, "2.80")
    assert "It does not start before 2026-" in out
    assert "'fairq queue --start 2.80' looks up to 14 days ahead." in out
    assert "it starts about" in why(run, pool, "2.3")


def test_nobody_is_told_to_ask_for_nothing(run, pool):
    submit(run, pool, "alice", 2, "2GB")
    run("--state", pool, "negotiate", "--now", NOW)
    submit(run, pool, "bob", 1, "1GB")
    out = why(run, pool, "3.0")
    assert "request_cpus = 0" not in out
    assert "request_memory = 0" not in out


def test_without_a_subject_the_reasons_of_all_idle_jobs_are_shown_most_jobs_first(run, pool):
    submit(run, pool, "alice", 2, "2GB")
    run("--state", pool, "negotiate", "--now", NOW)
    submit(run, pool, "bob", 5, "1GB")
    submit(run, pool, "carol", 2, "500GB")
    answer_document = json.loads(why(run, pool, "--json"))
    assert (answer_document["idle"], answer_document["matched"]) == (7, 0)
    assert [entry["jobs"] for entry in answer_document["reasons"]] == sorted(
        (entry["jobs"] for entry in answer_document["reasons"]), reverse=True
    )
    assert sum(entry["jobs"] for entry in answer_document["reasons"]) == 7
    assert any("No machine has more than 16 GB" in (entry["would_help"] or "") for entry in answer_document["reasons"])


def test_a_sole_submitter_in_a_full_pool_is_told_that_it_is_full(run, state):
    assert run("--state", state, "slots", "add", "node", "--count", "2", "--now", NOW).code == 0
    submit(run, state, "alice", 5, "100MB")
    run("--state", state, "negotiate", "--now", NOW)
    assert "the pool is full" in why(run, state, "1.4")


def test_the_changes_that_start_most_jobs_come_first(run, pool):
    submit(run, pool, "alice", 2, "2GB")
    run("--state", pool, "negotiate", "--now", NOW)
    submit(run, pool, "bob", 5, "1GB")
    submit(run, pool, "carol", 9, "500GB")
    answer_document = json.loads(why(run, pool, "--json"))
    starts = [entry["starts"] for entry in answer_document["help"]]
    assert starts == sorted(starts, reverse=True)
    assert all(starts)
    best = answer_document["help"][0]
    assert (best["who"], best["starts"], best["change"]) == ("administrator", 5, "add 5 slots like slot1_1@node")
    assert "What would help most: add 5 slots like slot1_1@node (starts 5 more jobs)." in answer_document["summary"]


def test_what_is_left_of_a_machine_is_no_advice_to_jobs_larger_than_a_whole_one(run, pool):
    submit(run, pool, "carol", 2, "500GB")
    out = why(run, pool)
    assert "Job 2.0: No machine has more than 16 GB of memory; you ask for 500." in out
    assert "request_memory = 4096" not in out


def test_a_smaller_request_is_tried_for_all_jobs_of_the_kind(run, state):
    assert run("--state", state, "slots", "add", "node", "--count", "4", "--memory", "8GB", "--now", NOW).code == 0
    submit(run, state, "alice", 3, "20GB")
    answer_document = json.loads(why(run, state, "--json"))
    best = answer_document["help"][0]
    assert (best["who"], best["starts"], best["change"]) == ("owner", 3, "set request_memory = 8192")
    assert answer_document["reasons"][0]["would_start"] == 3


@pytest.mark.parametrize(
    ("settings", "limits", "change"),
    [
        ("[groups.x]\nquota = 1\n", "", "raise the quota of x to 5"),
        ("[limits]\ndb = 1\n", "concurrency_limits = db", "raise the concurrency limit db to 5"),
    ],
)
def test_limits_are_raised_for_all_jobs_that_wait_for_them(run, state, settings, limits, change):
    Path(f"{state}.toml").write_text(settings)
    assert run("--state", state, "slots", "add", "node", "--count", "8", "--now", NOW).code == 0
    file = state.with_name("job.sub")
    file.write_text(f"""
        executable = /bin/true
        accounting_group = x
        accounting_group_user = alice
        {limits}
        queue 5
    """)
    assert run("--state", state, "submit", file, "--now", NOW).code == 0
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    best = json.loads(why(run, state, "--json"))["help"][0]
    assert (best["starts"], best["change"]) == (4, change)


@pytest.mark.parametrize("value", [["b", 1], {"a": 1}])
def test_an_imported_request_that_is_a_list_or_an_ad_is_explained(run, state, tmp_path, value):
    slot = {"Name": "slot1@a", "Cpus": 1, "Memory": 2048, "Requirements": "/Expr(TARGET.RequestMemory <= Memory)/"}
    job = {"ClusterId": 1, "ProcId": 0, "JobStatus": 1, "User": "u@x", "RequestMemory": value}
    for name, ad in (("slots", slot), ("jobs", job | {"Requirements": "/Expr(true)/"})):
        (tmp_path / name).write_text(json.dumps([ad]))
    ended = run("--state", state, "import", "--slots", tmp_path / "slots", "--jobs", tmp_path / "jobs", "--now", NOW)
    assert ended.code == 0, ended.err
    assert "request_memory = 2048" in why(run, state, "1.0")
    assert "request_memory = 2048" in why(run, state)


def test_two_values_of_the_same_setting_are_one_piece_of_advice(run, state):
    assert run("--state", state, "slots", "add", "node", "--now", NOW - 9000).code == 0
    submit(run, state, "alice", 1, "1GB")
    assert run("--state", state, "negotiate", "--now", NOW - 8000).code == 0
    assert run("--state", state, "finish", "1.0", "--now", NOW - 10).code == 0
    submit(run, state, "bob", 1, "1GB")
    submit(run, state, "alice", 1, "1GB")
    text = why(run, state, "3.0")
    assert text.count("Set the factor of x.alice") == 1
    said = why(run, state, "x.alice")
    assert "; 1 submitter with a better priority comes first: x.bob" in said
