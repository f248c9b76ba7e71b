"""A flood of jobs is bounded where people share a pool, and its space comes back."""

import json
from pathlib import Path

import pytest


def test_a_state_shrinks_after_a_flood(run, state, tmp_path, monkeypatch):
    ads = [
        {"ClusterId": n, "ProcId": 0, "Owner": "mallory", "JobStatus": 1, "Note": f"{n} " * 500} for n in range(1, 3000)
    ]
    (tmp_path / "flood.json").write_text(json.dumps(ads))
    (tmp_path / "none.json").write_text("[]")
    assert run("--state", state, "import", "--jobs", tmp_path / "flood.json").code == 0
    flooded = state.stat().st_size
    assert run("--state", state, "import", "--jobs", tmp_path / "none.json").code == 0
    monkeypatch.setattr("fairq.steps.pool.check._LARGE", 1 << 20)
    assert "fairq state compact" in run("--state", state, "pool", "check").out
    assert run("--state", state, "state", "compact").code == 0
    assert state.stat().st_size < flooded / 4
    assert run("--state", state, "state", "check").code == 0
    assert "fairq state compact" not in run("--state", state, "pool", "check").out


def test_without_a_state_nothing_is_compacted(run, state):
    ended = run("--state", state, "state", "compact")
    assert (ended.code, ended.err.count("\n"), state.exists()) == (3, 1, False)


@pytest.mark.parametrize("key", ["max_jobs_per_owner", "max_jobs_per_submission"])
def test_alike_jobs_count_once(run, state, monkeypatch, key):
    monkeypatch.setenv(f"FAIRQ_SCHEDD_{key.upper()}", "3")
    assert run("--state", state, "submit", "--count", 1000, "--", "/bin/true").code == 0
    different = state.with_name("four.sub")
    different.write_text("executable = /bin/echo\narguments = $(Item)\nqueue in (a b c d)\n")
    refused = run("--state", state, "submit", different)
    assert (refused.code, f"schedd.{key} is 3" in refused.err) == (104, True), refused.err


@pytest.mark.parametrize(("is_shared", "code"), [(True, 104), (False, 0)])
def test_the_pool_of_a_host_has_the_limits_of_htcondor(run, state, is_shared, code, monkeypatch):
    monkeypatch.setattr("fairq.steps.jobs.submit._DEFAULTS_OF_HOST", {"max_jobs_per_submission": 3})
    if is_shared:
        monkeypatch.setenv("FAIRQ_POOL_STATE", str(state))
    different = state.with_name("four.sub")
    different.write_text("executable = /bin/echo\narguments = $(Item)\nqueue in (a b c d)\n")
    Path(f"{state}.toml").write_text(f'[pool]\nstate = "{state}"\n' if is_shared else "")
    assert run("--state", state, "submit", different).code == code
