"""Where input comes from: pipes, a closed standard input, commands without end, bytes that are no text, interrupts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

FAIRQ = [sys.executable, "-m", "fairq"]

QUEUE = {"name": "CERN", "site": "CERN-PROD", "status": "online", "corecount": 8, "tags": {"": {"deep": 1}}}
READERS: dict[str, tuple[tuple[str, ...], object]] = {
    "submit": (("submit",), "executable = /bin/sh\nqueue\n"),
    "import": (("import",), None),  # what an export wrote
    "slots": (("import", "--slots"), [{"Name": "a", "Cpus": 1}]),
    "jobs": (("import", "--jobs"), [{"ClusterId": 1, "ProcId": 0, "Owner": "a"}]),
    "accounting": (("import", "--accounting"), [{"Name": "a@b", "Priority": 3.0}]),
    "slots add": (("slots", "add", "--file"), [{"Name": "a", "Cpus": 1}]),
    "config import": (("config", "import"), "PRIORITY_HALFLIFE = 100\n"),
    "config check": (("config", "check"), "[accounting]\npriority_halflife = 100\n"),
    "settings": (("negotiate", "--config"), "[accounting]\npriority_halflife = 100\n"),
    "quotas check": (("quotas", "check"), "[groups.a]\nquota = 3\n"),
    "quotas with": (("quotas", "show", "--slots", "9", "--with"), "[groups.a]\nquota = 3\n"),
    "task queues": (("taskqueues", "import"), [{"TQId": 1, "Owner": "a", "OwnerGroup": "g", "CPUTime": 5}]),
    "shares": (("taskqueues", "shares", "--check"), [{"TQId": 1, "Owner": "a", "OwnerGroup": "g", "CPUTime": 5}]),
    "queues": (("broker", "queues", "import"), [QUEUE]),
    "broker settings": (("broker", "config", "import"), []),
}
"""Every command that reads a file, which is its last word, with something to read."""

ON_STANDARD_INPUT = sorted(READERS.keys() - {"config check", "settings"})


def text_of(name, run):
    content = READERS[name][1]
    if content is None:
        return str(run("export").out)
    return content if isinstance(content, str) else json.dumps(content)


@pytest.mark.parametrize("name", READERS)
def test_every_file_may_be_a_pipe_and_is_read_once(name, run, state, tmp_path):
    words, pipe = READERS[name][0], tmp_path / "pipe"
    os.mkfifo(pipe)
    text = text_of(name, run)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()

    ended = run("--state", state, *words, pipe)
    writer.join()

    assert ended.code in (0, 1 if name == "quotas check" else 0), ended.err


@pytest.mark.parametrize("name", ON_STANDARD_INPUT)
def test_a_closed_standard_input_is_told(name, state, tmp_path):
    words = READERS[name][0]

    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *FAIRQ, "--state", state, *words, "-"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode in (13, 33, 46)
    assert ended.stderr.startswith("fairq: ") and "it is closed" in ended.stderr
    assert not state.exists()


def test_a_closed_standard_input_does_not_become_the_state(state, fairq):
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&-', "sh", *FAIRQ, "--state", state, "slots", "add", "a"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (0, "")
    assert fairq("--state", state, "slots", "--af", "Name").out == "a\n"


def test_what_is_wrong_in_a_pipe_of_settings_is_told_with_its_line(run, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("[accounting]\n\nquux = 1\n",))
    writer.start()

    ended = run("config", "check", pipe)
    writer.join()

    assert (ended.code, ended.err.split(": accounting")[0]) == (15, f"fairq: {pipe}:3")


@pytest.mark.parametrize(
    "statement",
    [
        "queue x from sh -c 'echo $$$$ > leader; sleep 1000 & echo $$! > child; wait' |",
        "queue x from sh -c 'echo $$$$ > leader; sleep 1000 & echo $$! > child; echo x' |",
        "include : /bin/sh endless.sh |\nqueue",
    ],
    ids=["runs on", "its child does", "include"],
)
def test_a_command_without_end_is_killed_with_its_children(statement, fairq, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "endless.sh").write_text("echo $$ > leader; sleep 1000 & echo $! > child; exec >&-; wait\n")
    (tmp_path / "job.sub").write_text(f"executable = /bin/sh\n{statement.replace('$$', '$')}\n")

    ended = fairq("--state", state, "submit", "job.sub", environment={"FAIRQ_SUBMIT_COMMAND_TIMEOUT": "1"})

    assert ended.code == 31
    assert "it did not end within 1 s (submit.command_timeout)" in ended.err
    assert ended.err.count("\n") == 1
    assert not state.exists()
    pids = [int((tmp_path / name).read_text()) for name in ("leader", "child")]
    deadline = time.monotonic() + 30
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_a_byte_that_is_not_utf_8_goes_out_and_comes_back(locale, fairq, state, tmp_path):
    """One in an argument, in the directory and in a slot's attribute: matching, listings and the way back work."""
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    word = os.fsdecode(b"a\xffb")
    environment = {**os.environ, "LC_ALL": locale, "FAIRQ_STATE": str(state), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x.org"}

    def run(*words, **more):
        ended = subprocess.run(
            [*FAIRQ, *map(str, words)], env={**environment, **more}, cwd=folder, capture_output=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.decode()

    run("submit", "--output", word, "--", "/bin/echo", word)
    run("slots", "add", "node", "--attribute", f'Note="{word}"')
    assert "1 match" in run("negotiate")
    # In an expression U+FFFD stands for the byte.
    found = run("queue", "--af", 'strcat(Out, ":", Iwd)')
    assert found in (f"a\ufffdb:{tmp_path}/d\ufffd\n", f"a\\ufffdb:{tmp_path}/d\\ufffd\n")
    run("queue", "--constraint", 'size(Out) == 3 && TARGET.Note =!= "x"')
    run("why", "1.0")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    run("export", "-o", first)
    other = str(tmp_path / "other.db")
    run("import", first, FAIRQ_STATE=other)
    run("export", "-o", second, FAIRQ_STATE=other)

    assert first.read_bytes() == second.read_bytes()
    assert b'"Out": "a\\udcffb"' in first.read_bytes()
    assert json.loads(first.read_bytes())["job_ads"][0]["ad"]["Iwd"] == str(folder)
    run("export", "--jobs", "-o", tmp_path / "jobs.json")
    run("import", "--jobs", tmp_path / "jobs.json", FAIRQ_STATE=str(tmp_path / "third.db"))


def test_the_long_form_says_that_it_cannot_hold_such_a_byte(run, state):
    run("--state", state, "submit", "--", "/bin/echo", os.fsdecode(b"\xff"))

    ended = run("--state", state, "export", "--jobs", "--long")

    assert (ended.code, "a byte that is not UTF-8, which the long form has no way to write" in ended.err) == (50, True)


def test_queues_imported_by_name_can_be_computed_with(run, state, tmp_path):
    """CRIC publishes one object with a queue for each name; inside there are objects with empty names."""
    file = tmp_path / "queues.json"
    file.write_text(json.dumps({"CERN": QUEUE}))
    assert run("--state", state, "broker", "queues", "import", file).code == 0

    listed = run("--state", state, "broker", "queues", "list", "--constraint", "corecount > 3",
                 "--af", "name", "corecount + 1")  # fmt: skip

    assert (listed.code, listed.out, listed.err) == (0, "CERN 9\n", "")


START = """
import importlib.abc, os, signal, sys
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
from fairq.__main__ import main
wanted = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
sys.argv += ["queue", "-v"]
sys.exit(main())
"""
"""Runs fairq queue with an interrupt when a certain module is about to be imported."""


@pytest.mark.parametrize(
    "module",
    ["fairq.common.interrupts", "fairq.cli.app", "fairq.errors", "typer", "fairq.cli.registry", "fairq.cli.queue"],
)
def test_an_interrupt_while_the_command_is_loaded_ends_it_without_a_traceback(module, state):
    ended = subprocess.run(
        [sys.executable, "-c", START, module],
        env={**os.environ, "FAIRQ_STATE": str(state)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode == 130
    assert ended.stderr in ("", "fairq: interrupted\n")
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("import", "--slots"), ("import", "--jobs"), ("import", "--accounting"), ("taskqueues", "import"),
        ("broker", "queues", "import"), ("config", "import"), ("quotas", "check"), ("submit",),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_input_without_end_is_refused(words, state):
    """A text that goes on for ever in one string ends the command, and the one that writes it."""
    endless = f"{sys.executable} -c 'import sys; sys.stdout.write(chr(91) + chr(123) + chr(34))'; yes a | tr -d '\\n'"
    line = f'({endless}) | "$@"'

    ended = subprocess.run(
        ["sh", "-c", line, "sh", *FAIRQ, "--state", state, *words, "-"],
        capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip

    assert ended.returncode in (13, 33, 46, 47)
    assert "no end" in ended.stderr
    assert not state.exists()
