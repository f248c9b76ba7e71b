"""``fairq pool pause`` and ``resume``: nothing new is matched meanwhile, and everybody sees it."""

import json
from pathlib import Path

import pytest

from fairq.errors.pool import PoolPausedError

T = 1_795_000_000


@pytest.fixture
def pool(run, state):
    """A slot, and an idle job."""

    def fairq(*words):
        return run("--state", state, *words)

    fairq("slots", "add", "node1", "--now", T)
    fairq("submit", "--accounting-group-user", "ann", "--now", T, "--", "/bin/true")
    return fairq


def test_a_paused_pool_matches_nothing_until_it_is_resumed(pool):
    paused = pool("pool", "pause", "--reason", "a new switch", "--now", T + 10)
    assert paused.code == 0 and "the pool is paused since" in paused.out and "a new switch" in paused.out
    held = pool("negotiate", "--now", T + 20)
    assert (held.code, held.out, held.err.count("\n")) == (0, "", 1)
    assert "a new switch" in held.err
    assert pool("queue", "--running", "--af", "ClusterId").out == ""
    assert pool("pool", "resume", "--now", T + 30).out == "the pool is resumed\n"
    pool("negotiate", "--now", T + 40)
    assert pool("queue", "--running", "--af", "ClusterId").out == "1\n"


def test_a_pause_ends_by_itself(pool):
    pool("pool", "pause", "--until", T + 100, "--now", T)
    pool("negotiate", "--now", T + 99)
    assert pool("queue", "--idle", "--af", "ClusterId").out == "1\n"
    pool("negotiate", "--now", T + 100)
    assert pool("queue", "--running", "--af", "ClusterId").out == "1\n"
    assert pool("pool", "resume", "--now", T + 110).err == "no changes: the pool is not paused\n"


def test_an_end_that_has_passed_is_refused(pool):
    assert pool("pool", "pause", "--until", T, "--now", T).code == 2


@pytest.mark.parametrize("line", ["queue", "status", "why 1.0", "submit -- /bin/true", "negotiate --dry-run"])
def test_everybody_sees_it(pool, line):
    pool("pool", "pause", "--reason", "a new switch", "--now", T + 10)
    shown = pool(*line.split(" ")[:1], "--now", T + 20, *line.split(" ")[1:])
    assert "paused since" in " ".join((shown.out + shown.err).lower().split())
    assert "a new switch" in shown.out + shown.err


def test_scripts_see_it_in_json(pool):
    assert json.loads(pool("status", "--json", "--now", T).out)["paused"] is None
    pool("pool", "pause", "--reason", "x", "--until", T + 99, "--now", T)
    expected = {"since_time": T, "until_time": T + 99, "user": "root", "reason": "x"}
    for line in ("status", "why 1.0"):
        paused = json.loads(pool(*line.split(), "--json", "--now", T + 1).out)["paused"]
        assert {**paused, "user": "root"} == expected


def test_collected_ends_and_usage_go_on(pool):
    pool("negotiate", "--now", T)
    pool("pool", "pause", "--now", T + 10)
    pool("finish", "1.0", "--now", T + 60)
    assert pool("history", "--af", "ClusterId", "--now", T + 61).out == "1\n"
    assert pool("negotiate", "--now", T + 70).code == 0


def test_a_pause_is_in_the_history_and_can_be_undone(pool):
    pool("pool", "pause", "--reason", "x", "--now", T)
    entry = json.loads(pool("state", "history", "--json").out)[-1]
    assert (entry["subject"], entry["after"], entry["reason"]) == ("pool", {"Paused": True, "Until": None}, "x")
    assert pool("undo", "--now", T + 1).code == 0
    assert pool("pool", "resume", "--now", T + 2).err == "no changes: the pool is not paused\n"
    pool("pool", "pause", "--now", T + 3)
    pool("pool", "resume", "--now", T + 4)
    assert pool("undo", "--now", T + 5).code == 0
    assert "paused since" in pool("queue", "--now", T + 6).err


def test_a_dry_run_changes_nothing(pool, state):
    pool("pool", "pause", "--now", T)
    before = state.read_bytes()
    assert pool("pool", "resume", "--dry-run", "--now", T).out == "the pool would be resumed\n"
    assert "would be paused" in pool("pool", "pause", "--until", T + 9, "--dry-run", "--now", T).out
    assert state.read_bytes() == before


def test_others_than_administrators_may_not(pool, state, monkeypatch):
    Path(f"{state}.toml").write_text('[pool]\nadministrators = ["nobody"]\n')
    monkeypatch.setattr("os.getuid", lambda: 12345)
    for line in ("pause", "resume"):
        ended = pool("pool", line, "--now", T)
        assert (ended.code, "may not" in ended.err) == ((101, True) if line == "pause" else (0, False))


def test_a_pause_is_exported_and_imported(pool, run, state, tmp_path):
    pool("pool", "pause", "--reason", "x", "--now", T)
    (tmp_path / "pool.json").write_text(pool("export").out)
    other = tmp_path / "other.db"
    assert run("--state", other, "import", tmp_path / "pool.json").code == 0
    assert "paused since" in run("--state", other, "queue", "--now", T).err
    document = json.loads((tmp_path / "pool.json").read_text())
    document["meta"]["pause"] = "{}"
    (tmp_path / "pool.json").write_text(json.dumps(document))
    assert "meta.pause" in run("--state", other, "import", tmp_path / "pool.json").err


def test_run_until_idle_ends_with_its_own_code(run, state):
    run("--state", state, "slots", "add", "here", "--attribute", 'Launch="local"')
    run("--state", state, "submit", "--", "/bin/true")
    run("--state", state, "pool", "pause")
    assert run("--state", state, "run", "--until-idle").code == PoolPausedError.exit_code
    run("--state", state, "pool", "resume")
    assert run("--state", state, "run", "--until-idle").code == 0


def test_pool_check_finds_no_fault_in_a_pause(pool):
    pool("negotiate", "--now", T)
    pool("pool", "pause", "--now", T)
    shown = json.loads(pool("pool", "check", "--json", "--now", T + 86400).out)
    (last,) = (check for check in shown["checks"] if check["check"] == "last cycle")
    assert last["status"] == "good" and "paused" in last["detail"]


def test_a_forecast_begins_when_the_pause_ends(pool):
    pool("pool", "pause", "--until", T + 500, "--now", T + 10)
    shown = pool("queue", "--start", "--json", "--now", T + 20)
    assert [job["EstimatedStart"] for job in json.loads(shown.out)] == [T + 500]
    assert "the pool is resumed 2026-11-18" in shown.err
    pool("pool", "pause", "--now", T + 30)
    assert "the pool is resumed now" in pool("queue", "--start", "--now", T + 40).err
