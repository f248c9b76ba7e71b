"""``fairq pool``: which pool is in use, and why."""

import json


def test_the_option_wins_over_the_variable(run, state, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRQ_STATE", str(tmp_path / "other.db"))
    assert run("pool").out.startswith(f"{tmp_path / 'other.db'} (FAIRQ_STATE names it")
    assert run("pool", "--state", state).out.startswith(f"{state} (--state names it")


def test_without_either_it_is_ones_own(run):
    told = json.loads(run("pool", "--json").out)
    assert told["named_by"] is None
    assert not told["exists"]
    assert told["path"].endswith("fairq/state.db")
