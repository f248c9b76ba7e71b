"""Real jobs of three users with the factors 1, 2 and 4 on 14 slots of this machine: do they get 8 : 4 : 2?

    python -m benchmarks.launching.fairness [SECONDS] [KILLS]

With KILLS, the negotiating process or a supervisor of a job is killed that many times, at random instants. A run whose
supervisor was killed holds its slot until the next turn notices: the longer the negotiating process takes to restart,
as on a loaded machine, the more of the slot-seconds are due to chance.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

SLOTS = 14
USERS = {"alice": 1, "bob": 2, "carol": 4}


def main(seconds: float, kills: int) -> None:
    """Run the experiment in a scratch directory and print its result."""
    with tempfile.TemporaryDirectory() as scratch:
        experiment(Path(scratch), seconds, kills)


def experiment(work: Path, seconds: float, kills: int) -> None:
    environment = {
        **os.environ, "FAIRQ_STATE": str(work / "state.db"), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x",
        "FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE": "1e12", "FAIRQ_LAUNCH_MAX_LOST": "1000",
    }  # fmt: skip

    def fairq(*words: str) -> str:
        line = [sys.executable, "-m", "fairq", *words]
        return subprocess.run(line, env=environment, check=True, capture_output=True, text=True).stdout

    fairq("slots", "add", "here", "--count", str(SLOTS), "--attribute", 'Launch="local"')
    for user, factor in USERS.items():
        job = ["submit", "--accounting-group-user", user, "--count", "600", "--initialdir", str(work), "--"]
        length = "$((2 + FAIRQ_PROCESS % 3)).$((FAIRQ_PROCESS % 10))"
        script = f'set -C; : > "once.$FAIRQ_RUN" || exit 9; exec sleep {length}'
        fairq(*job, "/bin/sh", "-c", script)
        fairq("userprio", "-setfactor", f"{user}@x", str(factor))
    negotiator = start(environment)
    began = time.time()
    draw = random.Random(1)
    instants = sorted(draw.uniform(2, seconds - 1) for _ in range(kills))
    killed = {"negotiator": 0, "supervisor": 0}
    for instant in instants:
        time.sleep(max(0.0, began + instant - time.time()))
        if draw.random() < 0.5:
            negotiator.kill()
            negotiator.wait()
            negotiator = start(environment)
            killed["negotiator"] += 1
        else:
            live = [launch for launch in document(fairq)["launches"] if launch["phase"] == "started"]
            if live:
                with suppress(OSError):
                    os.kill(draw.choice(live)["pid"], signal.SIGKILL)
                killed["supervisor"] += 1
    time.sleep(max(0.0, began + seconds - time.time()))
    measured = time.time()
    idle = {user: int(fairq("queue", f"{user}@x", "--idle", "--af", "ProcId").count("\n")) for user in USERS}
    # Remove the jobs that have not begun; running jobs end by themselves.
    fairq("remove", "--constraint", "JobStatus == 1")
    negotiator.send_signal(signal.SIGINT)
    negotiator.wait()
    fairq("run", "--until-idle")
    report(document(fairq), work, began, measured, idle, killed)
    print(fairq("state", "check") or "state check: no faults")


def start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "fairq", "-q", "run"]
    return subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def document(fairq: Any) -> dict[str, Any]:
    return dict(json.loads(fairq("export")))


def report(
    exported: dict[str, Any], work: Path, began: float, measured: float, idle: dict[str, int], killed: dict[str, int]
) -> None:
    users = {1 + index: user for index, user in enumerate(USERS)}
    held = dict.fromkeys(USERS, 0.0)
    for launch in exported["launches"]:
        start_time = launch["intended"]
        end = min(launch["end_time"], measured)
        held[users[launch["cluster"]]] += max(0.0, end - max(start_time, began))
    share = sum(held.values()) / sum(8 / factor for factor in USERS.values())
    print(f"{measured - began:.0f} s, killed: {killed}, idle at the end: {idle}")
    for user, factor in USERS.items():
        print(f"{user}: {held[user]:.0f} slot-seconds, {held[user] / share:.2f} of {8 / factor:g}")
    lost = [entry for entry in exported["launches"] if (entry["ended"] or {}).get("reason") == "lost"]
    seconds = sum(entry["end_time"] - entry["intended"] for entry in lost)
    print(f"lost runs: {len(lost)}, which held their slots for {seconds} s")
    runs = exported["runs"]
    finished = [(run["cluster"], run["proc"]) for run in runs if run["how"] == "finished"]
    codes = {run["exit_code"] for run in runs if run["how"] == "finished"}
    print(f"runs: {len(runs)}, finished {len(finished)}, twice {len(finished) - len(set(finished))}, codes {codes}")
    print(f"runs that began: {len(list(work.glob('once.*')))}; live: "
          f"{sum(entry['phase'] != 'ended' for entry in exported['launches'])}")  # fmt: skip
    for record in exported["submitters"]:
        if not record["is_group"]:
            held_seconds = sum(
                run["end_time"] - run["start_time"] for run in runs if run["submitter"] == record["name"]
            )
            print(f"{record['name']}: charged {record['accumulated_usage']:g} s, held {held_seconds} s")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 40, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
