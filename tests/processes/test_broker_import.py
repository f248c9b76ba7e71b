"""``fairq broker import`` as a real process: killed in the middle of it, and looked at in the middle of it."""

import signal
import subprocess
import sys

import pytest
from tests.grid.published import NOW, Grid
from tests.grid.write import write

from fairq.columns.broker.kinds import STORED
from fairq.state import broker_data, check
from fairq.state.connection import reading

PAUSED = """
import sys
from fairq.state import broker_data
from fairq.cli.app import main

stored, calls = broker_data.store, iter(range(1000))

def store(state, *arguments):
    # A small cache makes SQLite write into the file long before the end.
    state.connection.execute("PRAGMA cache_size = " + sys.argv[2])
    stored(state, *arguments)
    if next(calls) == int(sys.argv[1]):
        print("in the middle", flush=True)
        sys.stdin.readline()

broker_data.store = store
sys.exit(main(sys.argv[3:]))
"""
"""Runs a command line that stops behind one of its writes, until it is told to go on."""


@pytest.fixture(scope="module")
def grids(tmp_path_factory):
    """Two grids of different sizes."""
    folder = tmp_path_factory.mktemp("grids")
    write(folder / "small", Grid(3, 1, 2, 3))
    write(folder / "whole")
    return folder


def counts(state):
    with reading(state) as opened:
        assert check.findings(opened) == []
        return {kind.name: len(broker_data.keys(opened, kind)) for kind in STORED}


def paused(state, grids, write, cache):
    """Start the import of the whole grid, and return when it has stopped in the middle."""
    words = ["--state", state, "broker", "import", grids / "whole", "--replace", "--now", NOW]
    line = [sys.executable, "-c", PAUSED, str(write), str(cache), *map(str, words)]
    process = subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in the middle\n"
    return process


@pytest.mark.parametrize("write", [1, 20])
def test_an_import_killed_in_the_middle_leaves_nothing(run, state, grids, write):
    assert run("--state", state, "broker", "import", grids / "small", "--now", NOW).code == 0
    before = counts(state)
    process = paused(state, grids, write, 5)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert counts(state) == before


def test_who_looks_in_the_middle_sees_the_grid_as_it_was(run, state, grids):
    assert run("--state", state, "broker", "import", grids / "small", "--now", NOW).code == 0
    before = counts(state)
    process = paused(state, grids, 12, 5000)
    assert counts(state) == before
    assert "3 tasks" in run("--state", state, "broker", "run", "--dry-run", "--now", NOW).out
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert counts(state)["queues"] == 60
