"""``fairq top`` in a terminal of tmux: what it shows, what its keys do, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.launch.conftest import until
from tests.tmux import Terminal, needs_tmux, process_of, terminal

Run = Callable[..., Any]


@pytest.fixture
def screen(run: Run, state: Path, tmp_path: Path) -> Iterator[Terminal]:
    """A pool with three clusters of six jobs, of which one runs, below ``fairq top``."""
    run("--state", state, "slots", "add", "node", "--cpus", 1)
    run("--state", state, "submit", "--name", "long", "--", "/bin/sleep", "600")
    run("--state", state, "submit", "--each", "red", "--each", "blue", "--each", "dark blue", "--", "/bin/echo", "{}")
    run("--state", state, "submit", "--count", 2, "--priority", 7, "--mem", "2GB", "--", "/bin/date")
    run("--state", state, "negotiate")
    with terminal(tmp_path / "t", state, NO_COLOR="1") as shown:
        yield shown


def rows(shown: Terminal) -> list[str]:
    """Return the ids of the rows on the screen, with the marks of those that are selected."""
    lines = shown.screen().splitlines()
    return [line[:2].strip() + line[2:].split()[0] for line in lines[3:-1] if line[2:].strip()]


@needs_tmux
def test_top_sorts_filters_selects_and_changes_jobs(screen: Terminal, run: Run, state: Path):
    before = screen.modes()
    screen.type("echo the first screen; fairq top")
    screen.shows("6 jobs; 5 idle, 1 matched")
    assert sorted(rows(screen)) == ["1.0", "2.0", "2.1", "2.2", "3.0-1"]
    screen.press("/")
    screen.type("blue")
    screen.shows("2 with blue")
    assert rows(screen) == ["2.1", "2.2"]
    screen.press("*", "h")
    screen.shows("Hold 2.1, 2.2? [y/N]")
    screen.press("n", "h")
    screen.shows("Hold 2.1, 2.2?")
    screen.press("y")
    screen.shows("2 jobs held")
    screen.press("Escape")
    until(lambda: len(rows(screen)) == 5, "all rows")
    screen.press("S")
    until(lambda: rows(screen)[0] == "3.0-1", "the other order")
    screen.press("2")
    screen.shows("node")
    screen.press("3")
    screen.shows("Entitled")
    screen.press("1")
    screen.shows("3.0-1")
    screen.resize(200, 50)
    screen.shows("sleep 600")
    screen.press("?")
    screen.shows("suspend")
    screen.press("q")
    screen.shows("3.0-1")
    screen.press("q")
    screen.shows("the first screen")
    until(lambda: screen.modes() == before, "the former modes")
    held = run("--state", state, "queue", "--held", "--af", "ClusterId", "ProcId").out
    assert held == "2 1\n2 2\n"


@needs_tmux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=str)
def test_top_leaves_the_terminal_as_it_was_when_it_is_killed(screen: Terminal, state: Path, number: signal.Signals):
    before = screen.modes()
    screen.type("echo the first screen; fairq top")
    screen.shows("3.0-1")
    os.kill(until(lambda: process_of(state, "top"), "top"), number)
    screen.shows("the first screen")
    until(lambda: screen.modes() == before, "the former modes")
    screen.type("echo code $?")
    screen.shows(f"code {128 + number}")


@needs_tmux
def test_top_shows_why_a_job_waits_and_its_output(screen: Terminal):
    screen.type("fairq top")
    screen.shows("3.0-1")
    screen.press("End", "w")
    screen.shows("why 3.0 (end)")
    assert "Job 3.0" in screen.screen()
    screen.press("q", "t")
    screen.shows("tail 3.0-1")
    screen.press("q")
    screen.shows("by ID")
    screen.press("q")
    screen.shows("ready$")


def test_top_without_its_package_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "textual", None)
    ended = run("top")
    assert (ended.code, ended.out) == (70, "")
    assert ended.err == "fairq: fairq top needs Textual, which is not installed; run \"pip install 'fairq[top]'\"\n"


def test_top_without_a_terminal_names_what_to_use(run: Run):
    ended = run("top")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "fairq queue" in ended.err


@needs_tmux
def test_slots_and_groups_are_hidden_from_who_is_no_administrator(screen: Terminal, state: Path, tmp_path: Path):
    Path(f"{state}.toml").write_text('[pool]\nadministrators = ["chief-of-the-pool"]\n')
    somebody = tmp_path / "somebody.py"
    somebody.write_text(
        "import os, sys\nfrom fairq.cli.app import main\nos.getuid = lambda: 4321\nsys.exit(main(sys.argv[1:]))\n"
    )
    screen.type(f"{sys.executable} {somebody} top")
    screen.shows("3.0-1")
    assert "slots" not in screen.screen() and "groups" not in screen.screen()
    screen.press("2")
    assert "3.0-1" in screen.shows("slots and groups are for administrators of the pool")
    screen.press("q")
    screen.shows("ready$")


@needs_tmux
def test_an_internal_fault_ends_it_with_one_line(screen: Terminal, tmp_path: Path):
    (tmp_path / "fault.py").write_text(
        "import sys\nfrom fairq.cli.app import main\nfrom fairq.cli.top.screen import Screen\n"
        "Screen._tick = lambda self: 1 / 0\nsys.exit(main(['top']))\n"
    )
    screen.type(f"{sys.executable} {tmp_path / 'fault.py'}; echo code $?")
    screen.shows("fairq: internal error: ZeroDivisionError: division by zero")
    screen.shows("code 1")
    assert "Traceback" not in screen.screen()
