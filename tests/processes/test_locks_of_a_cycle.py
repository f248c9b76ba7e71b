"""Nobody waits for a cycle while it computes: it is stopped there, and jobs are submitted and the state is read."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.processes.live import NOW, start

from fairq.state import idle_jobs, job_kinds, jobs
from fairq.state.connection import reading

CLUSTERS = 20
SLOTS = 3

MOMENTS = {
    "sorting the queue": "fairq.columns.idle_jobs.IdleJobs.by_submitter",
    "deciding": "fairq.steps.cycle.negotiate._decide",
}
"""What a cycle computes, and the function that does it."""

_STOPPED = """
import os, pkgutil, signal, sys
from fairq.state import job_kinds
job_kinds.WORTHWHILE = 10
path, _, name = sys.argv.pop(1).rpartition(".")
owner = pkgutil.resolve_name(path)
original = getattr(owner, name)
def stopped(*values):
    setattr(owner, name, original)
    os.kill(os.getpid(), signal.SIGSTOP)
    return original(*values)
setattr(owner, name, stopped)
from fairq.cli.app import main
main()
"""
"""A command line of fairq that stops once, when the named function is called first; the kinds of ten ads are stored."""


@pytest.fixture
def pool(run, state, tmp_path):
    """Three slots; more clusters."""
    slots = [{"Name": f"slot{n}", "Memory": 1000, "Requirements": True} for n in range(SLOTS)]
    waiting = [
        {"ClusterId": c, "ProcId": p, "JobStatus": 1, "User": f"ann{c % 3}@x", "Iwd": f"/{c}", "Requirements": True}
        for c in range(1, CLUSTERS + 1)
        for p in range(2)
    ]
    for name, ads in (("slots.json", slots), ("jobs.json", waiting)):
        (tmp_path / name).write_text(json.dumps(ads))
    words = ["--slots", tmp_path / "slots.json", "--jobs", tmp_path / "jobs.json", "--now", NOW]
    assert run("--state", state, "import", *words).code == 0
    return state


@contextmanager
def stopped_while(moment, state, now=NOW):
    """Hold a cycle, and stop it at a moment."""
    words = ["--state", str(state), "negotiate", "--quiet", "--now", str(now)]
    line = [sys.executable, "-c", _STOPPED, MOMENTS[moment], *words]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as cycle:
        found = os.waitid(os.P_PID, cycle.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            assert found is not None
            assert found.si_code == os.CLD_STOPPED, cycle.stderr and cycle.stderr.read()
            yield cycle
        finally:
            cycle.send_signal(signal.SIGCONT)
            _, error = cycle.communicate(timeout=60)
    assert (error, cycle.returncode) in (("", 0), ("", -signal.SIGKILL))


def change(state, *words):
    """Change the queue; a lock that the stopped cycle holds would never be released."""
    with start(state, *words, "--now", NOW) as process:
        _, error = process.communicate(timeout=50)
    assert process.returncode == 0, error


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_submit_gets_through_while_a_cycle_computes_and_its_jobs_are_not_lost(moment, pool, run):
    with stopped_while(moment, pool):
        change(pool, "submit", "--request-memory", 5, "--", "/bin/true")
        change(pool, "prio", 7, f"{CLUSTERS}.1")

    with reading(pool) as opened:
        assert len(job_kinds.load(opened)) == 1, "the kinds were stored all the same"
    assert run("--state", pool, "state", "check").code == 0
    matched = json.loads(run("--state", pool, "queue", "--running", "--json").out)
    assert len(matched) == SLOTS
    queued = json.loads(run("--state", pool, "queue", "--json").out)
    assert len(queued) == 2 * CLUSTERS + 1


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_cycle_killed_while_it_computes_leaves_a_sound_state_that_the_next_one_brings_up_to_date(moment, pool, run):
    with stopped_while(moment, pool) as cycle:
        change(pool, "submit", "--request-memory", 5, "--", "/bin/true")
        cycle.kill()
    with reading(pool) as opened:
        assert job_kinds.load(opened) == {}
    assert run("--state", pool, "state", "check").code == 0

    with stopped_while("deciding", pool, NOW + 60):
        change(pool, "remove", CLUSTERS)

    with reading(pool) as opened:
        idle = idle_jobs.load(opened)
        assert list(idle) == sorted(jobs.idle(opened), key=lambda job: (job.cluster, job.first_proc))
        assert (idle.columns["kind"] > 0).sum() >= len(idle) - 1, "all but what was submitted meanwhile"
    assert len(json.loads(run("--state", pool, "queue", "--running", "--json").out)) == SLOTS


def test_a_dry_run_keeps_nobody_waiting(pool):
    words = ["--state", str(pool), "negotiate", "--dry-run", "--now", str(NOW)]
    with subprocess.Popen(
        [sys.executable, "-c", _STOPPED, MOMENTS["deciding"], *words], stdout=subprocess.DEVNULL
    ) as cycle:
        os.waitid(os.P_PID, cycle.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            change(pool, "submit", "--request-memory", 5, "--", "/bin/true")
        finally:
            cycle.send_signal(signal.SIGCONT)
        assert cycle.wait(60) == 0
