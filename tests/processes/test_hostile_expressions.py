"""An expression that does not return, in every place that has one: the cycle ends, names it, and serves the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.processes.live import NOW

ENDLESS = " && ".join(f'isError(regexp("^(a+)+$", "{"a" * 40}{n}"))' for n in range(300))
"""Some thirty seconds of CPU; each pattern ends at the limit of steps that the library has."""

BUDGET = 0.2


@pytest.fixture(autouse=True)
def small_budget(monkeypatch):
    """Let nobody wait."""
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_EVALUATION_BUDGET", str(BUDGET))
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")


@pytest.fixture
def pool(run, state):
    """Import eight slots, four jobs of alice, two of mallory, three of bob that are held.

    One slot and mallory's jobs have more attributes.
    """

    def pool(job=None, slot=None):
        plain = {"JobStatus": 1, "QDate": NOW - 60, "Requirements": "/Expr(TARGET.Memory >= 10)/"}
        jobs = [{**plain, "Owner": "alice", "ClusterId": 1, "ProcId": proc} for proc in range(4)]
        jobs += [{**plain, "Owner": "mallory", "ClusterId": 2, "ProcId": proc, **(job or {})} for proc in range(2)]
        jobs += [{**plain, "Owner": "bob", "ClusterId": 3, "ProcId": proc, "JobStatus": 5} for proc in range(3)]
        fits = "/Expr(TARGET.ClusterId >= 1)/"
        slots: list[dict[str, Any]] = [{"Name": f"slot{n}@host", "Memory": 100, "Requirements": fits} for n in range(8)]
        slots[0].update(slot or {})
        for name, ads in (("slots", slots), ("jobs", jobs)):
            (state.parent / f"{name}.json").write_text(json.dumps(ads))
        files = ["--slots", state.parent / "slots.json", "--jobs", state.parent / "jobs.json"]
        assert run("--state", state, "import", *files, "--now", NOW).code == 0

    return pool


@pytest.fixture
def cycle(run, state):
    """Hold a cycle; return its decision, whose overruns the record repeats."""

    def cycle(now=NOW):
        decision = json.loads(run("--state", state, "negotiate", "--json", "--now", now).out)
        record = json.loads(run("--state", state, "state", "cycle", decision["cycle"], "--json").out)
        assert record["overruns"] == decision["overruns"]
        assert all(ENDLESS.startswith(overrun["expression"].removesuffix("...")) for overrun in decision["overruns"])
        # it is ended a little late, and once for each kind of job at most
        assert sum(overrun["seconds"] for overrun in decision["overruns"]) < 6 * (BUDGET + 1)
        return decision

    return cycle


def matched(decision):
    return sorted(match["submitter"].partition("@")[0] for match in decision["matches"])


def named(decision):
    return {
        (overrun["name"], (overrun["submitter"] or "").partition("@")[0], overrun["of_slots"])
        for overrun in decision["overruns"]
    }


def test_requirements_of_a_job(pool, cycle, run, state):
    pool(job={"Requirements": f"/Expr({ENDLESS})/"})

    decision = cycle()
    why = run("--state", state, "why", "2.0", "--now", NOW).out

    assert (matched(decision), named(decision)) == (["alice"] * 4, {("requirements", "mallory", False)})
    assert "requirements took too long to evaluate" in why


def test_rank_of_a_job(pool, cycle):
    """The jobs are matched, without a preference."""
    pool(job={"Rank": f"/Expr({ENDLESS})/"})

    decision = cycle()

    assert (matched(decision), named(decision)) == (
        ["alice"] * 4 + ["mallory"] * 2, {("rank", "mallory", False)}
    )  # fmt: skip


@pytest.mark.parametrize("name", ["Requirements", "Rank"])
def test_an_expression_of_a_machine(name, pool, cycle):
    """The other slots are handed out, and everybody's own expressions are evaluated."""
    pool(slot={name: f"/Expr({ENDLESS})/"})

    decision = cycle()

    assert matched(decision) == ["alice"] * 4 + ["mallory"] * 2
    assert {(overrun["name"], overrun["of_slots"]) for overrun in decision["overruns"]} == {(name.lower(), True)}
    assert "slot0@host" not in {match["slot"] for match in decision["matches"]} or name == "Rank"


@pytest.mark.parametrize(
    "setting",
    [
        "NEGOTIATOR_JOB_CONSTRAINT",
        "NEGOTIATOR_SUBMITTER_CONSTRAINT",
        "NEGOTIATOR_SLOT_CONSTRAINT",
        "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT",
        "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD",
    ],
)
def test_a_setting_about_who_takes_part(setting, pool, cycle, monkeypatch):
    """A constraint that is an error is true of nobody. The threshold is left out; the pool's size limits no slice."""
    monkeypatch.setenv(f"FAIRQ_NEGOTIATOR_{setting}", ENDLESS)
    pool(slot={"DaemonShutdown": False})  # without one, nobody asks for the threshold

    decision = cycle()

    assert named(decision) == {(setting, "", False)}
    excludes_nobody = setting in ("NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD", "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT")
    assert len(matched(decision)) == (6 if excludes_nobody else 0)


@pytest.mark.parametrize(
    ("setting", "preempted"),
    [("PREEMPTION_REQUIREMENTS", 0), ("PREEMPTION_RANK", 1)],
)
def test_a_setting_about_preemption(setting, preempted, run, pool, cycle, state, monkeypatch):
    """Nobody is preempted without the requirements, and by no preference without the rank; free slots are given out."""
    pool()
    assert len(cycle()["matches"]) == 6
    assert run("--state", state, "userprio", "-setprio", "alice@example.org", 1e6, "--now", NOW).code == 0
    assert run("--state", state, "release", 3, "--now", NOW).code == 0
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_PREEMPTION_REQUIREMENTS", "true")
    monkeypatch.setenv(f"FAIRQ_NEGOTIATOR_{setting}", ENDLESS)

    decision = cycle(NOW + 7200)

    assert named(decision) == {(setting, "bob", False)}
    assert matched(decision) == ["bob"] * (2 + preempted)
    assert sum(match["preempted"] is not None for match in decision["matches"]) == preempted


def test_the_order_of_the_groups(pool, cycle, run, state, monkeypatch):
    """Every group comes last, so all in their own order; `quotas` tells, before a cycle and after it."""
    Path(f"{state}.toml").write_text("[groups.one]\nquota = 3\n[groups.two]\nquota = 2\n")
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_GROUP_SORT_EXPR", ENDLESS)
    pool()

    before = run("--state", state, "quotas", "--now", NOW).err
    decision = cycle()
    after = run("--state", state, "quotas", "--now", NOW).err
    compared = run("--state", state, "quotas", "--slots", 4, "--now", NOW).err

    assert (named(decision), len(matched(decision))) == ({("GROUP_SORT_EXPR", "", False)}, 6)
    for told in (before, after, compared):
        assert "GROUP_SORT_EXPR took too long to evaluate" in told
        assert "for 3 groups" in told
