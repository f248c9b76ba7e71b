"""The same records on a real terminal: a pseudo-terminal of a given width."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.cli.figures import duration, moment
from fairq.cli.output import Column, Table
from fairq.cli.output.terminal import Style
from fairq.cli.output.terminal_table import Drawing
from fairq.cli.output.text import prose, width

RECORDS = [{"Name": "group_physics.higgs.anna@example.org", "Priority": 0.5, "Jobs": 12}]

SAMPLE = """
import sys
from fairq.cli.app import main
from fairq.cli.command import Listing
from fairq.cli.registry import REGISTRY
REGISTRY['sample'] = Listing('tests.cli.sample', '')
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


def on_terminal(words, columns, stream="stdout", **environment):
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


def without_colour(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def show():
    def show(columns, **environment):
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
    assert "0.50" in lines[1]


def test_no_color_leaves_the_table_without_colours(show):
    shown = show(100, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)
    assert "\x1b[1mUser" in shown


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


def drawn(columns, records, cells):
    drawing = Drawing(Table(columns, records), records, True, Style(cells, colour=False), False)
    return [without_colour(line) for line in [*drawing.lines(records), *drawing.note()]]


def test_a_terminal_that_is_too_narrow_leaves_out_columns_and_says_which():
    columns = [Column("NAME", "Name"), Column("WAIT", "Wait", level=1), Column("MORE", "More", level=2)]
    records = [{"Name": "anna", "Wait": 10**9, "More": 10**9}]

    assert drawn(columns, records, 28) == ["NAME        WAIT        MORE", "anna  1000000000  1000000000"]
    assert drawn(columns, records, 26) == ["NAME       WAIT       MORE", "anna 1000000000 1000000000"]
    assert drawn(columns, records, 25)[1:] == ["anna 1000000000", "The terminal is too", "narrow for MORE."]
    assert drawn(columns, records, 14)[:2] == ["NAME", "anna"]


@pytest.fixture
def utc(monkeypatch):
    """Tables show local time: let that be UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


FIVE = [
    Column("Name", "Name"),
    Column("Submitted", "Time", moment),
    Column("Run time", "Run", duration, "right"),
    Column("Unused", "Nothing"),
    Column("Reason", "Reason"),
]


@pytest.mark.parametrize(
    ("cells", "lines"),
    [
        (
            86,
            """
            Name                     Submitted    Run time  Unused  Reason
            anna@example.org  2026-11-20 09:00  0+00:00:00          suitable slots are in use
            """,
        ),
        (
            76,
            """
            Name                Submitted  Run time  Unused  Reason
            anna@example.org  11-20 09:00        0s          suitable slots are in use
            """,
        ),
        (
            70,
            """
            Name                Submitted  Run time  Reason
            anna@example.org  11-20 09:00        0s  suitable slots are in use
            """,
        ),
        (
            60,
            """
                                          Run
            Name              Submitted  time  Reason
            anna@e…ple.org  11-20 09:00    0s  suitable slots are in use
            """,
        ),
        (
            45,
            """
                                        Run
            Name            Submitted  time  Reason
            anna@…le.org  11-20 09:00    0s  suitable
                                             slots are in
                                             use
            """,
        ),
        (
            32,
            """
                                         Run
            Name             Submitted  time
            anna@e…le.org  11-20 09:00    0s
            The terminal is too narrow for
            Reason.
            """,
        ),
    ],
)
def test_columns_shorten_in_a_fixed_order(cells, lines, utc):
    records = [{"Name": "anna@example.org", "Time": 1_795_165_200, "Run": 0, "Reason": "suitable slots are in use"}]

    assert drawn(FIVE, records, cells) == dedent(lines).strip("\n").splitlines()


def test_a_reason_shortens_before_a_column_of_the_lowest_levels_goes(utc):
    columns = [
        Column("Name", "Name"),
        Column("Time", "Time", moment, level=1),
        Column("User", "User", level=2),
        Column("Command", "Command", level=3),
        Column("Reason", "Reason"),
    ]
    records = [{"Name": "slot1@node1", "Time": 1_795_165_200, "User": "root", "Command": "fairq slots add node1 slot2",
                "Reason": "suitable slots are in use"}]  # fmt: skip

    assert drawn(columns, records, 50) == [
        "Name               Time User Reason",
        "slot1@node1 11-20 09:00 root suitable slots are in",
        "                             use",
        "The terminal is too narrow for Command.",
    ]


def test_a_word_that_is_too_long_for_its_column_loses_its_middle():
    records = [{"Name": "a", "Reason": "quota reached (group_physics.higgs.tau_tau_analysis)"}]
    assert drawn([Column("Name", "Name"), Column("Reason", "Reason")], records, 24) == [
        "Name Reason",
        "a    quota reached",
        "     (group_ph…analysis)",
    ]


def test_a_list_keeps_its_numbers_to_itself():
    assert prose("  8. let everybody run the program", 22) == ["  8. let everybody run", "     the program"]


WORD = st.text("aé漢\u0301 .@=", max_size=40)
CELLS = st.lists(st.one_of(WORD, st.integers(), st.floats(allow_nan=False), st.none()), min_size=3, max_size=3)


@given(
    st.lists(st.tuples(WORD, CELLS, st.integers(0, 2), st.sampled_from(["wrap", "cut", "keep"])), min_size=1),
    st.integers(20, 120),
)
def test_no_table_is_wider_than_its_terminal(columns, cells):
    shown = [
        Column(heading, str(place), level=level if place else 0, narrow=narrow)
        for place, (heading, _, level, narrow) in enumerate(columns)
    ]
    records = [{str(place): one[1][row] for place, one in enumerate(columns)} for row in range(3)]
    lines = drawn(shown, records, cells)

    assert max(map(width, lines)) <= cells
    assert drawn(shown, records, 10_000) == drawn(shown, records, 10_001)
