"""What becomes of the output: readers that go away, narrow and dumb terminals, poor locales."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

import pytest
from tests.processes.live import NOW, start

Run = Callable[..., Any]

CLOSED_PIPE = 141

LISTINGS: list[tuple[str, ...]] = [
    ("--help",),
    ("queue",),
    ("queue", "--procs"),
    ("queue", "--json"),
    ("queue", "--af", "ClusterId", "Owner"),
    ("slots",),
    ("slots", "--csv"),
    ("slots", "detect"),
    ("negotiate", "--dry-run"),
    ("userprio", "--allusers"),
    ("userprio", "--allusers", "--long"),
    ("config", "show", "--origin"),
    ("config", "path"),
    ("export",),
    ("export", "--jobs", "--long"),
    ("state", "history"),
    ("submit", "--dry-run", "--", "/bin/true"),
]


@pytest.fixture
def pool(run, state, made_once, monkeypatch):
    """Five slots and two submitters, one with a name that ASCII lacks; what they use is known."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")

    def filled(folder):
        submissions = [
            ("submit", "--count", "9", "--accounting-group-user", user, "--", "/bin/sleep", "1")
            for user in ("müller", "anna-of-the-very-long-name")
        ]
        for words in (("slots", "add", "node", "--count", "5"), *submissions, ("negotiate",)):
            assert run("--state", folder / state.name, *words, "--now", NOW).code == 0

    made_once(filled)
    return state


def on_terminal(state, words, columns, **environment):
    """Run a command line on a terminal so many columns wide, and return what it shows there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment}
    process = start(state, *words, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert process.wait(60) == 0, shown
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_a_listing_whose_reader_is_gone_ends_quietly(words, pool):
    """Every listing ends with the documented code, and says nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    with start(pool, *words, stdout=writer) as process:
        os.close(writer)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (CLOSED_PIPE, "")


def test_head_takes_one_line_of_a_long_listing(pool, run):
    assert run("--state", pool, "submit", "--count", "20000", "--", "/bin/sleep", "1").code == 0
    for listing in ("queue --procs", "queue --json", "queue --af ClusterId ProcId", "export --jobs"):
        line = f"{sys.executable} -m fairq --state {pool} {listing} | head -1 | wc -l; echo ${{PIPESTATUS[0]}}"
        ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
        assert (ended.stdout.split(), ended.stderr) == (["1", str(CLOSED_PIPE)], ""), listing


def test_a_change_is_made_though_nobody_reads_the_answer(pool, run):
    reader, writer = os.pipe()
    os.close(reader)
    with start(pool, "hold", "1.8", "--now", NOW, stdout=writer) as process:
        os.close(writer)
        assert process.communicate(timeout=60)[1] == ""
    assert run("--state", pool, "queue", "--held", "--af:j", "JobStatus").out == "1.8 5\n"


TABLES = [words for words in LISTINGS if words[0] in ("queue", "slots", "negotiate", "userprio", "config", "state")]


@pytest.mark.parametrize(
    "words",
    [words for words in TABLES if words[-1] in ("queue", "slots", "--dry-run", "--allusers", "history", "--origin")],
    ids=" ".join,
)
def test_a_terminal_of_forty_columns_is_not_overrun_and_gets_no_colour_it_did_not_want(words, pool):
    """NO_COLOR leaves no colour; no table is wider than the terminal (a closing sentence may be)."""
    shown = on_terminal(pool, words, 40, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7]|9[0-7]|38|48)[0-9;]*m", shown)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    lines = [line for line in plain.splitlines() if not line.startswith("18 jobs; ")]
    assert max(map(len, lines)) <= 40, plain


@pytest.mark.parametrize("words", [("queue",), ("userprio", "--allusers"), ("negotiate", "--dry-run")], ids=" ".join)
def test_a_dumb_terminal_gets_what_a_pipe_gets(words, pool):
    line = (*words, "--now", str(NOW))
    with start(pool, *line, stdout=subprocess.PIPE) as piped:
        text, _ = piped.communicate(timeout=60)
    shown = on_terminal(pool, line, 300, TERM="dumb")
    assert "\x1b" not in shown
    assert shown.split() == text.split()


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LC_ALL": "C"}], ids=str)
def test_a_poor_locale_shows_every_name_in_some_way(locale, pool):
    """Where the locale has no umlaut there is an escape, and the next command understands UTF-8 all the same."""
    environment = {**os.environ, "PYTHONCOERCECLOCALE": "0", **locale}
    with start(pool, "queue", stdout=subprocess.PIPE, env=environment, text=False) as process:
        shown, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, b"")
    assert "müller@".encode() in shown or rb"m\xfcller@" in shown
    with start(pool, "hold", "müller@example.org", env=environment) as process:
        assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)


def test_the_history_shows_names_as_they_are(pool, run):
    assert '["müller@example.org"]' in run("--state", pool, "state", "history").out
