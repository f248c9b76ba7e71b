"""Every command with ``--json`` on sample states: what docs/json.md documents."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.broker_sample import NOW, POOL, TASK, fill
from tests.cli.test_taskqueues_history import DUMP, HOUR
from tests.launch.slurm.recorded import NODES

Run = Callable[..., Any]

SLOT = {"Memory": 4000, "Disk": 9_000_000, "Arch": "X86_64", "OpSys": "LINUX", "Start": True, "Rank": 0,
        "Requirements": "/Expr(Start)/"}  # fmt: skip
SLOTS = [
    {"Name": "a", "Cpus": 1, **SLOT},
    {"Name": "b", "Cpus": 1, **SLOT},
    {"Name": "big", "Cpus": 8, "SlotType": "Partitionable", "PartitionableSlot": True, **SLOT, "Start": False},
]
SETTINGS = """
[negotiator]
preemption_requirements = "true"
[groups.physics]
quota = 1
accept_surplus = true
[groups.biology]
quota = 3
[limits]
LICENSE = 1
"""
SITE_LIMITS = """
[shares.RunningLimit.A.JobType]
MC = 2
[shares.MatchingDelay.A.Owner]
ann = 60
"""
FAULT = 114
MACROS = "GROUP_NAMES = a\nGROUP_QUOTA_a = 3\nNO_SUCH_MACRO = 1\nNEGOTIATOR_INTERVAL = 60\n"
USER = {"prodSourceLabel": "user", "gshare": "User Analysis", "userName": "jane", "nucleus": None}


class Sample:
    """Runs commands and collects their JSON by the name of the command."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.found: dict[str, list[Any]] = defaultdict(list)
        self._run = run
        self._folder = folder
        self._state = folder / "none.db"

    def begin(self, name: str, settings: str) -> None:
        """Go on with a state of its own."""
        self._state = self._folder / f"{name}.db"
        Path(f"{self._state}.toml").write_text(settings)

    def file(self, name: str, content: Any) -> Path:
        path = self._folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def place(self, name: str) -> Path:
        """Return the path of a file or directory beside the states."""
        return self._folder / name

    def do(self, *words: object) -> None:
        """Run a command; an exit code of 1 is one that tells what it found."""
        ended = self._run("--state", self._state, *words)
        assert ended.code in (0, 1), (words, ended.err)

    def show(self, heading: str, *words: object) -> None:
        """Run a command with ``--json`` and keep what it prints."""
        ended = self._run("--state", self._state, *_with_json(words or heading.split()))
        assert ended.code in (0, 1, FAULT), (words, ended.err)
        self.found[heading].append(json.loads(ended.out))

    def keep(self, heading: str, name: str) -> None:
        """Keep what a command has written into a file."""
        self.found[heading].append(json.loads((self._folder / name).read_text()))

    def fill_broker(self, **changed: Any) -> None:
        fill(self._run, self._state, self._folder, **changed)


def _with_json(words: Sequence[object]) -> list[object]:
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], "--json", *words[end:]]


def collect(run: Run, folder: Path) -> dict[str, list[Any]]:
    """Return what every documented command prints, by its heading."""
    os.environ["FAIRQ_ACCOUNTING_UID_DOMAIN"] = "example.org"
    try:
        sample = Sample(run, folder)
        _pool(sample)
        _runs(sample)
        _task_queues(sample)
        _brokerage(sample)
    finally:
        del os.environ["FAIRQ_ACCOUNTING_UID_DOMAIN"]
    return dict(sample.found)


@contextmanager
def _programs(program: Path) -> Iterator[None]:
    """Find *program* before others of its name."""
    program.chmod(0o755)
    former = os.environ["PATH"]
    os.environ["PATH"] = f"{program.parent}:{former}"
    try:
        yield
    finally:
        os.environ["PATH"] = former


def _submit(sample: Sample, owner: str, *words: object, now: int = NOW) -> None:
    sample.show("submit", "submit", "--accounting-group-user", owner, *words, "--now", now, "--", "/bin/true")


def _pool(sample: Sample) -> None:
    sample.begin("pool", SETTINGS)
    sample.show("config show", "config", "show", "--origin")
    sample.show("config show --differences")
    sample.show("config path")
    macros = sample.file("macros.conf", MACROS)
    sample.show("config import", "--config", sample.file("other.toml", ""), "config", "import", macros, "--dry-run")
    sample.show("pool")
    sample.show("state path")
    sample.show("import", "import", "--slots", sample.file("slots.json", SLOTS), "--now", NOW)
    _submit(sample, "ann", "--count", 3, "--accounting-group", "physics", "--concurrency-limits", "LICENSE")
    _submit(sample, "zoe", "--count", 2, "--request-disk", "1MB")
    sample.show("negotiate", "negotiate", "--now", NOW)
    _submit(sample, "ben", "--count", 2, "--request-disk", "1MB", now=NOW + 10)
    _submit(sample, "cat", "--requirements", 'Arch == "ARM"', "--request-disk", "1MB", now=NOW + 10)
    sample.do("userprio", "-setfactor", "zoe@example.org", 1e6, "--now", NOW + 10)
    for job in ("1.2", "3.1", "4.0"):
        sample.show("why (a job)", "why", job, "--now", NOW + 20)
    sample.show("why (a job)", "why", "3.1", "--compare", "--now", NOW + 20)
    sample.show("why (all idle jobs)", "why", "--now", NOW + 20)
    sample.show("negotiate --dry-run, with a change", "negotiate", "--dry-run", "--slots", "+2", "--now", NOW + 20)
    sample.do("page", sample.place("page"), "--now", NOW + 20)
    sample.keep("page", "page/pool.json")
    sample.show("report --fairness", "report", "--fairness", "--since", "-2d", "--now", NOW + 20)
    sample.show("userprio --tree", "userprio", "--tree", "--now", NOW + 20)
    sample.show("userprio --target", "userprio", "--target", "zoe=1%", "--scale-all", "--now", NOW + 20)
    trace = sample.file("trace.csv", "submit,run,user,group\n0,60,ann,x\n0,240,zoe,x\n5,240,ann,x\n")
    sample.show("simulate", "simulate", trace, "--slots", "1", "--policy", "fifo", "--policy", "current")
    result = sample.file("result.json", sample.found["simulate"][-1])
    for what in ("usage", "shares", "wait"):
        sample.show(f"plot {what}", "plot", what, "--simulation", result)
    sample.show("why --slot", "why", "3.1", "--slot", "a", "--now", NOW + 20)
    sample.show("why --slot", "why", "3.1", "--slot", "a", "--compare", "--now", NOW + 20)
    sample.show("why (a submitter)", "why", "zoe", "--now", NOW + 20)
    sample.show("why (a submitter)", "why", "zoe", "--compare", "--now", NOW + 20)
    sample.show("why (a group)", "why", "physics", "--now", NOW + 20)
    sample.show("why (a group)", "why", "physics", "--compare", "--now", NOW + 20)
    sample.show("negotiate", "negotiate", "--explain", "--now", NOW + 30)
    for job in ("1.0", "3.0"):
        sample.show("why (a job)", "why", job, "--now", NOW + 40)
    sample.show("state cycles")
    sample.show("state cycle")
    sample.show("userprio", "userprio", "--all", "--allusers", "--now", NOW + 40)
    sample.show("userprio -setfactor", "userprio", "-setfactor", "ben@example.org", 5, "--now", NOW + 40)
    sample.show("userprio -getreslist", "userprio", "-getreslist", "ben@example.org", "--now", NOW + 40)
    sample.show("quotas", "quotas", "--now", NOW + 40)
    sample.show("quotas --slots", "quotas", "--slots", 9, "--now", NOW + 40)
    sample.show("quotas check", "quotas", "check", "--now", NOW + 40)
    sample.show("queue")
    sample.show("queue --batch", "queue", "--batch")
    sample.show("queue --order", "queue", "--order")
    sample.show("slots list")
    sample.show("slots list --compact", "slots", "list", "--compact")
    for command, words in (("hold", ["4"]), ("release", ["4"]), ("prio", ["+5", "4"]), ("remove", ["4"]),
                           ("finish", ["--all"])):  # fmt: skip
        sample.show("remove, hold, release, prio, edit, finish", command, *words, "--now", NOW + 50)
    sample.show("rerun", "rerun", "4", "--now", NOW + 50)
    sample.do("undo", "--now", NOW + 50)
    for words in (["add", "spare"], ["drain", "spare"], ["remove", "spare"]):
        sample.show("slots add, remove, drain", "slots", *words, "--now", NOW + 60)
    sample.show("undo", "undo", "--now", NOW + 70)
    with _programs(sample.file("scontrol", f"#!/bin/sh\ncat <<'EOF'\n{NODES}EOF\n")):
        sample.show("slots sync", "slots", "sync", "slurm", "--dry-run", "--now", NOW + 75)
    sample.do("slots", "add", "classroom", "--now", NOW + 60)
    sample.show("slots reserve", "slots", "reserve", "classroom", "--for", "ann", "--now", NOW + 60)
    sample.show("slots reservations", "slots", "reservations", "--now", NOW + 60)
    sample.show("slots reserve --cancel", "slots", "reserve", "--cancel", 1, "--now", NOW + 60)
    sample.do("slots", "add", "dark", "--cpus", 64, "--attribute", "Offline=true", "--now", NOW + 60)
    sample.do("submit", "--request-cpus", 64, "--now", NOW + 60, "--", "/bin/true")
    sample.show("slots list --wanted", "slots", "list", "--wanted", "--now", NOW + 60)
    sample.show("pool pause", "pool", "pause", "--reason", "x", "--now", NOW + 60)
    sample.show("status", "status", "--now", NOW + 60)
    sample.show("pool resume", "pool", "resume", "--now", NOW + 60)
    for what in ("usage", "shares"):
        sample.show(f"plot {what}", "plot", what, "--since", "-1d", "--now", NOW + 86400)
    sample.show("pool check", "pool", "check", "--now", NOW + 60)
    sample.show("pool create, pool remove", "pool", "create", "--dry-run")
    sample.do("page", sample.place("page"), "--now", NOW + 86400)
    sample.keep("page", "page/pool.json")
    for heading, by in (("report", "user,day"), ("report --by slot", "slot")):
        sample.show(heading, "report", "--by", by, "--since", "-2d", "--now", NOW + 86400)
    sample.show("state history")
    sample.show("state check")


def _runs(sample: Sample) -> None:
    """Jobs that really run: the times are those of this moment."""
    sample.begin("runs", '[launch]\nkind = "local"\n')
    sample.do("slots", "add", "here", "--count", 2)
    sample.show("submit", "submit", "--", "/bin/true")
    sample.show("submit", "submit", "--", "/bin/sh", "-c", "kill -9 $$")
    sample.show("negotiate", "negotiate")
    while not sample.found["negotiate"][-1]["ended"]:
        time.sleep(0.05)
        sample.show("negotiate", "negotiate")
    sample.do("run", "--until-idle")
    sample.show("log", "log", "1")
    sample.show("history")
    sample.show("negotiate --collect-only")


def _task_queues(sample: Sample) -> None:
    sample.begin("shares", HOUR + "[shares.MatchingDelay.S.Site]\nS = 10\n[shares.MatchingDelay.S.Burst.Site]\nS = 2\n")
    sample.show("taskqueues import", "taskqueues", "import", sample.file("dump.json", DUMP), "--now", NOW)
    pilot = ("--site", "S", "--cputime", 100_000)
    _submit(sample, "anna", "--accounting-group", "a", "--attribute", 'Sites="S, T"', "--attribute", "MinRAM=1")
    _submit(sample, "bert", "--accounting-group", "b", "--attribute", 'BannedSites="S"')
    sample.show("taskqueues match", "taskqueues", "match", *pilot, "--count", 2, "--now", NOW)
    sample.show("taskqueues shares", "taskqueues", "shares", "--now", NOW + 60)
    sample.show("taskqueues list", "taskqueues", "list", "--now", NOW + 60)
    for queue in sample.found["taskqueues list"][-1]:
        sample.show("taskqueues why", "taskqueues", "why", queue["task_queue"], *pilot, "--now", NOW + 60)
        sample.show("taskqueues why", "taskqueues", "why", queue["task_queue"], *pilot, "--compare", "--now", NOW + 60)
    limited = ("--config", sample.file("limits.toml", SITE_LIMITS))
    sample.show("taskqueues limits", *limited, "taskqueues", "limits", "--now", NOW)
    sample.show("taskqueues shares --check", "taskqueues", "shares", "--check", sample.file("dump.json", DUMP))


def _brokerage(sample: Sample) -> None:
    sample.begin("broker", "")
    late = {"PandaID": 1, "jobStatus": "running", "computingSite": "U8", "jediTaskID": 1, "modified": NOW - 90_000}
    standby = {"name": "STANDBY", "status": "standby", "atlas_site": "NUC", "corecount": 1}
    paused = {"name": "PAUSED", "status": "paused", "type": "unified", "cloud": "W"}
    exempt = {"computingSite": "PAUSED", "jobStatus": "defined", "stateChangeTime": NOW - 90_000}
    sample.fill_broker(
        jobs=[late, late | exempt | {"PandaID": 2}],
        queues=[*POOL["queues"], POOL["queues"][0] | standby, paused],
        tasks=[*POOL["tasks"], TASK | USER | {"jediTaskID": 3}],
    )
    sample.show("broker import", "broker", "import", sample.file("pilots.json", POOL["pilots"]), "--now", NOW)
    sample.show("broker run", "broker", "run", "--out", sample.file("run.json", ""), "--now", NOW)
    sample.keep("broker run --out", "run.json")
    sample.show("broker status", "broker", "status", "--now", NOW)
    sample.show("broker run --summary", "broker", "run", "--all", "--summary", "--now", NOW)
    sample.show("broker why", "broker", "why", 1, "--now", NOW)
    sample.show("broker why", "broker", "why", 2, "--now", NOW)
    sample.show("broker why, all tasks", "broker", "why", "--now", NOW)
    sample.show("broker why, all tasks", "broker", "why", "--queue", "SMALL", "--now", NOW)
    sample.show("broker why", "broker", "why", 1, "--compare", "--now", NOW)
    sample.show("broker why", "broker", "why", 1, "--last", "--now", NOW)
    sample.show("broker why", "broker", "why", 2, "--queue", "SMALL", "--now", NOW)
    sample.do("broker", "queues", "import", sample.file("q.json", [POOL["queues"][0] | {"status": "offline"}]))
    sample.do("broker", "run", "--all", "--now", NOW + 60)
    sample.show("broker diff", "broker", "diff", 1, 3)
    change = ("--queue", "U8.status=offline", "--now", NOW)
    sample.show("broker diff", "broker", "run", "--all", "--dry-run", *change)
    sample.show("broker timeouts", "broker", "timeouts", "--out", sample.file("out.json", ""), "--now", NOW)
    sample.keep("broker run --out", "out.json")
    sample.show("broker lint", "broker", "lint", "--now", NOW)
    sample.show("broker filters")
    sample.show("broker config", "broker", "config", "list")
    sample.show("broker nuclei")
    sample.show("broker pseudoqueues")
