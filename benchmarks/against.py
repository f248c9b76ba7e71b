"""Compare the cost of commands with another commit: ``python -m benchmarks.against COMMIT [GROUP...]``.

Both are installed in their own environments, and run every case in turn. The table has the medians of CPU seconds and
the peak memory of both, and their ratios. The groups of cases are those of `GROUPS`, by default all.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import broker, measure, pools, task_queues
from benchmarks.check_cases import Case, cases, dumps, inside
from benchmarks.measure import Cost, fairq, median_cost, python

ROOT = Path(__file__).parent.parent
ROUNDS = 5
ALIKE, DIFFERENT, USED = "a2000-100000-100", "b20000-20000-100", "c20000-100000-200"
_AT = ("--now", pools.NOW)


def _starts(folder: Path) -> dict[str, Case]:
    """Return commands on a pool of six slots and seventy jobs, and an interpreter that imports Typer for comparison."""
    fresh, state = folder / "fresh.db", folder / "state.db"
    fairq(folder, "--state", fresh, "slots", "add", "node1", "--count", 6, *_AT)
    for user, count in (("alice", 20), ("bob", 50)):
        words = ("submit", "--count", count, "--accounting-group-user", user, *_AT, "--", "/bin/sleep", 60)
        fairq(folder, "--state", fresh, *words)

    def once(*words: object) -> Cost:
        shutil.copy(fresh, state)
        return fairq(folder, "--state", state, *words, *_AT)

    return {
        "import typer": lambda: python(folder, "-c", "import typer"),
        **{f"start of {word}": lambda word=word: once(word) for word in ("queue", "userprio", "status")},
        "start of submit": lambda: once("submit", "--", "/bin/true"),
        "start of negotiate": lambda: once("negotiate"),
    }


def _imports(folder: Path) -> dict[str, Case]:
    """Return imports of alike jobs, and of different slots and jobs."""
    return _import(ALIKE, inside(folder, ALIKE)) | _import(DIFFERENT, inside(folder, DIFFERENT))


def _import(name: str, folder: Path) -> dict[str, Case]:
    pools.make(name).write(folder)
    state = folder / "state.db"

    def imported() -> Cost:
        state.unlink(missing_ok=True)
        return fairq(folder, "--state", state, "import", *dumps(folder), *_AT)

    return {f"import {name}": imported}


def _in_use(folder: Path) -> dict[str, Case]:
    """Return the first two cycles of a large pool, and ``why`` for a waiting job."""
    name = USED
    pools.make(name).write(folder)
    fresh, used, state = folder / "fresh.db", folder / "used.db", folder / "state.db"
    fairq(folder, "--state", fresh, "import", *dumps(folder), *_AT)
    shutil.copy(fresh, used)
    fairq(folder, "--state", used, "negotiate", *_AT)
    later = ("--now", pools.NOW + 60)
    fairq(folder, "--state", used, "queue", "--idle", "--limit", 1, "--af:j", "Owner", output=folder / "idle")
    idle = (folder / "idle").read_text().split()[0]

    def once(before: Path, *words: object) -> Cost:
        shutil.copy(before, state)
        return fairq(folder, "--state", state, *words)

    return {
        f"negotiate {name}": lambda: once(fresh, "negotiate", *_AT),
        f"negotiate {name} in use": lambda: once(used, "negotiate", *later),
        f"why {name} in use": lambda: once(used, "why", idle, *later),
    }


def _cycle(name: str, folder: Path) -> dict[str, Case]:
    """Return the first cycle of the pool whose dumps are in *folder*, and ``why``."""
    fresh, state = folder / "fresh.db", folder / "state.db"
    fairq(folder, "--state", fresh, "import", *dumps(folder), *_AT)

    def once(*words: object) -> Cost:
        shutil.copy(fresh, state)
        return fairq(folder, "--state", state, *words, *_AT)

    named_cases: dict[str, Case] = {}
    for rules in ("documented", "htcondor"):
        named_cases[f"negotiate {name} {rules}"] = lambda rules=rules: _with_rules(
            state, rules, lambda: once("negotiate")
        )
    return {**named_cases, f"why {name}": lambda: _with_rules(state, "documented", lambda: once("why"))}


def _with_rules(state: Path, rules: str, run: Case) -> Cost:
    requirements = "RemoteUserPrio > SubmitterUserPrio * 1.2"
    text = f'[negotiator]\nrules = "{rules}"\npreemption_requirements = "{requirements}"\n'
    Path(f"{state}.toml").write_text(text)
    return run()


def _own_ranks(folder: Path) -> Path:
    """Write dumps of 300 slots with a Rank text each, half of them in use, and of 300 kinds of jobs of 60 people."""
    draw = random.Random(11)
    people = [f"p{number:03d}" for number in range(60)]
    slots = []
    for number in range(300):
        slot = {
            **pools.SLOT, "Name": f"slot1@w{number}", "Machine": f"w{number}", "Memory": 900 + number,
            "Rank": f'/Expr((TARGET.AccountingGroup =?= "{people[number % 60]}") * 10'
                    f" + (TARGET.RequestMemory > {number}))/",
            "State": "Unclaimed", "Activity": "Idle",
        }  # fmt: skip
        if number % 2:
            slot |= {"State": "Claimed", "Activity": "Busy", "RemoteUser": f"{draw.choice(people)}@test"}
        slots.append(slot)
    jobs = []
    for number, name in enumerate(people):
        for kind in range(5):
            shared = _job(name, 1 + 5 * number + kind) | {"RequestMemory": draw.randint(100, 1600)}
            jobs += [{**shared, "Rank": "/Expr(Memory)/", "ProcId": proc} for proc in range(4)]
    return _write(folder, slots, jobs, people, draw)


def _lab(folder: Path) -> Path:
    """Write dumps of 40 partitionable machines of 16 to 128 cores, and 2,000 jobs of 12 people with various Ranks."""
    draw = random.Random(40)
    people = [f"p{number:02d}" for number in range(12)]
    slots = []
    for number in range(40):
        cores = draw.choice([16, 32, 64, 128])
        slots.append(
            {
                **pools.SLOT, "Name": f"slot1@lab{number}", "Machine": f"lab{number}", "PartitionableSlot": True,
                "SlotType": "Partitionable", "Cpus": cores, "Memory": 4096 * cores, "Disk": 10_000_000 * cores,
                "State": "Unclaimed", "Activity": "Idle", "HasGpu": number % 5 == 0, "KFlops": 1000 + 10 * number,
            }
        )  # fmt: skip
    jobs = []
    for cluster in range(1, 101):
        shared = _job(draw.choice(people), cluster) | {
            "RequestCpus": draw.choice([1, 1, 2, 4, 8]), "RequestMemory": draw.choice([1024, 4096, 16384]),
            "Rank": draw.choice(["/Expr(KFlops)/", "/Expr(Memory)/", "/Expr(HasGpu ? 0 : 10)/", 0.0]),
        }  # fmt: skip
        jobs += [{**shared, "ProcId": proc} for proc in range(20)]
    return _write(folder, slots, jobs, people, draw)


def _job(name: str, cluster: int) -> dict[str, object]:
    person = {"Owner": name, "User": f"{name}@test", "AccountingGroup": name, "ClusterId": cluster, "RequestDisk": 1000}
    return {**pools.JOB, **person}


def _write(folder: Path, slots: list[dict[str, object]], jobs: list[dict[str, object]], people: list[str],
           draw: random.Random) -> Path:  # fmt: skip
    pools.write_ads(folder / "slots.json", slots)
    pools.write_ads(folder / "jobs.json", jobs)
    priorities = ({"Name": f"{name}@test", "Priority": round(60 ** draw.random(), 3)} for name in people)
    pools.write_ads(folder / "accounting.json", ({**priority, "PriorityFactor": 1.0} for priority in priorities))
    return folder


def _grid(folder: Path) -> dict[str, Case]:
    """Return a broker run of 2,000 tasks over 300 queues, under both sets of rules."""
    draw, state = random.Random(2), folder / "state.db"
    for kind, records in (broker.pool(draw, 300) | broker.work(draw, 2_000, 60)).items():
        (folder / f"{kind}.json").write_text(json.dumps(records))
        fairq(folder, "--state", state, "broker", kind, "import", folder / f"{kind}.json")
    words = ("--state", state, "broker", "run", "--all", "--dry-run", "--now", broker.NOW, "--rules")
    return {f"broker run 2000 300 {rules}": lambda rules=rules: fairq(folder, *words, rules)
            for rules in ("documented", "panda")}  # fmt: skip


def _queues(folder: Path) -> dict[str, Case]:
    """Return a match of a pilot with 100,000 task queues."""
    fresh, state = folder / "fresh.db", folder / "state.db"
    (folder / "dump.json").write_text(json.dumps(task_queues.dump(task_queues.queues())))
    fairq(folder, "--state", fresh, "taskqueues", "import", folder / "dump.json")
    fairq(folder, "--state", fresh, "taskqueues", "match", *task_queues.PILOT)

    def matched() -> Cost:
        shutil.copy(fresh, state)
        return fairq(folder, "--state", state, "taskqueues", "match", *task_queues.PILOT)

    return {"taskqueues match 100000": matched}


GROUPS: dict[str, Callable[[Path], dict[str, Case]]] = {
    "starts": _starts,
    "imports": _imports,
    "used": _in_use,
    "own-ranks": lambda folder: _cycle("own-ranks", _own_ranks(folder)),
    "lab": lambda folder: _cycle("lab", _lab(folder)),
    "grid": _grid,
    "queues": _queues,
    "check": cases,
}


@contextmanager
def _measuring(interpreter: Path) -> Iterator[None]:
    former, measure.program = measure.program, str(interpreter)
    try:
        yield
    finally:
        measure.program = former


def _installed(commit: str | None, folder: Path) -> Path:
    """Install *commit* (None: the working tree) below *folder*, and return its interpreter."""
    source = folder / "source"
    source.mkdir(parents=True)
    command = f"git archive {commit}" if commit else "git ls-files -z | tar c --null -T -"
    subprocess.run(f"{command} | tar x -C {source}", shell=True, cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    interpreter = folder / "venv" / "bin" / "python"
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", source], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([interpreter, "-m", "compileall", "-q", folder / "venv" / "lib"], check=False)
    return interpreter


def main(commit: str, chosen: list[str]) -> None:
    """Print the table."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="fairq-against-") as scratch:
        installations: dict[str, tuple[Path, dict[str, Case]]] = {}
        for name, version in ((commit, commit), ("now", None)):
            folder = Path(scratch) / name
            interpreter = _installed(version, folder)
            named_cases: dict[str, Case] = {}
            with _measuring(interpreter):
                for group in chosen or GROUPS:
                    named_cases |= GROUPS[group](inside(folder, group))
            installations[name] = interpreter, named_cases
        print(f"| case | {commit}, CPU s | now | ratio | {commit}, MB | now | ratio |")
        print("|" + 7 * " --- |", flush=True)
        for case in installations["now"][1]:
            costs: dict[str, list[Cost]] = {name: [] for name in installations}
            for _ in range(ROUNDS):
                for name, (interpreter, named_cases) in installations.items():
                    with _measuring(interpreter):
                        costs[name].append(named_cases[case]())
            then, now = median_cost(costs[commit]), median_cost(costs["now"])
            print(f"| {case} | {then.cpu:.2f} | {now.cpu:.2f} | {now.cpu / then.cpu:.2f} "
                  f"| {then.memory:.0f} | {now.memory:.0f} | {now.memory / then.memory:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
