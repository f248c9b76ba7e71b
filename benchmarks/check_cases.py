"""The cases of `check`: each prepares its input once, and can then be run repeatedly."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks import broker, pools, task_queues
from benchmarks.measure import Cost, fairq

POOLS = ("a5000-5000-50", "b5000-5000-50", "c5000-20000-10", "b2000-20000-100")
RULES = ("documented", "htcondor")

_LARGE = "c10000-20000-10"
_CHANGES = 20
_PARTITIONABLE, _CORES = "c300-6000-20x", 16
_TASKS, _BROKER_QUEUES = 300, 200
_TASK_QUEUES = 5_000
_AT = ("--now", pools.NOW)

Case = Callable[[], Cost]
"""Runs a command once, and returns its cost."""


def cases(folder: Path) -> dict[str, Case]:
    """Return all cases by name; their files are in *folder*."""
    named_cases: dict[str, Case] = {"--help": lambda: fairq(folder, "--help")}
    for pool in POOLS:
        named_cases |= _pool_cases(pool, inside(folder, pool))
    named_cases |= _cases_in_use(inside(folder, _LARGE)) | _partitionable_cases(inside(folder, _PARTITIONABLE))
    return named_cases | _broker_case(inside(folder, "broker")) | _pilot_case(inside(folder, "pilot"))


def inside(folder: Path, name: str) -> Path:
    """Create the folder *name* in *folder*, and return it."""
    (folder / name).mkdir()
    return folder / name


def _pool_cases(name: str, folder: Path) -> dict[str, Case]:
    """Return the import of a pool, and its first cycle under both rules."""
    pools.make(name).write(folder)
    fresh, state = folder / "imported.db", folder / "state.db"

    def imported() -> Cost:
        fresh.unlink(missing_ok=True)
        return fairq(folder, "--state", fresh, "import", *dumps(folder), *_AT)

    def negotiated(rules: str) -> Cost:
        shutil.copy(fresh, state)
        _settings(state, rules)
        return fairq(folder, "--state", state, "negotiate", *_AT, "--json")

    named_cases: dict[str, Case] = {f"import {name}": imported}
    for rules in RULES:
        named_cases[f"negotiate {name} {rules}"] = lambda rules=rules: negotiated(rules)
    return named_cases


def _cases_in_use(folder: Path) -> dict[str, Case]:
    """Return cases on a large state in use: a cycle after few changes, a first screenful, an import of its slots."""
    pools.make(_LARGE).write(folder)
    used, state, slots = folder / "used.db", folder / "state.db", folder / "slots.db"
    _settings(used, "htcondor")
    fairq(folder, "--state", used, "import", *dumps(folder), *_AT)
    fairq(folder, "--state", used, "negotiate", *_AT, "--json", output=folder / "cycle.json")
    later = ("--now", pools.NOW + 60)
    matches = json.loads((folder / "cycle.json").read_text(encoding="utf-8"))["matches"]
    ended = [match["job"] for match in matches[:_CHANGES]]
    fairq(folder, "--state", used, "finish", *ended, "--at", pools.NOW + 30)
    fairq(folder, "--state", used, "submit", "--count", _CHANGES, *later, "--", "/bin/true")

    def next_cycle(rules: str | None) -> Cost:
        shutil.copy(used, state)
        if rules is None:
            Path(f"{state}.toml").unlink(missing_ok=True)
        else:
            _settings(state, rules)
        return fairq(folder, "--state", state, "negotiate", *later)

    def import_of_slots() -> Cost:
        slots.unlink(missing_ok=True)
        return fairq(folder, "--state", slots, "import", "--slots", folder / "slots.json", *_AT)

    return {
        f"import {_LARGE} slots": import_of_slots,
        f"negotiate {_LARGE} after {_CHANGES} ends": lambda: next_cycle("htcondor"),
        f"negotiate {_LARGE} after {_CHANGES} ends, default settings": lambda: next_cycle(None),
        f"queue --limit 50 {_LARGE}": lambda: fairq(folder, "--state", used, "queue", "--limit", 50, *later),
        f"userprio {_LARGE}": lambda: fairq(folder, "--state", used, "userprio", *later),
    }


def _partitionable_cases(folder: Path) -> dict[str, Case]:
    """Return two cycles on partitionable slots, with jobs whose kinds take turns: the first, and the next one."""
    pool = pools.make(_PARTITIONABLE)
    pool.write(folder)
    resources = {name: _CORES * pools.SLOT[name] for name in ("Cpus", "Memory", "Disk")}
    changes = {"PartitionableSlot": True, "SlotType": "Partitionable", **resources}
    pools.write_ads(folder / "slots.json", ({**ad, **changes} for ad in pool.slot_ads()))
    fresh, used, state = folder / "imported.db", folder / "used.db", folder / "state.db"
    fairq(folder, "--state", fresh, "import", *dumps(folder), *_AT)
    shutil.copy(fresh, used)
    fairq(folder, "--state", used, "negotiate", *_AT)

    def negotiated(original: Path, seconds: int) -> Cost:
        shutil.copy(original, state)
        return fairq(folder, "--state", state, "negotiate", "--now", pools.NOW + seconds)

    return {
        f"negotiate {_PARTITIONABLE} partitionable": lambda: negotiated(fresh, 0),
        f"negotiate {_PARTITIONABLE} with dynamic slots": lambda: negotiated(used, 60),
    }


def _broker_case(folder: Path) -> dict[str, Case]:
    """Return a dry run of the broker."""
    draw, state = random.Random(1), folder / "state.db"
    sites = (_BROKER_QUEUES + 4) // 5
    for kind, records in (broker.pool(draw, _BROKER_QUEUES) | broker.work(draw, _TASKS, sites)).items():
        file = folder / f"{kind}.json"
        file.write_text(json.dumps(records))
        fairq(folder, "--state", state, "broker", kind, "import", file)
    words = ("--state", state, "broker", "run", "--all", "--dry-run", "--now", broker.NOW)
    return {f"broker run {_TASKS} tasks {_BROKER_QUEUES} queues": lambda: fairq(folder, *words)}


def _pilot_case(folder: Path) -> dict[str, Case]:
    """Return a match of a pilot with many task queues."""
    dump, fresh, state = folder / "dump.json", folder / "imported.db", folder / "state.db"
    dump.write_text(json.dumps(task_queues.dump(task_queues.queues(_TASK_QUEUES))))
    fairq(folder, "--state", fresh, "taskqueues", "import", dump)

    def matched() -> Cost:
        shutil.copy(fresh, state)
        return fairq(folder, "--state", state, "taskqueues", "match", *task_queues.PILOT)

    return {f"taskqueues match {_TASK_QUEUES} queues": matched}


def dumps(folder: Path) -> list[object]:
    """Return the options that import the pool written into *folder*."""
    return [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]


def _settings(state: Path, rules: str) -> None:
    Path(f"{state}.toml").write_text(f'[negotiator]\nrules = "{rules}"\n[accounting]\npriority_halflife = 1e30\n')
