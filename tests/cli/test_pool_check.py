"""``fairq pool check``: what is wrong is named with its cure, and told by the exit code."""

import json
from pathlib import Path

import pytest

from fairq.steps.pool import check

NOW = 1_795_000_000


@pytest.fixture(autouse=True)
def no_cron(monkeypatch, tmp_path):
    """The crontabs and units of this machine are those of a folder."""
    folder = tmp_path / "cron.d"
    folder.mkdir()
    monkeypatch.setattr(check, "_CRON_PLACES", (str(folder),))
    monkeypatch.setattr(check, "_UNIT_PLACES", ())
    monkeypatch.setenv("PATH", "/nonexistent")
    return folder


def found(run, state, *words):
    ended = run("--state", state, "pool", "check", "--json", *words)
    return ended.code, {check["check"]: check for check in json.loads(ended.out)["checks"]}


@pytest.fixture
def pool(run, state, no_cron):
    (no_cron / "fairq").write_text("*/5 * * * * fairq fairq negotiate -q\n")
    for words in (["slots", "add", "node"], ["negotiate"]):
        assert run("--state", state, *words, "--now", NOW).code == 0
    return state


def test_all_is_well(run, pool):
    code, checks = found(run, pool, "--now", NOW + 300)
    assert code == 0
    assert {check["status"] for check in checks.values()} == {"good", "not needed"}
    assert checks["last cycle"]["detail"] == "cycle 1 was held 5m ago"
    quiet = run("--state", pool, "pool", "check", "-q", "--now", NOW + 300)
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_a_cron_that_stopped_is_found(run, pool, no_cron):
    (no_cron / "fairq").unlink()
    code, checks = found(run, pool, "--now", NOW + 7200)
    assert code == 114
    assert checks["last cycle"]["detail"] == "cycle 1 was held 2h ago"
    assert "fairq negotiate -q" in checks["last cycle"]["cure"]
    assert checks["cron"]["status"] == "fault"
    assert found(run, pool, "--now", NOW + 7200, "--max-age", "3h")[0] == 0


def test_a_clock_that_went_back_is_found(run, pool):
    code, checks = found(run, pool, "--now", NOW - 3600)
    assert code == 114
    assert "correct the clock" in checks["clock"]["cure"]


def test_wrong_settings_are_found(run, pool):
    Path(f"{pool}.toml").write_text("[negotiator]\nrules = 7\n")
    code, checks = found(run, pool, "--now", NOW + 10)
    assert code == 114
    assert checks["settings"]["status"] == "fault"
    assert checks["state"]["status"] == "good"


def test_a_file_that_is_no_state_is_found(run, state):
    state.write_text("not a state")
    ended = run("--state", state, "pool", "check")
    assert ended.code == 114
    assert "run 'fairq state check'" in ended.out
    assert ended.err.startswith("fairq: 1 of ")


def test_a_pool_that_never_held_a_cycle_is_told(run, state):
    assert run("--state", state, "slots", "add", "node").code == 0
    code, checks = found(run, state)
    assert code == 114
    assert checks["last cycle"]["detail"] == "no cycle was ever held"


def test_slots_that_share_a_gpu_or_do_not_name_theirs_are_found(run, pool):
    for name in ("a", "b"):
        run("--state", pool, "slots", "add", name, "--gpus", 1)
    assert found(run, pool, "--now", NOW)[1]["GPUs"]["status"] == "not needed"
    run("--state", pool, "config", "set", "launch.kind", "local")
    check = found(run, pool, "--now", NOW)[1]["GPUs"]
    assert (check["status"], check["detail"]) == ("fault", "a and b have the same GPU CUDA0")
    assert run("--state", pool, "slots", "remove", "b").code == 0
    assert run("--state", pool, "slots", "add", "b", "--gpus", 1).code == 0
    assert found(run, pool, "--now", NOW)[1]["GPUs"]["detail"] == "each of 2 GPUs belongs to one slot"
    run("--state", pool, "config", "set", "launch.kind", "slurm")
    run("--state", pool, "slots", "add", "c", "--gpus", 1)
    run("--state", pool, "config", "set", "launch.kind", "local")
    assert "does not name its GPUs" in found(run, pool, "--now", NOW)[1]["GPUs"]["detail"]
