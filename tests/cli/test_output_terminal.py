"""The same records on a real terminal: a pseudo-terminal of a given width."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from fairq.cli.output import Column, Table, rich_table
from fairq.cli.output.terminal import Style

RECORDS = [{"Name": "group_physics.higgs.anna@example.org", "Priority": 0.5, "Jobs": 12}]

SAMPLE = """
import sys
from fairq.cli import tree
from fairq.cli.app import main
tree.REGISTRY['sample'] = tree.Listing('tests.cli.sample', '')
sys.exit(main(sys.argv[1:]))
"""

LONG_WORK = """
import sys, time
from fairq.cli.output import progress
with progress("Matching", 30, quiet="-q" in sys.argv) as advance:
    for _ in range(30):
        time.sleep(0.03)
        advance(1)
"""


def on_terminal(words: list[str], columns: int, stream: str = "stdout", **environment: str) -> str:
    """Run Python with *stream* on a terminal so many columns wide, and return what it shows there."""
    path = os.pathsep.join([str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])])
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": path, **environment},
        **{stream: slave},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        shown += piece
    os.close(master)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def show():
    def show(columns: int, **environment: str) -> str:
        words = ["-c", SAMPLE, "sample", "show", "--records", json.dumps(RECORDS)]
        return on_terminal(words, columns, **environment)

    return show


def test_a_wide_terminal_gets_the_table_in_one_line_per_record(show):
    shown = show(100)
    assert "\x1b[1m" in shown
    assert "group_physics.higgs.anna@example.org      0.50    12" in without_colour(shown)


@pytest.mark.parametrize("columns", [20, 40])
def test_a_narrow_terminal_is_never_overrun(show, columns):
    lines = without_colour(show(columns)).splitlines()
    assert max(map(len, lines)) <= columns
    assert "12" in lines[-1] or "12" in "".join(lines)


def test_no_color_leaves_the_table_without_colours(show):
    shown = show(100, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)
    assert "──" in shown


def test_a_dumb_terminal_gets_plain_text(show):
    shown = show(100, TERM="dumb")
    assert "\x1b" not in shown
    assert "─" not in shown
    assert shown.startswith("User")


def test_long_work_shows_its_progress_on_a_terminal_and_only_there():
    assert "Matching" in on_terminal(["-c", LONG_WORK], 80, "stderr")
    assert on_terminal(["-c", LONG_WORK, "-q"], 80, "stderr") == ""
    ended = subprocess.run([sys.executable, "-c", LONG_WORK], capture_output=True, check=True)
    assert (ended.stdout, ended.stderr) == (b"", b"")


def test_a_terminal_that_is_too_narrow_leaves_out_columns_and_says_which() -> None:
    def drawn(columns: int) -> list[str]:
        stream = io.StringIO()
        shown = [Column("NAME", "Name"), Column("WAIT", "Wait", level=1), Column("MORE", "More", level=2)]
        records = [{"Name": "anna", "Wait": 10**9, "More": 10**9}]
        rich_table.write(Table(shown, records), records, True, Style(columns, colour=False), stream)
        return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in stream.getvalue().splitlines()]

    assert drawn(28)[0].split() == ["NAME", "WAIT", "MORE"]
    assert drawn(27)[0].split() == ["NAME", "WAIT"]
    assert drawn(27)[2:] == ["anna  1000000000", "The terminal is too narrow", "for MORE."]
    assert drawn(15)[0].split() == ["NAME"]
