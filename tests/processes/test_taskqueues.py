"""Many pilots at one state: each job is handed out once, none is lost, and a kill leaves the state sound."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from fairq.state import check, claims, history, jobs, pilot_slots
from fairq.state.connection import reading, writing

NOW = 1_795_210_080
PROCESSES, PILOTS = 8, [1, 4, 1, 4, 1, 4, 1, 4, 1, 4]
JOBS = PROCESSES * sum(PILOTS)

PILOT = """
import contextlib, io, json, sys
from fairq.cli.app import main

state, site = sys.argv[1:3]
got = []
for number, count in enumerate(sys.argv[3:]):
    words = ["-q", "--state", state, "taskqueues", "match", "--site", site, "--cputime", "90000", "--json"]
    out = io.StringIO()
    out.reconfigure = lambda **_: None
    with contextlib.redirect_stdout(out):
        code = main([*words, "--pilot", f"{site}-{number}", "--count", count])
    assert code == 0, code
    got += [match["job"] for match in json.loads(out.getvalue())["matches"]]
print(json.dumps(got))
"""


def queue_up(run, state, count):
    """Queue jobs of four users in two groups, with a slot of the pool among them."""
    for owner, group in (("anna", "lhcb_user"), ("bert", "lhcb_user"), ("prod", "lhcb_prod"), ("mc", "lhcb_prod")):
        who = ["--accounting-group", group, "--accounting-group-user", owner]
        words = ["submit", "--count", count // 4, *who, "--now", NOW, "--", "/bin/true"]
        assert run("--state", state, *words).code == 0
    assert run("--state", state, "slots", "add", "node").code == 0


def start(state, site, pilots):
    """Start a process whose *pilots* ask for work one call after the other, so many at once in each."""
    line = [sys.executable, "-c", PILOT, str(state), site, *map(str, pilots)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_pilots_of_many_processes_get_each_job_once(run, state):
    queue_up(run, state, JOBS)
    running = [start(state, f"Site{number}.example.org", PILOTS) for number in range(PROCESSES)]
    handed: list[str] = []
    for process in running:
        out, error = process.communicate(timeout=300)
        assert (process.returncode, error) == (0, "")
        handed += json.loads(out)

    assert len(handed) == JOBS
    assert sorted(handed) == sorted(f"{cluster}.{proc}" for cluster in range(1, 5) for proc in range(JOBS // 4))
    with reading(state) as opened:
        assert {job.status for job in jobs.select(opened)} == {2}
        assert len(claims.load_all(opened)) == len(pilot_slots.load_all(opened)) == JOBS
        assert sum("TaskQueue" in (entry.after or {}) for entry in history.load(opened)) == JOBS
        assert check.findings(opened) == []
    assert run("--state", state, "finish", "--all").code == 0
    with reading(state) as opened:
        assert (claims.load_all(opened), pilot_slots.load_all(opened)) == ([], [])
        assert check.findings(opened) == []


@pytest.mark.parametrize("seconds", [0.35, 0.6])
def test_a_killed_pilot_takes_a_job_along_or_does_not(run, state, seconds):
    """Whatever moment it is killed at: every job either waits or runs on a slot of its own."""
    queue_up(run, state, 40)
    with start(state, "Site.example.org", [1] * 40) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    with reading(state) as opened:
        counts = jobs.counts_by_submitter(opened).values()
        waiting, busy = sum(count[0] for count in counts), sum(count[1] for count in counts)
        assert waiting + busy == 40
        assert len(pilot_slots.load_all(opened)) == busy
        assert check.findings(opened) == []
    ended = run("--state", state, "taskqueues", "match", "--site", "Site.example.org", "--cputime", 90000,
                "--count", 40, "--json")  # fmt: skip
    assert len(json.loads(ended.out)["matches"]) == waiting
    assert run("--state", state, "state", "check").code == 0


@pytest.mark.parametrize("seconds", [0.3, 0.5])
def test_a_killed_import_leaves_the_former_queues_or_its_own(run, state, seconds):
    """Whatever moment it is killed at: what the state knows of queues is that of its jobs."""
    dumps = [state.with_suffix(f".{part}.json") for part in (1, 2)]
    for part, dump in enumerate(dumps, 1):
        queue = {"OwnerGroup": "g", "CPUTime": (360, 1800)[part - 1], "Jobs": 1}
        numbers = range(1200 * part - 1199, 1200 * part + 1)
        dump.write_text(json.dumps([{"TQId": number, "Owner": f"u{number}", **queue} for number in numbers]))
    assert run("--state", state, "taskqueues", "import", dumps[0]).code == 0
    line = [sys.executable, "-m", "fairq", "--state", str(state), "taskqueues", "import", str(dumps[1])]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)

    listed = run("--state", state, "taskqueues", "list", "--json", "--now", NOW).out
    assert {queue["cpu_time"] for queue in json.loads(listed)} in ({360}, {1800})
    with writing(state) as opened:
        assert opened.connection.execute("DELETE FROM job_need").rowcount == 1200
        opened.connection.execute("DELETE FROM queue_need")
    assert run("--state", state, "taskqueues", "list", "--json", "--now", NOW).out == listed
    assert run("--state", state, "state", "check").code == 0
