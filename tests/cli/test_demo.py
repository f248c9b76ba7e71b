"""The demo shows the real commands and touches nothing of the user's."""

import contextlib
import os
import pty
import subprocess
import sys

import pytest

from fairq.steps.broker.demo import DEMO as GRID
from fairq.steps.demo import SCENES
from fairq.steps.taskqueues.demo import DEMO as QUEUES


def test_every_command_of_the_demo_is_shown_and_works_and_a_kept_state_can_be_looked_at(fairq, run, tmp_path):
    """Two users at one to two get 8 and 4 of 12 slots; a deleted record is gone from the last table.

    The state stays where --keep says, and is sound.
    """
    kept = tmp_path / "demo"
    ended = fairq("demo", "--keep", kept)

    assert ended.code == 0, ended.err
    assert ended.out.count("$ fairq ") == len(SCENES)
    assert "12 matches in 1 spin over 12 slots" in ended.out
    first = ended.out.split("Matches")[0].splitlines()
    assert [line.split()[6] for line in first if line.startswith(("alice@", "bob@"))] == ["8", "4"]
    last = ended.out.rsplit("userprio -allusers", 1)[1]
    assert "alice@lab.example" in last
    assert "Number of users: 1 " in last
    assert run("--state", kept / "state.db", "state", "check").code == 0

    again = fairq("demo", "--keep", kept)

    assert (again.code, again.out) == (60, "")
    assert "cannot be created" in again.err
    assert "Traceback" not in again.err


def test_the_demo_asks_nothing_on_a_terminal():
    outer, inner = pty.openpty()
    words = [sys.executable, "-m", "fairq", "demo"]
    running = subprocess.Popen(words, stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    shown = b""
    with os.fdopen(outer, "rb", buffering=0) as terminal, contextlib.suppress(OSError):  # so Linux tells the end
        while b"[y/N]" not in shown and (piece := terminal.read(65536)):
            shown += piece
    if b"[y/N]" in shown:
        running.kill()
    assert running.wait() == 0
    assert shown.count(b"$ fairq ") == len(SCENES)


@pytest.mark.parametrize(("demo", "shown"), [
    (GRID, ["3 assigned, 1 pending", "-LYON/MCORE read_lan_blacklist", "1 job ended", "101 ready"]),
    (QUEUES, ["imported 4 task queues, 18 jobs", "0.8571", "4 jobs for 4 pilots", "14 is not offered", "14.0  lhcb_"]),
], ids=["broker", "taskqueues"])  # fmt: skip
def test_every_scene_of_the_other_demos_works(run, tmp_path, monkeypatch, demo, shown):
    """They are played as the one of the pool is, with files in the directory that the commands run in."""
    monkeypatch.chdir(tmp_path)
    for name, content in {"fairq.toml": demo.settings, **demo.files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    told = ""
    for scene in demo.scenes:
        ended = run("--state", "state.db", "--config", "fairq.toml", *scene.words)
        assert ended.code == 0, (scene, ended.err)
        told += ended.out
    assert [text for text in shown if text not in told] == []
