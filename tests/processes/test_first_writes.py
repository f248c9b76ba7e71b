"""A state file that does not exist, or cannot: what fails makes none, and the error names the state."""

import contextlib
import io
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.processes.live import NOW, start
from tests.processes.test_state_filesystems import without_rights

from fairq.cli.app import main


@pytest.mark.parametrize(
    "line",
    [
        "submit bad.sub",
        "submit none.sub",
        "import bad.json",
        "import --slots bad.json",
        "broker run",
        "broker import bad.json",
        "broker timeouts --apply",
        "finish 1.0",
        "remove --all",
        "hold alice",
        "slots remove node",
        "slots drain node",
        "slots add node --file bad.json",
        "taskqueues shares",
        "taskqueues match --site X",
        "taskqueues import bad.json",
        "userprio --delete alice@example.org",
        "userprio --setfactor alice 5",
        "state check",
        "state backup copy.db",
    ],
)
def test_what_stores_nothing_makes_no_file(line, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.sub").write_text("executable = /bin/true\nrequest_memory = (\nqueue\n")
    Path("bad.json").write_text("[{]")
    before = sorted(tmp_path.iterdir())
    ended = run("--state", "new.db", *line.split())
    assert sorted(tmp_path.iterdir()) == before, (ended.code, ended.err)


def test_who_stores_nothing_takes_away_nothing_of_others(run, state):
    """All begin at a missing file; half of them find nothing to store and take it away again."""
    storing = [start(state, "-q", "slots", "add", f"node{n}", "--now", NOW) for n in range(4)]
    idle = [start(state, "-q", "broker", "timeouts", "--apply", "--now", NOW) for _ in range(4)]
    for process in (*storing, *idle):
        assert (process.communicate(timeout=120)[1], process.returncode) == ("", 0)
    found = run("--state", state, "slots", "list", "--af", "Name").out.split()
    assert sorted(found) == [f"node{n}" for n in range(4)]
    assert list(state.parent.iterdir()) == [state]


@pytest.mark.parametrize("words", [["negotiate"], ["queue"], ["finish", "1.0"], ["slots", "add", "x"]])
def test_an_impossible_state_is_named_not_its_settings(run, tmp_path, words):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "fifo")
    for state, code, reason in (
        (tmp_path / "file" / "x", 3, "Not a directory"),
        (tmp_path, 5, "it is a directory"),
        (Path("/dev/null"), 5, "it is not a regular file"),
        (tmp_path / "fifo", 5, "it is not a regular file"),
        (tmp_path / ("x" * 300), 3, "File name too long"),
    ):
        ended = run("--state", state, *words)
        assert (ended.code, ended.err.count("\n")) == (code, 1), ended.err
        assert str(state)[:80] in ended.err  # a message quotes 200 characters of a value
        assert reason in ended.err
        assert ".toml" not in ended.err


def test_a_directory_that_may_not_be_entered_is_the_states_fault(monkeypatch):
    lines = (["negotiate"], ["queue"], ["finish", "1.0"], ["userprio", "--delete", "a@x"])

    def outcomes(state):
        told = []
        for words in lines:
            with contextlib.redirect_stderr(io.StringIO()) as stream:
                told.append(f"{main(['--state', str(state), *words])} {stream.getvalue()}")
        return "".join(told)

    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"):
            monkeypatch.setenv(name, directory)
        closed = Path(directory, "closed")
        closed.mkdir()
        state = closed / "state.db"
        outcomes(state)  # all that a command imports is there before the rights to read it are gone
        closed.chmod(0)
        told = without_rights(outcomes, state)
        closed.chmod(0o700)
    reason = "Permission denied; fix its owner or mode, or name another file with --state"
    line = f"8 fairq: no permission to reach the state file {state}: {reason}\n"
    assert told == line * len(lines)


@pytest.mark.parametrize(
    "line",
    [
        "import --slots many.json",
        "submit many.sub",
        "state backup copy.db",
        "export --output pool.json",
        "config import many.conf",
    ],
)
def test_a_full_disk_changes_nothing_and_is_told_in_one_line(run, tmp_path, line):
    """A limit on the size of files stands for it, which needs no rights."""
    state = tmp_path / "state.db"
    for name, count in (("many", 900), ("some", 300)):
        ads = [{"Name": f"{name}{n}", "Pad": f"{n:0200}"} for n in range(count)]
        (tmp_path / f"{name}.json").write_text(json.dumps(ads))
    items = "\n".join(f"{n}-{'x' * 99}" for n in range(900))
    (tmp_path / "many.sub").write_text(f"executable = /bin/sleep\narguments = $(item)\nqueue from (\n{items}\n)\n")
    groups = [f"g{n:05}" for n in range(4000)]
    quotas = "\n".join(f"GROUP_QUOTA_{name} = 1" for name in groups)
    (tmp_path / "many.conf").write_text(f"GROUP_NAMES = {', '.join(groups)}\n{quotas}\n")
    assert run("--state", state, "import", "--slots", tmp_path / "some.json", "--now", NOW).code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "fairq", "--state", state, *line.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024)),
    )
    assert ended.returncode in (3, 10, 11, 13, 50), ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "internal" not in ended.stderr
    # Under such a limit not even what is in the file already can be restored at once: the next command does it.
    assert run("--state", state, "state", "check").code == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_new_state_has_the_mode_of_the_umask(state):
    line = f"umask 002; {sys.executable} -m fairq --state {state} slots add node"
    subprocess.run(["sh", "-c", line], check=True, capture_output=True)
    assert stat.S_IMODE(state.stat().st_mode) == 0o664
