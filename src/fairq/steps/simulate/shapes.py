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
        found = _SHAPE.fullmatch(part.strip().removeprefix("+"))
        if found is None or int(found[1]) < 1:
            raise InvalidChangeError(option=option, value=text, problem=f"{part!r} is not a size", cure=_EXPECTED)
        memory = int(found[3]) * (1024 if found[4].lower() == "g" else 1 << 20) if found[3] else None
        if found[2] is None:
            machines.append(Machines(int(found[1])))
        else:
            machines.append(Machines(int(found[1]), int(found[2]), memory, True, int(found[5] or 0)))
    if sum(one.count * one.cpus for one in machines) > MOST or any(not one.cpus for one in machines):
        raise InvalidChangeError(
            option=option, value=text, problem="the size is out of range", cure=f"give 1 to {MOST} cores"
        )
    return machines


def larger(machines: Sequence[Machines], cpus: int, memory: int, gpus: int) -> str:
    """Describe machines like the largest of *machines*, but with room for *cpus*, *memory* (MB) and *gpus*.

    The text is empty if no machine can be described as large.
    """
    one = max(machines, key=lambda one: (one.cpus, one.memory or AMPLE))
    if one.cpus == 1 < cpus:
        one = Machines(1, one.count, one.memory and one.memory * one.count)
    room = f"{-(-max(one.memory, memory) // 1024)}g" if one.memory and one.memory < AMPLE else ""
    text = f"{one.count}x{max(one.cpus, cpus)}c{room}{f'{most}gpu' if (most := max(one.gpus, gpus)) else ''}"
    return text if _SHAPE.fullmatch(text) and one.count * max(one.cpus, cpus) <= MOST else ""


def slot_ads(machines: Iterable[Machines], now: int, prefix: str = "sim") -> list[Ad]:
    """Return the ads of the slots of *machines*, unclaimed since *now*; *prefix* keeps their names unique."""
    ads: list[Ad] = []
    for kind, one in enumerate(machines, 1):
        shape = Shape(one.cpus, one.memory or AMPLE, AMPLE, one.gpus or None)
        for number in range(1, one.count + 1):
            name = f"{prefix}{kind}-{number}"
            attributes: Ad = {"TotalCpus": one.cpus, "TotalMemory": shape.memory}
            platform = Platform(name, "X86_64", "LINUX", attributes)
            ads.append(slot_ad(f"slot1@{name}", 1, shape, platform, now, partitionable=one.partitionable))
    return ads
