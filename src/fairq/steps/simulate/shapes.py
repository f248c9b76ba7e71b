"""Slots of a simulation, as people write them: ``1000``, ``10x64c256g``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fairq.common.records import Ad
from fairq.errors.simulation import InvalidChangeError
from fairq.steps.pool.slot_ads import Platform, Shape, slot_ad

_SHAPE = re.compile(r"(\d{1,7})(?:x(\d{1,7})c(?:(\d{1,7})([gt]))?(?:(\d{1,4})gpus?)?)?", re.IGNORECASE)
AMPLE = 1 << 31
"""Default memory (MB) and disk (KB) of slots: more than any job requests."""

MOST = 10_000_000
_EXPECTED = "give a number of slots with one core, such as 1000, or machines, such as 10x64c256g or 2x64c256g4gpu"


class Machines(Struct, frozen=True):
    """Slots of one shape: *count* partitionable machines of *cpus* cores, *memory* MB and *gpus*, or single cores."""

    count: int
    cpus: int = 1
    memory: int | None = None
    partitionable: bool = False
    gpus: int = 0


def read_machines(text: str, option: str = "--slots") -> list[Machines]:
    """Return the machines that *text* describes, shapes separated by commas; raises InvalidChangeError."""
    machines = []
    for part in text.split(","):
        size = _SHAPE.fullmatch(part.strip().removeprefix("+"))
        if size is None or int(size[1]) < 1:
            raise InvalidChangeError(option=option, value=text, problem=f"{part!r} is not a size", cure=_EXPECTED)
        memory = int(size[3]) * (1024 if size[4].lower() == "g" else 1 << 20) if size[3] else None
        if size[2] is None:
            machines.append(Machines(int(size[1])))
        else:
            machines.append(Machines(int(size[1]), int(size[2]), memory, True, int(size[5] or 0)))
    if sum(machine.count * machine.cpus for machine in machines) > MOST or any(
        not machine.cpus for machine in machines
    ):
        raise InvalidChangeError(
            option=option, value=text, problem="the size is out of range", cure=f"give 1 to {MOST} cores"
        )
    return machines


def larger(machines: Sequence[Machines], cpus: int, memory: int, gpus: int) -> str:
    """Return the text of machines like the largest of *machines*, with at least *cpus*, *memory* (MB) and *gpus*.

    The text is empty if no machine can be described as large.
    """
    base = max(machines, key=lambda shape: (shape.cpus, shape.memory or AMPLE))
    if base.cpus == 1 < cpus:
        base = Machines(1, base.count, base.memory and base.memory * base.count)
    memory_text = f"{-(-max(base.memory, memory) // 1024)}g" if base.memory and base.memory < AMPLE else ""
    text = f"{base.count}x{max(base.cpus, cpus)}c{memory_text}{f'{most}gpu' if (most := max(base.gpus, gpus)) else ''}"
    return text if _SHAPE.fullmatch(text) and base.count * max(base.cpus, cpus) <= MOST else ""


def slot_ads(machines: Iterable[Machines], now: int, prefix: str = "sim") -> list[Ad]:
    """Return the ads of the slots of *machines*, unclaimed since *now*; *prefix* keeps their names unique."""
    ads: list[Ad] = []
    for kind, machine in enumerate(machines, 1):
        shape = Shape(machine.cpus, machine.memory or AMPLE, AMPLE, machine.gpus or None)
        for number in range(1, machine.count + 1):
            name = f"{prefix}{kind}-{number}"
            attributes: Ad = {"TotalCpus": machine.cpus, "TotalMemory": shape.memory}
            platform = Platform(name, "X86_64", "LINUX", attributes)
            ads.append(slot_ad(f"slot1@{name}", 1, shape, platform, now, partitionable=machine.partitionable))
    return ads
