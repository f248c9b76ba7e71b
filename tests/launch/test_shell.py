"""``fairq shell``: a job on a terminal, which ends with it however it ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from tests.launch.conftest import is_alive, until
from tests.tmux import needs_tmux, terminal


class Client:
    """``fairq shell`` on a pseudoterminal of the test."""

    def __init__(self, pool, *words):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairq", "shell", *words],
            stdin=slave, stdout=slave, stderr=slave, cwd=pool.work, start_new_session=True,
            env={**os.environ, "FAIRQ_STATE": str(pool.state), "SHELL": "/bin/sh", "TERM": "xterm"},
        )  # fmt: skip
        os.close(slave)
        self.text = b""

    def shows(self, text):
        def is_there():
            self.text += os.read(self.master, 4096)
            return text in self.text

        until(is_there, repr(text))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        os.close(self.master)


@pytest.fixture
def client(pool):
    clients: list[Client] = []

    def begin(*words):
        clients.append(Client(pool, *words))
        clients[-1].shows(b"is queued")
        return clients[-1]

    yield begin
    for session in clients:
        session.close()


def last(pool):
    return dict(json.loads(pool.done("history", "--json", "--limit", 1))[0])


@needs_tmux
def test_a_shell_waits_in_line_runs_on_a_terminal_and_gives_its_exit_code(pool, tmp_path):
    pool.slots(1)
    with terminal(tmp_path / "t", pool.state) as screen:
        before = screen.modes()
        screen.type("fairq shell --name mine -- /bin/sh; echo code $?")
        screen.shows("waits: place 1 in line")
        assert pool.queue()["1.0"]["JobBatchName"] == "mine"
        pool.turn()
        screen.shows("job 1.0 runs")
        screen.resize(100, 30)
        screen.type("stty size; echo $FAIRQ_JOB on $TERM; sleep 100")
        screen.shows("30 100")
        screen.press("C-c")
        screen.type("exit 7")
        shown = screen.shows("code 7")
        assert "1.0 on tmux" in shown or "1.0 on screen" in shown
        assert screen.modes() == before
    assert last(pool) | {"ExitCode": 7, "JobStatus": 4} == last(pool)
    assert pool.queue() == {}


def test_a_shell_whose_command_is_killed_leaves_the_queue_before_it_starts(pool, client):
    pool.slots(1)
    client().kill()
    assert len(pool.queue()) == 1
    assert pool.turn()["matches"] == []
    assert pool.queue() == {}
    assert last(pool)["RemoveReason"] == "its terminal is gone, or on another machine"


def test_a_shell_whose_command_is_killed_ends_although_it_ignores_that(pool, client):
    pool.slots(1)
    session = client("--", "/bin/sh", "-c", "trap '' HUP TERM; echo $$ > pid; sleep 1000; sleep 1000")
    pool.turn()
    session.shows(b"runs")
    pid = int(until(lambda: (pool.work / "pid").exists() and (pool.work / "pid").read_text(), "the shell"))
    session.kill()
    until(lambda: not is_alive(pid), "its end")
    pool.settled("1.0")
    assert last(pool)["RemoveReason"] == "its terminal is gone, or on another machine"
    assert pool.queue() == {}


def test_a_signal_to_the_command_removes_a_shell_that_waits(pool, client):
    pool.slots(1)
    session = client()
    session.process.send_signal(signal.SIGTERM)
    assert session.process.wait() == 128 + signal.SIGTERM
    assert pool.queue() == {}


def test_a_shell_that_loses_its_slot_leaves_the_queue(pool, client):
    pool.slots(1)
    session = client("--", "/bin/sh", "-c", "echo it is here; sleep 1000")
    pool.turn()
    session.shows(b"it is here")
    pool.done("slots", "drain", "here", "--fast")
    session.shows(b"has ended")
    assert session.process.wait() == 63
    assert pool.queue() == {}


@pytest.mark.parametrize(
    "launcher, cure",
    [("none", "slots detect --add --launch local"), ("slurm", "srun --pty"), ("htcondor", "condor_ssh_to_job")],
)
def test_a_shell_elsewhere_is_refused_with_what_to_do(pool, launcher, cure):
    pool.done("slots", "add", "there", "--attribute", f'Launch="{launcher}"')
    ended = pool("shell")
    assert (ended.code, pool.queue()) == (58, {})
    assert cure in ended.err


def test_a_shell_without_a_terminal_is_refused(pool):
    pool.slots(1)
    ended = pool("shell")
    assert (ended.code, pool.queue()) == (2, {})
    assert "fairq submit -- PROGRAM" in ended.err
