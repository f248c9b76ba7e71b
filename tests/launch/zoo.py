"""For the schemas since jobs run: a state with jobs that were running, and what their supervisors had written.

``python -m tests.launch.zoo`` adds that of today's schema, before its release; an old one is never made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from fairq.state import checksums
from fairq.state.schema import MIGRATIONS

ZOO = Path(__file__).parent.parent / "data" / "running"
FIRST = 11
"""The first schema that knows of runs."""

BEGIN = 1_700_000_000
FLAG = Path("/tmp/fairq-zoo")
"""While this file is there, the second job runs long."""


def main() -> None:
    """Write the state and the directories of runs of today's schema."""
    target = ZOO / f"schema{len(MIGRATIONS)}"
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch, "pool.db")
        FLAG.touch()
        try:
            _make(state)
        finally:
            FLAG.unlink()
        with closing(sqlite3.connect(state)) as connection:
            checksums.register(connection)
            connection.executescript("PRAGMA page_size = 512; VACUUM")
        target.mkdir(parents=True)
        shutil.copy(state, target)
        shutil.copytree(f"{state}.runs", target / "pool.db.runs")


def _make(state: Path) -> None:
    """Leave a job that has ended, one that was running when the machine went down, and one that is about to start."""
    environment = {"PATH": os.defpath, "HOME": "/", "FAIRQ_STATE": str(state), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x"}

    def fairq(*words: object) -> str:
        line = [sys.executable, "-m", "fairq", *map(str, words)]
        return subprocess.run(line, env=environment, check=True, capture_output=True, text=True, cwd="/").stdout

    fairq("slots", "add", "here", "--count", 3, "--attribute", 'Launch="local"')
    now = ("--now", BEGIN)
    fairq("submit", *now, "--accounting-group-user", "alice", "--", "/bin/sh", "-c", "sleep 2; exit 3")
    sleeps = f"[ -e {FLAG} ] && exec sleep 600; exit 0"
    fairq("submit", *now, "--accounting-group-user", "alice", "--", "/bin/sh", "-c", sleeps)
    fairq("negotiate", *now)
    fairq("submit", *now, "--accounting-group-user", "alice", "--", "/bin/true")
    fairq("negotiate", "--no-launch", "--now", BEGIN + 1)
    while not list(Path(f"{state}.runs").glob("1.0-*/end")):
        time.sleep(0.1)
    for launch in json.loads(fairq("export"))["launches"]:
        if launch["cluster"] == 2:
            (job,) = Path(f"{state}.runs").glob(f"{launch['name']}/job")
            os.kill(launch["pid"], signal.SIGKILL)
            os.killpg(json.loads(job.read_text())["pid"], signal.SIGKILL)


if __name__ == "__main__":
    main()
