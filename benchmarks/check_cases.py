"""What `check` measures: each case prepares its input once, and is then run as often as wanted."""

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
"""Runs a command once, and returns what it took."""


def cases(folder: Path) -> dict[str, Case]:
    """Return all cases by name; their files are in *folder*."""
    found: dict[str, Case] = {"--help": lambda: fairq(folder, "--help")}
    for pool in POOLS:
        found |= _of_pool(pool, inside(folder, pool))
    found |= _later(inside(folder, _LARGE)) | _divided(inside(folder, _PARTITIONABLE))
    return found | _broker(inside(folder, "broker")) | _pilot(inside(folder, "pilot"))


def inside(folder: Path, name: str) -> Path:
    """Make the folder *name* in *folder*, and return it."""
    (folder / name).mkdir()
    return folder / name


def _of_pool(name: str, folder: Path) -> dict[str, Case]:
    """Import of a pool, and its first cycle under both rules."""
    pools.make(name).write(folder)
    fresh, state = folder / "imported.db", folder / "state.db"

    def imported() -> Cost:
        fresh.unlink(missing_ok=True)
        return fairq(folder, "--state", fresh, "import", *dumps(folder), *_AT)

    def negotiated(rules: str) -> Cost:
        shutil.copy(fresh, state)
        _settings(state, rules)
        return fairq(folder, "--state", state, "negotiate", *_AT, "--json")

    found: dict[str, Case] = {f"import {name}": imported}
    for rules in RULES:
        found[f"negotiate {name} {rules}"] = lambda rules=rules: negotiated(rules)
    return found


def _later(folder: Path) -> dict[str, Case]:
    """What is done with a large state in use: a cycle after few changes, a first screenful, its slots anew."""
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


def _divided(folder: Path) -> dict[str, Case]:
    """Cycles that divide partitionable slots among jobs of kinds that take turns: the first, and one after it."""
    pool = pools.make(_PARTITIONABLE)
    pool.write(folder)
    many = {name: _CORES * pools.SLOT[name] for name in ("Cpus", "Memory", "Disk")}
    own = {"PartitionableSlot": True, "SlotType": "Partitionable", **many}
    pools.write_ads(folder / "slots.json", ({**ad, **own} for ad in pool.slot_ads()))
    fresh, used, state = folder / "imported.db", folder / "used.db", folder / "state.db"
    fairq(folder, "--state", fresh, "import", *dumps(folder), *_AT)
    shutil.copy(fresh, used)
    fairq(folder, "--state", used, "negotiate", *_AT)

    def negotiated(before: Path, seconds: int) -> Cost:
        shutil.copy(before, state)
        return fairq(folder, "--state", state, "negotiate", "--now", pools.NOW + seconds)

    return {
        f"negotiate {_PARTITIONABLE} partitionable": lambda: negotiated(fresh, 0),
        f"negotiate {_PARTITIONABLE} with dynamic slots": lambda: negotiated(used, 60),
    }


def _broker(folder: Path) -> dict[str, Case]:
    """A dry run of the broker."""
    draw, state = random.Random(1), folder / "state.db"
    sites = (_BROKER_QUEUES + 4) // 5
    for kind, records in (broker.pool(draw, _BROKER_QUEUES) | broker.work(draw, _TASKS, sites)).items():
        file = folder / f"{kind}.json"
        file.write_text(json.dumps(records))
        fairq(folder, "--state", state, "broker", kind, "import", file)
    words = ("--state", state, "broker", "run", "--all", "--dry-run", "--now", broker.NOW)
    return {f"broker run {_TASKS} tasks {_BROKER_QUEUES} queues": lambda: fairq(folder, *words)}


def _pilot(folder: Path) -> dict[str, Case]:
    """A pilot that asks for a job of many task queues."""
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
