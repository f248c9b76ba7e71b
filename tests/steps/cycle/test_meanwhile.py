"""A cycle keeps nobody waiting, and what happens while it decides is not lost."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fairq.common.records import Actor
from fairq.settings import load
from fairq.steps.cycle.negotiate import negotiate

NOW = 1_795_000_000


@pytest.fixture
def pool(run, state, tmp_path):
    """Three slots; ann and bob have a cluster of three jobs each."""
    slots = [{"Name": f"slot{n}", "Memory": 1000, "Requirements": True} for n in range(3)]
    jobs = [
        {"ClusterId": c, "ProcId": p, "JobStatus": 1, "User": f"{owner}@example.org", "Requirements": True}
        for c, owner in ((1, "ann"), (2, "bob"))
        for p in range(3)
    ]
    for name, ads in (("slots.json", slots), ("jobs.json", jobs)):
        (tmp_path / name).write_text(json.dumps(ads))
    words = ["--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json", "--now", NOW]
    assert run("--state", state, "import", *words).code == 0
    return state


def held_with(state, *commands):
    """Hold a cycle, and run *commands* once it has begun to decide; return it, and its progress messages."""
    messages: list[str] = []

    def doing(message):
        messages.append(message)
        if message == "matching jobs with slots":
            for line in commands:
                words = [sys.executable, "-m", "fairq", "--state", str(state), *line.split(), "--now", str(NOW)]
                subprocess.run(words, check=True, timeout=30, capture_output=True)

    return negotiate(state, load(None, state, {}), Actor("root", "fairq negotiate", NOW), doing=doing), messages


def matched(cycle):
    return sorted(f"{match.cluster}.{match.proc}" for match in cycle.decision.matches)


def stored(state):
    with closing(sqlite3.connect(state)) as connection:
        yield from (f"{c}.{p}" for c, p in connection.execute("SELECT cluster, proc FROM claim ORDER BY 1, 2"))


@pytest.mark.parametrize("change", ["remove 1.0", "hold 1.0", "prio 5 1.0"])
def test_the_match_of_a_job_that_changed_meanwhile_is_dropped_and_recorded(pool, run, change):
    cycle, messages = held_with(pool, change)

    assert "matching again, since the pool has changed" not in messages
    assert "1.0" not in matched(cycle)
    assert len(matched(cycle)) == 2
    assert list(stored(pool)) == matched(cycle)
    assert any("1.0" in note for note in cycle.notes)
    past = json.loads(run("--state", pool, "state", "cycle", "1", "--json").out)
    assert past["dropped"] == ["1.0"]
    assert {submitter["submitter"].partition("@")[0]: submitter["matched"] for submitter in past["submitters"]} == {
        "ann": 1,
        "bob": 1,
    }
    users = json.loads(run("--state", pool, "userprio", "--allusers", "--json", "--now", NOW).out)
    assert sum(user.get("ResourcesUsed", 0) for user in users if not user.get("IsAccountingGroup")) == 2
    assert run("--state", pool, "state", "check").code == 0


def test_who_had_only_a_dropped_match_has_not_begun_to_use_anything(pool, run):
    held_with(pool, "hold 2")

    users = json.loads(run("--state", pool, "userprio", "--allusers", "--json", "--now", NOW).out)
    (bob,) = (user for user in users if user["Name"].startswith("bob"))
    assert (bob["ResourcesUsed"], bob["BeginUsageTime"]) == (0, 0)


def test_new_jobs_wait_for_the_next_cycle_and_submit_does_not_wait_for_this_one(pool, tmp_path):
    (tmp_path / "job.sub").write_text("executable = /bin/true\nqueue 2\n")

    cycle, messages = held_with(pool, f"submit {tmp_path / 'job.sub'}")

    assert "matching again, since the pool has changed" not in messages
    assert len(matched(cycle)) == 3
    assert cycle.decision.dropped == []


@pytest.mark.parametrize(
    "change", ["slots drain slot0", "userprio --setfactor ann@example.org 9", "slots remove slot2"]
)
def test_with_other_slots_or_priorities_it_decides_again(pool, change):
    cycle, messages = held_with(pool, change)

    assert messages.count("matching again, since the pool has changed") == 1
    assert list(stored(pool)) == matched(cycle)
    if change != "userprio --setfactor ann@example.org 9":
        assert len(matched(cycle)) == 2


def test_a_claim_that_ended_meanwhile_leaves_a_slot_for_this_cycle(pool):
    first, _ = held_with(pool)
    cycle, messages = held_with(pool, f"finish {matched(first)[0]}")

    assert "matching again, since the pool has changed" in messages
    assert len(matched(cycle)) == 1


def held_while_written(state, settings):
    """Hold a cycle; write *settings* into the pool's file once it has begun to decide."""
    messages: list[str] = []

    def doing(message):
        messages.append(message)
        if message == "matching jobs with slots":
            Path(f"{state}.toml").write_text(settings)

    return negotiate(state, load(None, state, {}), Actor("root", "fairq negotiate", NOW), doing=doing), messages


def test_with_other_settings_it_decides_again_by_them(pool):
    cycle, messages = held_while_written(pool, '[negotiator]\nnegotiator_job_constraint = "false"\n')

    assert messages.count("matching again, since the pool has changed") == 1
    assert matched(cycle) == list(stored(pool)) == []


@pytest.mark.parametrize("settings", ["# a comment\n", "[negotiator\n"])
def test_settings_that_say_nothing_else_or_nothing_at_all_leave_it_as_decided(pool, settings):
    cycle, messages = held_while_written(pool, settings)

    assert "matching again, since the pool has changed" not in messages
    assert len(matched(cycle)) == 3


def test_a_dropped_match_is_not_in_the_figures_of_its_group(pool, run):
    Path(f"{pool}.toml").write_text("[groups.group_a]\nquota = 3\n")
    run("--state", pool, "remove", "1", "2", "--now", NOW)
    job = {"ClusterId": 3, "JobStatus": 1, "User": "cat@x", "AccountingGroup": "group_a.cat", "Requirements": True}
    ads = [{**job, "ProcId": proc} for proc in range(3)]
    pool.with_name("more.json").write_text(json.dumps(ads))
    run("--state", pool, "import", "--jobs", pool.with_name("more.json"), "--now", NOW)

    cycle, _ = held_with(pool, "hold 3.1")

    (group,) = (figures for figures in cycle.decision.quotas if figures.group == "group_a")
    assert (len(matched(cycle)), group.used_after, group.subtree_used) == (2, 2.0, 2.0)
