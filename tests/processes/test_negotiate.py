"""Cycles as real processes: two at once, killed in the middle, beside people who change the queue."""

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time

import pytest
from tests.processes.live import JOBS, NOW, busy_pool, start, wait_for


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Where the busy pool is kept once it was made."""
    return tmp_path_factory.mktemp("busy") / "filled.db"


@pytest.fixture
def busy(filled, run, state, monkeypatch):
    """A state whose cycle takes a while: 8000 slots and as many jobs."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    if not filled.exists():
        busy_pool(run, filled, filled.parent)
    shutil.copy(filled, state)
    return state


def running(run, state):
    """Check the state and return how many jobs run; each of them has a slot of its own."""
    checked = run("--state", state, "state", "check")
    assert checked.code == 0, checked.err
    slots = json.loads(run("--state", state, "export", "--slots").out)
    held = [slot["JobId"] for slot in slots if slot.get("State") == "Claimed"]
    assert len(set(held)) == len(held)
    return len(held)


def sidecar(state):
    return state.with_name(state.name + ".cycle")


def is_locked(path):
    """Tell whether a process holds the lock on *path*."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def stopped_cycle(busy, filled):
    """Start a cycle and stop it where it has its lock, and writes nothing yet."""
    for _ in range(10):
        cycle = start(busy, "-q", "negotiate", "--now", NOW)
        assert wait_for(sidecar(busy), cycle)
        cycle.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, cycle.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if is_locked(sidecar(busy)) and not busy.with_name(busy.name + "-journal").exists():
            return cycle
        cycle.send_signal(signal.SIGCONT)
        cycle.communicate(timeout=60)
        shutil.copy(filled, busy)
    raise AssertionError("no cycle could be stopped in its middle")


def test_of_two_cycles_at_once_one_works_and_one_says_to_try_later(busy, filled, run):
    """The second one changes nothing, and the first one is not disturbed."""
    with stopped_cycle(busy, filled) as first:
        try:
            before = busy.read_bytes()
            with start(busy, "negotiate", "--now", NOW) as second:
                _, error = second.communicate(timeout=60)
            assert second.returncode == 75
            assert error == (
                f"fairq: another negotiation cycle is running on {busy}; nothing was done; try again later\n"
            )
            assert busy.read_bytes() == before
            with start(busy, "queue", "--json") as reader:
                assert reader.wait(60) == 0, "a cycle under way keeps nobody from looking"
        finally:
            first.send_signal(signal.SIGCONT)
        _, error = first.communicate(timeout=60)
    assert (first.returncode, error) == (0, "")
    assert running(run, busy) == JOBS
    assert [path.name for path in busy.parent.iterdir()] == [busy.name]


@pytest.mark.parametrize("moment", ["begun", 0.05, 0.1, 0.15, "writing", "written"])
def test_a_killed_cycle_matched_all_or_nothing_and_the_next_one_completes(moment, busy, run):
    journal = busy.with_name(busy.name + "-journal")
    with start(busy, "-q", "negotiate", "--now", NOW) as cycle:
        assert wait_for(sidecar(busy), cycle)
        if isinstance(moment, float):
            time.sleep(moment)
        elif moment != "begun":
            wait_for(journal, cycle)
            time.sleep(0.03 if moment == "written" else 0)
        cycle.kill()
    count = running(run, busy)
    assert count in (0, JOBS)
    history = json.loads(run("--state", busy, "state", "history", "--json").out)
    assert [entry["subject"] for entry in history].count("cycle 1") == (1 if count else 0)
    with start(busy, "-q", "negotiate", "--now", NOW) as again:
        assert (again.communicate(timeout=60)[1], again.returncode) == ("", 0)
    assert running(run, busy) == JOBS
    assert [path.name for path in busy.parent.iterdir()] == [busy.name]


def test_jobs_removed_and_held_meanwhile_are_never_left_on_a_slot(busy, run):
    """People change the queue while cycles run; each change happens before or after a cycle."""
    commands = [
        ("negotiate", "--now", NOW),
        ("remove", "1", "2.0-49", "--now", NOW),
        ("hold", "3", "--now", NOW),
        ("negotiate", "--now", NOW + 1),
        ("slots", "drain", "slot0", "--now", NOW),
        ("userprio", "--setfactor", "user5@example.org", "7", "--now", NOW),
        ("prio", "5", "4", "--now", NOW),
        ("negotiate", "--now", NOW + 2),
    ]
    processes = [start(busy, *words) for words in commands]
    for words, process in zip(commands, processes, strict=True):
        _, error = process.communicate(timeout=120)
        assert process.returncode in ((0, 75) if words[0] == "negotiate" else (0,)), (words, error)
    assert run("--state", busy, "negotiate", "--now", NOW + 3).code == 0
    # 100 of cluster 1 and 50 of cluster 2 are gone, 100 of cluster 3 are held.
    assert running(run, busy) == JOBS - 250
    assert json.loads(run("--state", busy, "queue", "1", "2.0-49", "--json").out) == []
    assert len(json.loads(run("--state", busy, "queue", "3", "--held", "--json").out)) == 100


def test_an_idle_cycle_says_so_on_a_terminal_only(fairq, state):
    assert fairq("--state", state, "slots", "add", "node").code == 0
    ended = fairq("--state", state, "negotiate")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    outer, inner = pty.openpty()
    words = [sys.executable, "-m", "fairq", "--state", str(state), "negotiate"]
    shown = subprocess.run(words, stdout=inner, stderr=subprocess.PIPE, text=True, check=True).stderr
    os.close(inner)
    os.close(outer)
    assert shown == "nothing to match: no jobs are idle\n"
