"""What is stored is never reported as failed, nor the other way round: full, closed and broken outputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.processes.live import NOW, start

from fairq.errors.base import DoneNotShownError, OutputError

Run = Callable[..., Any]

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")

CHANGES: list[tuple[str, ...]] = [
    ("submit", "--", "/bin/true"),
    ("negotiate",),
    ("negotiate", "--json"),
    ("hold", "1.7"),
    ("prio", "5", "1.7"),
    ("remove", "1.7"),
    ("finish", "1.0"),
    ("slots", "add", "other"),
    ("slots", "drain", "node"),
    ("slots", "remove", "slot5@node", "--force"),
    ("userprio", "--setfactor", "anna@example.org", "5"),
    ("import", "--slots", "slots.json"),
    ("broker", "config", "set", "NW_ACTIVE", "true"),
    ("broker", "queues", "import", "queues.json"),
    ("taskqueues", "shares"),
]
"""Each changes the state and reports it."""

LISTINGS = [("queue",), ("userprio", "--allusers", "--json"), ("export",), ("--help",), ("negotiate", "--dry-run")]


@pytest.fixture
def pool(run, state, tmp_path, made_once, monkeypatch):
    """Five slots, four of which run a job; four more are idle; files to import lie beside."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    monkeypatch.chdir(tmp_path)

    def filled(folder):
        (folder / "slots.json").write_text('[{"Name": "new", "Cpus": 1}]')
        (folder / "queues.json").write_text('[{"name": "CERN", "site": "CERN", "status": "online"}]')
        for words in (
            ("slots", "add", "node", "--count", "4"),
            ("submit", "--count", "8", "--", "/bin/sleep", "1"),
            ("negotiate",),
            ("slots", "add", "slot5@node"),
            ("userprio", "--setfactor", "anna@example.org", "4"),
        ):
            assert run("--state", folder / state.name, *words, "--now", NOW).code == 0

    made_once(filled)
    return state


def ended_with(state, *words, redirected="", **more):
    """Run a command line in a shell with *redirected* streams; return its exit code and what stderr got."""
    line = f'"$0" -m fairq "$@" {redirected}'
    command = ["bash", "-c", line, sys.executable, "--state", str(state), *words]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **more)
    return ended.returncode, ended.stderr


def exported(run, state):
    return json.loads(run("--state", state, "export").out)


@needs_full
@pytest.mark.parametrize("words", CHANGES, ids=" ".join)
def test_a_change_whose_report_finds_no_room_is_done_and_says_so(words, pool, run):
    before = exported(run, pool)
    code, error = ended_with(pool, *words, redirected=">/dev/full")
    assert (code, error.count("\n")) == (DoneNotShownError.exit_code, 1), error
    assert error.startswith("fairq: the change is stored, but its report was not shown: No space left on device")
    assert exported(run, pool) != before


@needs_full
def test_settings_whose_report_finds_no_room_are_written(pool, run, tmp_path):
    (tmp_path / "pool.conf").write_text("PRIORITY_HALFLIFE = 99\n")
    code, error = ended_with(pool, "config", "import", "pool.conf", redirected=">/dev/full")
    assert (code, "is stored" in error) == (DoneNotShownError.exit_code, True)
    assert run("--state", pool, "config", "get", "priority_halflife").out == "99.0\n"


@needs_full
@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_a_listing_that_finds_no_room_is_an_error_and_changes_nothing(words, pool, run):
    before = exported(run, pool)
    code, error = ended_with(pool, *words, redirected=">/dev/full")
    assert code == OutputError.exit_code
    assert error.startswith("fairq: the output cannot be written: No space left on device;")
    assert error.count("\n") == 1
    assert exported(run, pool) == before


@needs_full
@pytest.mark.parametrize("words", CHANGES[::3], ids=" ".join)
def test_a_full_stderr_changes_nothing_about_the_outcome(words, pool, run):
    before = exported(run, pool)
    assert ended_with(pool, *words, redirected="2>/dev/full")[0] == 0
    assert exported(run, pool) != before


@needs_full
def test_notes_and_errors_that_find_no_room_are_lost_alone(pool):
    assert ended_with(pool, "userprio", "nobody@nowhere", redirected="2>/dev/full")[0] == 0
    assert ended_with(pool, "hold", "77.0", redirected="2>/dev/full")[0] == 30
    assert ended_with(pool, redirected="2>/dev/full")[0] == 2


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_who_closes_a_stream_wants_nothing_from_it(closed, pool, run):
    """The command is done and says so by its code; no file of its own takes the place of the closed stream."""
    before = exported(run, pool)
    assert ended_with(pool, "submit", "--", "/bin/true", redirected=closed) == (0, "")
    assert exported(run, pool) != before
    assert ended_with(pool, "negotiate", "-v", redirected=closed) == (0, "")
    assert run("--state", pool, "state", "check").code == 0


@pytest.mark.parametrize("words", CHANGES[::3], ids=" ".join)
def test_a_change_whose_reader_went_away_is_done_quietly(words, pool, run):
    before = exported(run, pool)
    reader, writer = os.pipe()
    os.close(reader)
    with start(pool, *words, stdout=writer) as process:
        os.close(writer)
        assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)
    assert exported(run, pool) != before


def test_a_pipe_that_another_process_made_non_blocking_gets_everything(pool, run):
    assert run("--state", pool, "submit", "--count", "5000", "--", "/bin/sleep", "1").code == 0
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with start(pool, "queue", "--af", "ProcId", "Cmd", "Args", "Owner", stdout=writer) as process:
        os.close(writer)
        with os.fdopen(reader) as stream:
            lines = stream.readlines()
        assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)
    assert len(lines) == 5008


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("negotiate", "--json"), DoneNotShownError.exit_code, "the change is stored, but its report was not shown"),
        (("negotiate", "--dry-run", "--json"), 130, "interrupted"),
    ],
    ids=["a change", "a listing"],
)
def test_ctrl_c_while_the_reader_takes_nothing_ends_in_one_line(words, code, message, state, run):
    assert run("--state", state, "slots", "add", "node", "--count", "2000").code == 0
    assert run("--state", state, "submit", "--count", "2000", "--", "/bin/sleep", "1").code == 0
    reader, writer = os.pipe()
    with start(state, *words, stdout=writer) as process:
        os.close(writer)
        os.read(reader, 1)  # more than fits into the pipe is still to come
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=60)[1]
    os.close(reader)
    assert (process.returncode, error.count("\n")) == (code, 1), error
    assert error.startswith(f"fairq: {message}")
    assert bool(json.loads(run("--state", state, "queue", "--running", "--json").out)) is (code != 130)


@pytest.mark.parametrize("option", [("--af", "Cluster +"), ("--constraint", "(1")], ids=" ".join)
def test_an_expression_for_the_report_is_read_before_anything_is_stored(option, pool, run):
    before = exported(run, pool)
    assert run("--state", pool, "negotiate", *option).code == 21
    assert exported(run, pool) == before


class TestQuiet:
    @pytest.mark.parametrize("words", CHANGES, ids=" ".join)
    def test_a_quiet_change_reports_nothing_unless_a_format_is_asked_for(self, words, pool, run):
        ended = run("--state", pool, "--quiet", *words)
        assert (ended.code, ended.err) == (0, "")
        assert bool(ended.out) is ("--json" in words)

    def test_a_quiet_dry_run_shows_what_it_would_do(self, pool, run):
        assert run("--state", pool, "-q", "hold", "1.7", "--dry-run").out == "Job 1.7 would be held\n"

    def test_a_quiet_cycle_that_meets_another_one_says_nothing(self, pool, run):
        from fairq.state.cycle_lock import cycle_lock

        with cycle_lock(pool):
            assert ended_with(pool, "-q", "negotiate") == (75, "")
            code, error = ended_with(pool, "negotiate")
            assert (code, error.count("\n")) == (75, 1)
