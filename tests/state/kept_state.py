"""A state as a fairq left it: a pool at work, its settings, its runs, and what that fairq printed of it.

``python -m tests.state.kept_state PYTHON`` makes that of the fairq which the interpreter PYTHON has: of a new schema,
before its release. One that is there is never made anew.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.cli.broker_sample import POOL
from tests.cli.test_taskqueues_history import DUMP, HOUR

from fairq.state.schema import guards

FOLDER = Path(__file__).parent.parent / "data" / "states"
STATE, SHOWN = "pool.db", "shown.json"

BEGIN = 1_700_000_000
LATER = BEGIN + 900
FLAG = Path("/tmp/fairq-kept-state")
"""While this file is there, the second of the jobs that fairq starts runs long."""

SETTINGS = """
[negotiator]
preemption_requirements = "true"
[groups.physics]
quota = 4
accept_surplus = true
[groups."physics.hep"]
quota = 2
[groups.biology]
quota = 3
[limits]
LICENSE = 2
"""

QUESTIONS = (
    f"queue --json --procs --now {LATER}",
    f"queue --json --held --now {LATER}",
    f"userprio --json --all --allusers --now {LATER}",
    f"userprio --json --quotas --now {LATER}",
    "quotas --json",
    f"history --json --now {LATER}",
    "slots --af Name State RemoteUser AccountingGroup JobId",
    "state history --json",
    "state cycles --json",
    "state cycle 1 --json",
    "taskqueues list --json",
    "broker queues --json",
    "broker tasks --json",
    "broker why 1 --last --json",
    "broker why 2 --last --json",
    "export",
)

LAST_OTHER_DECISIONS = 28
"""The last schema with an archive whose decisions about tasks have an older form, which is refused."""


def environment(state: Path) -> dict[str, str]:
    """Return the variables under which the state is made and shown."""
    return {"PATH": os.defpath, "HOME": "/", "TZ": "UTC", "FAIRQ_STATE": str(state), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x"}


def shown(python: str, state: Path, questions: Iterable[str] = QUESTIONS) -> dict[str, Any]:
    """Return what the fairq of the interpreter *python* prints of *state*, by question."""
    texts = {line: _fairq(python, state, *line.split()) for line in questions}
    return {line: text if "--af" in line else json.loads(text) for line, text in texts.items()}


def has_all(found: Any, older: Any) -> bool:
    """Return whether *found* has all that *older* has; its objects may have more members."""
    if isinstance(older, dict):
        return isinstance(found, dict) and all(name in found and has_all(found[name], older[name]) for name in older)
    if isinstance(older, list):
        return isinstance(found, list) and len(found) == len(older) and all(map(has_all, found, older))
    return bool(found == older)


def _fairq(python: str, state: Path, *words: object) -> str:
    line = [python, "-m", "fairq", *map(str, words)]
    return subprocess.run(line, env=environment(state), check=True, capture_output=True, text=True, cwd="/").stdout


def main(python: str) -> None:
    """Write the archive of the fairq of the interpreter *python*."""
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch, STATE)
        FLAG.touch()
        try:
            _make(python, state)
        finally:
            FLAG.unlink()
        with closing(sqlite3.connect(state)) as connection:
            guards.register(connection)
            connection.execute("VACUUM")
            (number,) = connection.execute("PRAGMA user_version").fetchone()
        Path(scratch, SHOWN).write_text(json.dumps(shown(python, state)))
        with tarfile.open(FOLDER / f"schema{number}.tar.xz", "x:xz") as archive:
            for name in (STATE, f"{STATE}.toml", f"{STATE}.runs", SHOWN):
                archive.add(Path(scratch, name), name, filter=_of_nobody)


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _make(python: str, state: Path) -> None:
    def fairq(*words: object) -> str:
        return _fairq(python, state, *words)

    def submit(user: str, at: int, count: int, *words: object) -> None:
        farm = ("--requirements", 'TARGET.Site == "farm"', "--accounting-group-user", user, "--count", count)
        fairq("submit", "--now", BEGIN + at, *farm, *words, "--", "/bin/true")

    Path(f"{state}.toml").write_text(SETTINGS + HOUR)
    # A farm that others run, with groups, carved slots, licences, a preemption, and jobs of every status.
    fairq("slots", "add", "farm", "--count", 10, "--attribute", 'Site="farm"', "--now", BEGIN)
    fairq("slots", "add", "big", "--cpus", 4, "--partitionable", "--attribute", 'Site="farm"', "--now", BEGIN)
    submit("bob", 0, 20)
    submit("carol", 0, 6, "--accounting-group", "physics.hep", "--concurrency-limits", "LICENSE")
    fairq("negotiate", "--no-launch", "--now", BEGIN)
    fairq("userprio", "--setfactor", "bob@x", 5, "--reason", "a night at work", "--now", BEGIN + 60)
    fairq("userprio", "--setceiling", "carol@x", 3, "--duration", "7d", "--now", BEGIN + 60)
    submit("dora", 60, 8, "--accounting-group", "biology", "--request-cpus", 2)
    submit("erin", 60, 4, "--priority", 5)
    fairq("negotiate", "--no-launch", "--now", BEGIN + 120)
    fairq("hold", "1.0", "--reason", "for a look", "--now", BEGIN + 180)
    fairq("prio", 9, "4.3", "--now", BEGIN + 180)
    fairq("finish", "1.1", "--exit-code", 3, "--now", BEGIN + 240)
    fairq("remove", "1.19", "--now", BEGIN + 240)
    fairq("slots", "drain", "slot3@farm", "--now", BEGIN + 240)
    fairq("negotiate", "--no-launch", "--now", BEGIN + 300)
    # Task queues and a grid.
    with tempfile.TemporaryDirectory() as scratch:
        dump = Path(scratch, "dump.json")
        dump.write_text(json.dumps({**DUMP, "time": BEGIN + 320}))
        fairq("taskqueues", "import", dump, "--now", BEGIN + 320)
        for kind, records in POOL.items():
            dump.write_text(json.dumps(records))
            fairq("broker", kind, "import", dump, "--now", BEGIN + 330)
    fairq("taskqueues", "match", "--site", "LCG.CERN.cern", "--cputime", 400, "--pilot", "p1", "--now", BEGIN + 330)
    fairq("broker", "run", "--now", BEGIN + 330)
    # A job that has ended, one that was running when the machine went down, and one that is about to start.
    fairq("slots", "add", "here", "--count", 3, "--attribute", 'Launch="local"', "--now", BEGIN + 360)
    own = ("--requirements", 'TARGET.Launch =?= "local"', "--accounting-group-user", "alice")
    fairq("submit", "--now", BEGIN + 360, *own, "--", "/bin/sh", "-c", "sleep 2; exit 3")
    sleeps = f"[ -e {FLAG} ] && exec sleep 600; exit 0"
    fairq("submit", "--now", BEGIN + 360, *own, "--", "/bin/sh", "-c", sleeps)
    fairq("negotiate", "--now", BEGIN + 360)
    fairq("submit", "--now", BEGIN + 360, *own, "--", "/bin/true")
    fairq("negotiate", "--no-launch", "--now", BEGIN + 361)
    document = json.loads(fairq("export"))
    first, second = (one for one in document["launches"] if one["pid"] is not None)
    while not Path(f"{state}.runs", first["name"], "end").exists():
        time.sleep(0.1)
    job = json.loads(Path(f"{state}.runs", second["name"], "job").read_text())
    os.kill(second["pid"], signal.SIGKILL)
    os.killpg(job["pid"], signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
