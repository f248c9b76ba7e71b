"""``fairq why``: advice that people can act on, and the reasons of all idle jobs together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOW = 1_795_200_000


@pytest.fixture
def pool(run, state: Path) -> Path:
    """One machine of 8 cores and 16 GB, of which alice's six jobs of a core and 2 GB use a part."""
    words = ["--cpus", 8, "--memory", "16GB", "--partitionable", "--now", NOW]
    assert run("--state", state, "slots", "add", "node", *words).code == 0
    submit(run, state, "alice", 6, "2GB")
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    return state


def submit(run, state: Path, user: str, count: int, memory: str, cpus: int = 1) -> None:
    words = ["--count", count, "--request-memory", memory, "--request-cpus", cpus, "--now", NOW]
    words += ["--accounting-group", "x", "--accounting-group-user", user]
    ended = run("--state", state, "submit", *words, "--", "/bin/true")
    assert ended.code == 0, ended.err


def why(run, pool: Path, *words: object) -> str:
    ended = run("--state", pool, "why", *words, "--now", NOW)
    assert ended.code == 0, ended.err
    return ended.out


def test_more_than_any_whole_machine_has_is_said_first(run, pool: Path):
    submit(run, pool, "bob", 1, "500GB")
    first = why(run, pool, "2.0").splitlines()[0]
    assert "No machine has more than 16 GB of memory; you ask for 500." in first
    assert "at most request_memory = 16384" in first


def test_what_is_left_of_a_machine_is_not_taken_for_the_whole(run, pool: Path):
    submit(run, pool, "bob", 1, "12GB")
    out = why(run, pool, "2.0")
    assert "No machine has more" not in out
    assert "it starts about" in out


def test_nobody_is_told_to_ask_for_nothing(run, pool: Path):
    submit(run, pool, "alice", 2, "2GB")
    run("--state", pool, "negotiate", "--now", NOW)
    submit(run, pool, "bob", 1, "1GB")
    out = why(run, pool, "3.0")
    assert "request_cpus = 0" not in out
    assert "request_memory = 0" not in out


def test_without_a_subject_the_reasons_of_all_idle_jobs_are_shown_most_jobs_first(run, pool: Path):
    submit(run, pool, "alice", 2, "2GB")
    run("--state", pool, "negotiate", "--now", NOW)
    submit(run, pool, "bob", 5, "1GB")
    submit(run, pool, "carol", 2, "500GB")
    found = json.loads(why(run, pool, "--json"))
    assert (found["idle"], found["matched"]) == (7, 0)
    assert [one["jobs"] for one in found["reasons"]] == sorted((one["jobs"] for one in found["reasons"]), reverse=True)
    assert sum(one["jobs"] for one in found["reasons"]) == 7
    assert any("No machine has more than 16 GB" in (one["would_help"] or "") for one in found["reasons"])


def test_a_sole_submitter_in_a_full_pool_is_told_that_it_is_full(run, state: Path):
    assert run("--state", state, "slots", "add", "node", "--count", "2", "--now", NOW).code == 0
    submit(run, state, "alice", 5, "100MB")
    run("--state", state, "negotiate", "--now", NOW)
    assert "the pool is full" in why(run, state, "1.4")
