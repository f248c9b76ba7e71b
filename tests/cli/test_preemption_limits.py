"""``negotiator.max_preemptions_per_cycle``, ``_per_hour`` and ``_per_submitter``: preemption that goes slowly."""

import json
from pathlib import Path

import pytest

T = 1_795_000_000


@pytest.fixture
def pool(run, state):
    """Six slots of bob; ann and eve, who have used nothing, want as many."""

    def fairq(*words):
        return run("--state", state, *words)

    fairq("slots", "add", "n", "--count", 6, "--now", T)
    fairq("submit", "--accounting-group-user", "bob", "--count", 6, "--now", T, "--", "/bin/true")
    fairq("negotiate", "--no-launch", "--now", T)
    for user in ("ann", "eve"):
        fairq("submit", "--accounting-group-user", user, "--count", 6, "--now", T + 1, "--", "/bin/true")
    return fairq


def preempted(pool, state, at, **limits):
    """For whom a cycle preempts."""
    lines = [f"max_preemptions_per_{name} = {value}\n" for name, value in limits.items()]
    Path(f"{state}.toml").write_text(f'[negotiator]\npreemption_requirements = "True"\n{"".join(lines)}')
    record = json.loads(pool("negotiate", "--no-launch", "--now", at, "--json").out)
    return sorted(match["submitter"].partition("@")[0] for match in record["matches"] if match["preempted"])


def test_without_a_limit_a_cycle_preempts_all_that_shares_ask_for(pool, state):
    assert preempted(pool, state, T + 86400) == ["ann"] * 3 + ["eve"] * 3


def test_at_most_so_many_in_a_cycle_and_for_a_submitter(pool, state):
    assert len(preempted(pool, state, T + 86400, cycle=1)) == 1
    assert preempted(pool, state, T + 86500, submitter=1) == ["ann", "eve"]
    assert preempted(pool, state, T + 86600, cycle=0) == []


def test_at_most_so_many_in_an_hour(pool, state):
    assert len(preempted(pool, state, T + 86400, hour=3)) == 3
    assert preempted(pool, state, T + 86400 + 3599, hour=3) == []
    assert len(preempted(pool, state, T + 86400 + 3600, hour=3)) == 3


def test_why_names_the_limit_that_keeps_a_job_from_slots_it_could_preempt(pool, state):
    assert len(preempted(pool, state, T + 86400, hour=2)) == 2
    told = pool("why", "3.5", "--now", T + 86401).out
    assert "no slot that matches is free, and no more jobs may be preempted for it now" in told
    assert "(negotiator.max_preemptions_per_hour = 2)" in told
    Path(f"{state}.toml").write_text('[negotiator]\npreemption_requirements = "True"\n')
    assert "max_preemptions" not in pool("why", "3.5", "--now", T + 86401).out


def test_tables_say_that_a_limit_of_preemptions_stops_a_submitter(pool, state):
    Path(f"{state}.toml").write_text('[negotiator]\npreemption_requirements = "True"\nmax_preemptions_per_hour = 1\n')
    record = json.loads(pool("negotiate", "--no-launch", "--now", T + 86400, "--json").out)
    stopped = {one["submitter"].partition("@")[0]: one["stopped"] for one in record["submitters"] if one["idle"]}
    assert stopped == dict.fromkeys(("ann", "eve"), "limit of preemptions reached")
    assert {one["reason"] for one in record["rejections"]} == {"submitter limit exceeded"}
    assert "limit of preemptions reached" in pool("why", "eve", "--now", T + 86401).out
    Path(f"{state}.toml").write_text('[negotiator]\npreemption_requirements = "True"\n')
    assert "limit of preemptions" not in pool("negotiate", "--no-launch", "--now", T + 86402, "--json").out
