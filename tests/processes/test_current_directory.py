"""Nothing is imported or run from the directory that the user happens to be in."""

import os
import subprocess
import sys

import pytest

MODULES = ("typer", "rich", "numpy", "tomli_w", "platformdirs", "htcondor2", "classad2", "sqlite3", "json", "csv",
           "tempfile", "shutil", "difflib", "tomllib", "shlex", "subprocess", "datetime")  # fmt: skip


@pytest.fixture
def trap(tmp_path):
    """A directory full of things that leave a mark when they are used."""
    place = tmp_path / "trap"
    place.mkdir()
    mark = f"open({str(tmp_path / 'sprung')!r}, 'a').write(__name__)\n"
    for module in (*MODULES, "trapped"):
        (place / f"{module}.py").write_text(mark)
    for group in ("fairq.share_correctors", "fairq.broker.filters", "fairq.broker.weights"):
        plugin = place / f"{group.replace('.', '_')}-1.0.dist-info"
        plugin.mkdir()
        (plugin / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {group.replace('.', '_')}\nVersion: 1.0\n")
        (plugin / "entry_points.txt").write_text(f"[{group}]\nWMSHistory = trapped:Trap\nproduction = trapped:Trap\n")
    for program in ("nvidia-smi", "fairq", "python3"):
        (place / program).write_text(f"#!/bin/sh\necho {program} >> {tmp_path / 'sprung'}\n")
        (place / program).chmod(0o755)
    return place


def run(trap, *words):
    state = trap.parent / "state.db"
    ended = subprocess.run(
        [sys.executable, "-m", "fairq", *map(str, words)],
        cwd=trap,
        env={**os.environ, "FAIRQ_STATE": str(state), "PATH": f".:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    sprung = trap.parent / "sprung"
    assert not sprung.exists(), sprung.read_text()
    assert ended.returncode == 0, ended.stderr


def test_no_command_does(trap):
    corrections = '[shares.ShareCorrections]\nShareCorrectorsToStart = ["WMSHistory"]\n'
    (trap.parent / "state.db.toml").write_text(corrections)
    for line in (
        "slots detect --add",
        "submit -- /bin/sleep 1",
        "negotiate --json",
        "why 1.0 --json",
        "queue --af ClusterId",
        "userprio --csv",
        "taskqueues list",
        "broker run",
        "config set priority_halflife 60",
        "export -o ../pool.json",
        "state backup ../copy.db",
        "state check",
    ):
        run(trap, *line.split())


def test_the_demo_does_not(trap):
    run(trap, "taskqueues", "demo", "--keep", trap.parent / "demo")
