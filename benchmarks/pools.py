"""Pools for benchmarks, drawn from a fixed seed, as dumps for ``fairq import``.

A name is KIND SLOTS-JOBS-SUBMITTERS SUFFIX, as ``a1000-1000-10`` or ``b10000-10000-100n``.

Kinds:
    a   equal slots (1 core, Memory 2048), jobs of 3 shapes (RequestMemory 512, 1024, 1536)
    b   every slot has its own Memory and Disk, jobs of 200 shapes drawn at random
    c   as b, with jobs of 100 shapes

Suffixes:
    n   NEGOTIATOR_CONSIDER_PREEMPTION = False
    x   a submitter's jobs are queued in random order of shape; otherwise shape by shape
    g   10 accounting groups with a quota of a tenth of the slots each, accepting surplus

The pools a and b are those on which the real negotiator was timed (``real_negotiator.json``): the same seed
and the same draws in the same order. Real priorities are log-uniform from 1 to 100, all factors are 1.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path
from typing import Any

SEED = 20261120
NOW = 1_795_210_080
GROUPS = 10
SHAPES = {"a": 3, "b": 200, "c": 100}

NAME = re.compile(r"([abc])(\d+)-(\d+)-(\d+)([ngx]?)")

Ad = dict[str, Any]
Shape = tuple[int, int]
"""RequestMemory in MB, RequestDisk in KB."""

SLOT: Ad = {
    "MyType": "Machine",
    "State": "Unclaimed",
    "Activity": "Idle",
    "EnteredCurrentState": NOW - 86400,
    "Start": True,
    "Requirements": "/Expr(Start && WithinResourceLimits)/",
    "WithinResourceLimits": "/Expr(MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && MY.Memory > 0 && "
    "TARGET.RequestMemory <= MY.Memory && MY.Disk > 0 && TARGET.RequestDisk <= MY.Disk)/",
    "Rank": 0.0,
    "CurrentRank": 0.0,
    "SlotID": 1,
    "Cpus": 1,
    "Memory": 2048,
    "Disk": 10_000_000,
    "Arch": "X86_64",
    "OpSys": "LINUX",
    "FileSystemDomain": "test",
    "UidDomain": "test",
    "HasFileTransfer": True,
    "KFlops": 1000,
    "Mips": 1000,
    "CondorVersion": "$CondorVersion: 25.14.0 2026-08-21 $",
}
JOB: Ad = {
    "JobPrio": 0,
    "QDate": NOW - 1,
    "Rank": 0.0,
    "RequestCpus": 1,
    "Requirements": '/Expr((TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && '
    '(versionGE(split(TARGET.CondorVersion)[1],"25.12.0") || (TARGET.Disk >= RequestDisk)) && '
    "(TARGET.Memory >= RequestMemory) && (TARGET.FileSystemDomain == MY.FileSystemDomain))/",
    "JobStatus": 1,
    "FileSystemDomain": "test",
}


@dataclass(frozen=True)
class Submitter:
    """A submitter: its *group* (None: none), its real priority, and the shapes of its jobs in their order."""

    owner: str
    group: str | None
    priority: float
    jobs: list[Shape]

    @property
    def accounting_group(self) -> str:
        return f"{self.group}.{self.owner}" if self.group else self.owner


@dataclass(frozen=True)
class Pool:
    """A pool as drawn: (Memory, Disk) of each slot, and the submitters."""

    name: str
    slots: list[Shape]
    submitters: list[Submitter]
    config: dict[str, str]

    def slot_ads(self) -> Iterator[Ad]:
        for number, (memory, disk) in enumerate(self.slots):
            machine = f"n{number:06d}"
            address = f"<127.0.{number // 60000}.1:{number % 60000 + 1024}>"
            own = {"Name": f"slot1@{machine}", "Machine": machine, "MyAddress": address}
            yield {**own, **SLOT, "Memory": memory, "Disk": disk}

    def job_ads(self) -> Iterator[Ad]:
        """Yield a cluster for every run of equal shapes of a submitter."""
        clusters = count(1)
        for submitter in self.submitters:
            for (memory, disk), run in groupby(submitter.jobs):
                shared = {
                    **JOB,
                    "ClusterId": next(clusters),
                    "Owner": submitter.owner,
                    "User": f"{submitter.owner}@test",
                    "AccountingGroup": submitter.accounting_group,
                    "RequestMemory": memory,
                    "RequestDisk": disk,
                }
                for proc, _ in enumerate(run):
                    yield {**shared, "ProcId": proc}

    def accounting_ads(self) -> Iterator[Ad]:
        for submitter in self.submitters:
            name = f"{submitter.accounting_group}@test"
            yield {"Name": name, "Priority": submitter.priority, "PriorityFactor": 1.0}

    def write(self, folder: Path) -> None:
        """Write the pool's settings and dumps into *folder*."""
        lines = [f"{macro} = {value}\n" for macro, value in self.config.items()]
        (folder / "pool.conf").write_text("".join(lines), encoding="utf-8")
        write_ads(folder / "slots.json", self.slot_ads())
        write_ads(folder / "jobs.json", self.job_ads())
        write_ads(folder / "accounting.json", self.accounting_ads())


def make(name: str) -> Pool:
    """Return the pool *name*; raises ValueError if it is not a name of a pool."""
    parts = NAME.fullmatch(name)
    if parts is None:
        raise ValueError(f"{name} is not a pool; names are like a1000-1000-10, b10000-10000-100n")
    kind, suffix = parts[1], parts[5]
    slots, jobs, submitters = int(parts[2]), int(parts[3]), int(parts[4])
    # The suffix does not change the draws.
    draw = random.Random(f"{SEED}/{kind}/{slots}/{jobs}/{submitters}")
    memories, disks = list(range(slots)), list(range(slots))
    draw.shuffle(memories)
    draw.shuffle(disks)
    if kind == "a":
        machines = [(SLOT["Memory"], SLOT["Disk"])] * slots
        shapes = [(512, 1000), (1024, 1000), (1536, 1000)]
    else:
        machines = [(1024 + m, 1_000_000 + 10 * d) for m, d in zip(memories, disks, strict=True)]
        shapes = _distinct_shapes(draw, slots, SHAPES[kind])
    order = {shape: number for number, shape in enumerate(shapes)}
    people = []
    for number in range(submitters):
        drawn = [draw.choice(shapes) for _ in range(jobs // submitters + (number < jobs % submitters))]
        if suffix != "x":
            drawn.sort(key=order.__getitem__)
        group = f"g{number % GROUPS}" if suffix == "g" else None
        people.append(Submitter(f"u{number:03d}", group, round(100 ** draw.random(), 3), drawn))
    return Pool(name, machines, people, _config(suffix, slots))


def _distinct_shapes(draw: random.Random, slots: int, number: int) -> list[Shape]:
    shapes: dict[Shape, None] = {}
    while len(shapes) < number:
        shapes[draw.randrange(64, 1024 + slots // 2), draw.randrange(1000, 1_000_000 + 5 * slots)] = None
    return list(shapes)


def _config(suffix: str, slots: int) -> dict[str, str]:
    config = {"UID_DOMAIN": "test", "PRIORITY_HALFLIFE": "1e30"}
    if suffix == "n":
        config["NEGOTIATOR_CONSIDER_PREEMPTION"] = "False"
    if suffix == "g":
        config["GROUP_NAMES"] = ", ".join(f"g{number}" for number in range(GROUPS))
        config["GROUP_ACCEPT_SURPLUS"] = "True"
        config |= {f"GROUP_QUOTA_g{number}": str(slots // GROUPS) for number in range(GROUPS)}
    return config


def write_ads(path: Path, ads: Iterable[Ad]) -> None:
    """Write *ads* as ``-json`` prints them."""
    with path.open("w", encoding="utf-8") as stream:
        separator = "[\n"
        for ad in ads:
            stream.write(separator + json.dumps(ad))
            separator = ",\n"
        stream.write("\n]\n")
