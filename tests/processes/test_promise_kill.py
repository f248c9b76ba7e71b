"""Cycles that are killed while they promise machines to large jobs: each promise is there as a whole, or not at all.

FAIRQ_TEST_KILLS is the number of kills; 100 take five minutes.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

KILLS = int(os.environ.get("FAIRQ_TEST_KILLS", "5"))
MACHINES, CORES, MOST = 4, 4, 2
T, HOUR = 1_795_000_000, 3600


def test_promises_of_killed_cycles(run, state):
    Path(f"{state}.toml").write_text(f'[negotiator]\nlarge_job_patience = "10m"\nlarge_job_machines = {MOST}\n')

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended.out

    def submit(count, cpus, at):
        fairq("submit", "--count", count, "--cpus", cpus, "--time", 50 * HOUR, "--now", at, "--", "/bin/true")

    for number in range(MACHINES):
        fairq("slots", "add", f"m{number}", "--cpus", CORES, "--partitionable", "--now", T)
    submit(MACHINES * CORES, 1, T)
    fairq("negotiate", "--now", T)
    submit(KILLS + MOST, CORES, T + 1)
    draw, now, outcomes, seen = random.Random(5), T + HOUR, Counter(), {}
    for _ in range(KILLS):
        line = [sys.executable, "-m", "fairq", "-q", "--state", str(state), "negotiate", "--now", str(now)]
        cycle = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            cycle.wait(draw.uniform(0.3, 3))
        except subprocess.TimeoutExpired:
            cycle.send_signal(signal.SIGKILL)
            cycle.wait()
        outcomes[cycle.returncode] += 1
        promises = json.loads(fairq("slots", "reservations", "--now", now, "--json"))
        ads = {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in json.loads(fairq("queue", "--json", "--now", now))}
        history = json.loads(fairq("state", "history", "--json"))
        told = Counter(entry["subject"] for entry in history if entry["before"] is None and entry["after"])
        assert len({one["slots"][0] for one in promises}) == len({one["job"] for one in promises}) == len(promises)
        assert len(promises) <= MOST
        for one in promises:
            ad = ads[one["job"]]
            assert (ad["JobStatus"], ad["Reservation"]) == (1, one["number"]), "a promise is there in part"
            assert told[f"reservation {one['number']}"] == 1, "a promise is not in the history, or twice"
            assert seen.setdefault(one["number"], (one["job"], one["slots"])) == (one["job"], one["slots"])
        # What runs on one of the machines ends; removed jobs wait for nothing.
        if promises and draw.random() < 0.5:
            fairq("remove", promises[0]["job"], "--now", now)
        now += 600
    fairq("negotiate", "--now", now)
    assert json.loads(fairq("slots", "reservations", "--now", now, "--json")), "large jobs wait, and none has a promise"
    fairq("state", "check")
    sys.stdout.write(f"{dict(outcomes)}; {len(seen)} promises were seen\n")
