"""What lets people think again: questions at a terminal, and the way back to a copy."""

import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

NOW = 1_795_200_000


@pytest.fixture
def pool(run, state):
    """30 idle jobs."""
    run("--state", state, "submit", "--count", 30, "--now", NOW, "--", "/bin/true")
    return state


@pytest.fixture
def answer(monkeypatch):
    """Sit at a terminal and answer."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def answer(text):
        monkeypatch.setattr(sys, "stdin", Terminal(text + "\n"))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    return answer


def jobs(run, state):
    return len(json.loads(run("--state", state, "queue", "--json").out))


@pytest.mark.parametrize("words", [["remove", "--all"], ["remove", "1.0-24"], ["hold", "1"]])
def test_many_jobs_are_changed_after_a_question(run, pool, answer, words):
    before = pool.read_bytes()
    answer("no")
    ended = run("--state", pool, *words)
    assert (ended.code, ended.out) == (1, "")
    assert "jobs? [y/N]" in ended.err
    assert pool.read_bytes() == before
    answer("y")
    assert run("--state", pool, *words).code == 0
    assert pool.read_bytes() != before


@pytest.mark.parametrize(
    "words", [["remove", "--all", "--yes"], ["remove", "1.0-19"], ["remove", "--all", "--dry-run"]]
)
def test_what_is_clear_or_small_is_not_asked(run, pool, answer, words):
    answer("no")
    assert run("--state", pool, *words).code == 0


def test_without_a_terminal_nobody_is_asked(run, pool):
    assert run("--state", pool, "remove", "--all").code == 0


def test_a_new_record_and_a_deletion_are_asked_for(run, pool, answer):
    answer("n")
    assert "New record bob@here?" in run("--state", pool, "userprio", "-setfactor", "bob@here", "5").err
    assert run("--state", pool, "userprio", "-allusers", "--json").out == "[]\n"
    run("--state", pool, "userprio", "-setfactor", "bob@here", "5", "-yes")
    answer("n")
    assert "Delete the record of bob?" in run("--state", pool, "userprio", "-delete", "bob").err
    answer("yes")
    assert run("--state", pool, "userprio", "-delete", "bob").code == 0


def test_a_restored_copy_is_the_state_and_the_former_one_is_kept(run, pool, tmp_path):
    copy = tmp_path / "copy.db"
    run("--state", pool, "state", "backup", copy)
    run("--state", pool, "remove", "--all")
    ended = run("--state", pool, "state", "restore", copy, "--reason", "slip")
    assert ended.code == 0
    assert jobs(run, pool) == 30
    assert jobs(run, Path(f"{pool}.before-restore")) == 0
    assert str(pool) + ".before-restore" in ended.err
    last = json.loads(run("--state", pool, "state", "history", "--json").out)[-1]
    assert (last["subject"], last["reason"]) == ("state", "slip")
    assert run("--state", pool, "state", "check").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", pool.name, f"{pool.name}.before-restore"]


def test_only_a_sound_copy_is_restored(run, pool, tmp_path):
    before = pool.read_bytes()
    (tmp_path / "other.db").write_bytes(b"no state")
    for name in ("none.db", "other.db", pool.name):
        assert run("--state", pool, "state", "restore", tmp_path / name).code in (3, 5)
    assert pool.read_bytes() == before


@pytest.mark.parametrize("content", [b"", None], ids=["a file of no bytes", "an SQLite file of no tables"])
def test_an_empty_file_is_no_copy(run, pool, tmp_path, content):
    """Such a file is what a backup to a full disk leaves; as a state it would read as an empty pool."""
    copy = tmp_path / "copy.db"
    if content is None:
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("VACUUM")
    else:
        copy.write_bytes(content)
    before = pool.read_bytes()
    ended = run("--state", pool, "state", "restore", copy)
    assert "it is empty; name a copy that 'fairq state backup' made" in ended.err
    assert (ended.code, pool.read_bytes()) == (3, before)


@pytest.mark.parametrize("size", [4096, 200_000], ids=["all but the first page", "a part"])
def test_a_copy_takes_the_place_of_a_state_that_has_lost_its_end(run, pool, tmp_path, size):
    copy = tmp_path / "copy.db"
    run("--state", pool, "state", "backup", copy)
    damaged = pool.read_bytes()[:size]
    pool.write_bytes(damaged)
    assert "restore a backup with 'fairq state restore'" in run("--state", pool, "queue").err
    ended = run("--state", pool, "state", "restore", copy)
    assert (ended.code, jobs(run, pool)) == (0, 30)
    assert Path(f"{pool}.before-restore").read_bytes() == damaged
    assert run("--state", pool, "state", "check").code == 0


def test_a_copy_takes_the_place_of_a_state_with_a_damaged_page(run, pool, tmp_path):
    copy = tmp_path / "copy.db"
    run("--state", pool, "state", "backup", copy)
    content = pool.read_bytes()
    pool.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    assert run("--state", pool, "state", "restore", copy).code == 0
    assert (jobs(run, pool), run("--state", pool, "state", "check").code) == (30, 0)


def test_whoever_has_a_state_with_a_damaged_beginning_hears_the_way_back(run, pool, tmp_path):
    copy = tmp_path / "copy.db"
    run("--state", pool, "state", "backup", copy)
    pool.write_bytes(bytes(pool.stat().st_size))
    assert "move it away and restore a backup with 'fairq state restore'" in run("--state", pool, "queue").err
    pool.rename(tmp_path / "away.db")
    assert run("--state", pool, "state", "restore", copy).code == 0
    assert jobs(run, pool) == 30


HALF_DONE = """
import os, signal, sqlite3, sys
from fairq.state.schema import guards
state = sqlite3.connect(sys.argv[1], isolation_level=None)
guards.register(state)
state.execute("PRAGMA cache_size = 1")
state.execute("BEGIN")
for table in ("job", "job_ad", "job_event"):
    state.execute(f"DELETE FROM {table}")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("left", ["nothing", "half of it", "all of it"])
def test_what_a_killed_command_left_half_done_is_not_undone_in_the_restored_copy(run, pool, tmp_path, left):
    copy = tmp_path / "copy.db"
    run("--state", pool, "state", "backup", copy)
    run("--state", pool, "submit", "--count", 3000, "--attribute", "Note=$(Process)", "--", "/bin/true")
    subprocess.run([sys.executable, "-c", HALF_DONE, pool], check=False)
    assert Path(f"{pool}-journal").stat().st_size > 0
    if left == "nothing":
        pool.unlink()
    elif left == "half of it":
        pool.write_bytes(pool.read_bytes()[:8192])
    assert run("--state", pool, "state", "restore", copy).code == 0
    assert (jobs(run, pool), run("--state", pool, "state", "check").code) == (30, 0)
