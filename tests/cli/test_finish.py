"""``fairq finish`` through the command line."""

import json

import pytest

T = 1_795_000_000


@pytest.fixture
def pool(run, state, monkeypatch):
    """A slot of four cores, matched with job 1.0 of alice at T+5, after an update at T."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    run("slots", "--state", state, "add", "node", "--cpus", 4, "--now", T)
    run("negotiate", "--state", state, "--now", T)
    run("submit", "--state", state, "--now", T, "--accounting-group-user", "alice", "--", "/bin/sh")
    run("negotiate", "--state", state, "--now", T + 5)

    def fairq(*words):
        return run(words[0], "--state", state, *words[1:])

    return fairq


def usage(pool):
    records = json.loads(pool("userprio", "--allusers", "--json").out)
    return {record["Name"]: record["WeightedAccumulatedUsage"] for record in records}["alice@example.org"]


def test_the_job_leaves_the_queue_and_its_slot_is_free(pool):
    ended = pool("finish", "1.0", "--exit-code", 3, "--now", T + 20)
    assert (ended.code, ended.out) == (0, "Job 1.0 finished\n")
    assert json.loads(pool("queue", "--json").out) == []
    (slot,) = json.loads(pool("slots", "list", "--json").out)
    assert slot["State"] == "Unclaimed"
    assert "RemoteUser" not in slot


def test_use_is_charged_to_the_end(pool):
    """Matched at T+5, ended at T+20, found gone at T+60: 15 seconds of four cores."""
    pool("finish", "1.0", "--now", T + 20)
    pool("negotiate", "--now", T + 60)
    assert usage(pool) == 60


def test_an_end_in_the_past_is_charged_to_that_time(pool):
    pool("finish", "1.0", "--at", T + 15, "--now", T + 50)
    pool("negotiate", "--now", T + 60)
    assert usage(pool) == 40


def test_an_end_may_be_relative_to_now_or_a_time_of_its_day(pool):
    """Ten seconds before --now; and a time of the day of --now, not of the clock's."""
    ended = pool("finish", "1.0", "--at", "0:00", "--now", T + 50)
    assert (ended.code, "it began at" in ended.err) == (37, True)
    assert pool("finish", "1.0", "--at", "-35s", "--now", T + 50).code == 0
    pool("negotiate", "--now", T + 60)
    assert usage(pool) == 40


def test_an_end_before_the_last_update_is_paid_back_at_once(pool):
    """The update at T+60 has charged 55 seconds; the job ran for 25."""
    pool("negotiate", "--now", T + 60)
    assert usage(pool) == 220
    pool("finish", "1.0", "--at", T + 30, "--now", T + 100)
    assert usage(pool) == 100
    pool("negotiate", "--now", T + 120)
    assert usage(pool) == 100


def test_use_shows_as_soon_as_the_job_ended(pool):
    """No cycle is needed for it."""
    pool("finish", "1.0", "--now", T + 20)
    assert usage(pool) == 60


def test_today_s_negotiator_pays_nothing_back(pool):
    """With exact_usage = false a use that an update has charged stays charged."""
    pool("config", "set", "accounting.exact_usage", "false")
    pool("negotiate", "--now", T + 60)
    pool("finish", "1.0", "--at", T + 30, "--now", T + 100)
    pool("negotiate", "--now", T + 120)
    assert usage(pool) == 220


def test_a_whole_cluster_finishes_where_it_runs(pool):
    pool("submit", "--now", T + 10, "--count", 2, "--", "/bin/sh")
    assert pool("finish", "--all", "--now", T + 20).out == "1 job has been finished\n"
    assert len(json.loads(pool("queue", "--json").out)) == 2


def test_the_freed_slot_goes_to_the_next_job(pool):
    pool("submit", "--now", T + 10, "--", "/bin/sh")
    pool("finish", "1.0", "--now", T + 20)
    pool("negotiate", "--now", T + 30)
    (job,) = json.loads(pool("queue", "--running", "--json").out)
    assert job["ClusterId"] == 2
    assert job["RemoteHost"] == "node"


def test_the_end_is_in_the_history(pool):
    pool("finish", "1.0", "--exit-code", 3, "--now", T + 20)
    entry = json.loads(pool("state", "history", "--json").out)[-1]
    shown = {name.lower(): value for name, value in entry.items()}
    assert shown["subject"] == "job 1.0"
    assert shown["after"]["ExitCode"] == 3


def test_a_dry_run_tells_what_would_finish_and_refuses_what_could_not(pool, state):
    before = state.read_bytes()
    assert pool("finish", "1", "--dry-run", "--now", T + 20).out == "1 job in cluster 1 would be finished\n"
    assert pool("finish", "1", "--dry-run", "--at", T, "--now", T + 20).code == 37
    assert state.read_bytes() == before


def test_the_history_keeps_the_beginning_of_a_long_command(pool):
    """Thousands of jobs on one command line would be stored again for each of them."""
    assert pool("finish", *["1.0"] * 2_000, "--now", T + 20).code == 0
    commands = [entry["command"] for entry in json.loads(pool("state", "history", "--json").out)]
    (longest,) = {command for command in commands if "finish" in command}
    assert longest.startswith("fairq finish")
    assert longest.endswith(" characters)")
    assert len(longest) < 3_000
