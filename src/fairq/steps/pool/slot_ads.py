"""The ads of fairq's own slots, in the form of a startd's static and partitionable slots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from fairq.common.expression_form import as_expression, without_attributes
from fairq.common.hardware import Machine
from fairq.common.quantities import counted
from fairq.common.records import Ad
from fairq.errors.base import ExpressionError
from fairq.errors.pool import InvalidSlotError
from fairq.formats.submitfile.rules import value_of

__all__ = ["Platform", "Shape", "machine_slots", "over", "parse_attribute", "slot_ad"]

WITHIN = (
    "(TARGET.RequestCpus is undefined || TARGET.RequestCpus <= MY.Cpus) && "
    "(TARGET.RequestMemory is undefined || TARGET.RequestMemory <= MY.Memory) && "
    "(TARGET.RequestDisk is undefined || TARGET.RequestDisk <= MY.Disk)"
)
"""A slot accepts no job that requests more than it has; a missing request always fits."""

PROBLEM = "EngineProblem"
"""The attribute that says why a node takes no jobs; sync drains a slot that has it, and only such a slot takes jobs
again by itself."""

_WITHIN_GPUS = " && (TARGET.RequestGPUs is undefined || TARGET.RequestGPUs <= MY.GPUs)"
_NAME = re.compile(r"[A-Za-z_]\w*")


class Shape(Struct, frozen=True):
    """The resources of one slot: *cpus*, *memory* in MB, *disk* in KB, and the number of *gpus* (None: not given)."""

    cpus: int
    memory: int
    disk: int
    gpus: int | None = None


class Platform(Struct, frozen=True):
    """Common properties of all slots of a machine: HTCondor's names, and further attributes."""

    machine: str
    arch: str
    system: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


def slot_ad(name: str, number: int, shape: Shape, platform: Platform, now: int, *, partitionable: bool = False) -> Ad:
    """Return the ad of slot *number* of a machine, unclaimed since *now* (seconds since 1970).

    It has no SlotWeight of its own, so that negotiator.slot_weight counts.
    """
    ad: Ad = {
        "MyType": "Machine",
        "TargetType": "Job",
        "Name": name,
        "Machine": platform.machine,
        "SlotID": number,
        **(_partitionable(shape) if partitionable else {"SlotType": "Static"}),
        "Arch": platform.arch,
        "OpSys": platform.system,
        "Cpus": shape.cpus,
        "Memory": shape.memory,
        "Disk": shape.disk,
    }
    if shape.gpus is not None:
        ad["GPUs"] = shape.gpus
    ad |= {
        "TotalSlotCpus": shape.cpus,
        "TotalSlotMemory": shape.memory,
        "TotalSlotDisk": shape.disk,
        "Start": True,
        "WithinResourceLimits": as_expression(WITHIN + (_WITHIN_GPUS if shape.gpus is not None else "")),
        "Requirements": as_expression("START && (WithinResourceLimits)"),
        "Rank": 0.0,
        "CurrentRank": 0.0,
        "State": "Unclaimed",
        "Activity": "Idle",
        "EnteredCurrentState": now,
        "EnteredCurrentActivity": now,
    }
    return over(ad, platform.attributes)


def _partitionable(shape: Shape) -> Ad:
    resources = "Cpus Memory Disk Swap" + (" GPUs" if shape.gpus is not None else "")
    return {
        "SlotType": "Partitionable",
        "SlotTypeID": 1,
        "PartitionableSlot": True,
        "NumDynamicSlots": 0,
        "MachineResources": resources,
    }


def machine_slots(machine: Machine, count: int, now: int, *, partitionable: bool = False) -> list[Ad]:
    """Return the ads of *count* slots that divide *machine* evenly; the first ones get the remainder.

    They are static, unless *partitionable*.

    Raises InvalidSlotError if there are more slots than cores.
    """
    if not 1 <= count <= machine.cpus:
        raise InvalidSlotError(
            name=f"of {machine.name}",
            problem=f"{counted(count, 'slot')} cannot share {counted(machine.cpus, 'core')}",
            cure="give 1" if machine.cpus == 1 else f"give 1 to {machine.cpus}",
        )
    totals: Ad = {
        "TotalCpus": machine.cpus,
        "TotalMemory": machine.memory,
        "TotalDisk": machine.disk,
        "TotalSlots": count,
        "LoadAvg": machine.load,
        "TotalLoadAvg": machine.load,
        **machine.attributes,
    }
    if machine.gpus:
        totals["TotalGPUs"] = len(machine.gpus)
    ads = []
    for number in range(1, count + 1):
        gpus = machine.gpus[number - 1 :: count]
        shape = Shape(
            cpus=_share(machine.cpus, count, number),
            memory=machine.memory // count,
            disk=machine.disk // count,
            gpus=len(gpus) if machine.gpus else None,
        )
        attributes = dict(totals)
        if gpus:
            attributes["AssignedGPUs"] = ",".join(gpu.name for gpu in gpus)
            attributes["AvailableGPUs"] = [as_expression(f"GPUs_{gpu.name.replace('-', '_')}") for gpu in gpus]
            for gpu in gpus:
                attributes[f"GPUs_{gpu.name.replace('-', '_')}"] = {"Id": gpu.name, **gpu.properties}
        platform = Platform(machine.name, machine.arch, machine.system, attributes)
        ads.append(slot_ad(f"slot{number}@{machine.name}", number, shape, platform, now, partitionable=partitionable))
    return ads


def _share(total: int, count: int, number: int) -> int:
    return total // count + (number <= total % count)


def over(ad: Ad, attributes: Mapping[str, Any]) -> Ad:
    """Return *ad* with *attributes*, which replace those of the same name in any letter case."""
    names = {name.lower() for name in attributes}
    return without_attributes(ad, names) | dict(attributes)


def parse_attribute(text: str, slot: str) -> tuple[str, Any]:
    """Return name and value of ``Name=Expression``; raises InvalidSlotError for invalid text."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise InvalidSlotError(name=slot, problem=f"{text!r} is not an attribute", cure="give Name=Expression")
    try:
        return name, value_of(value)
    except ExpressionError:
        raise InvalidSlotError(
            name=slot,
            problem=f"the value of {name} is not a ClassAd expression: {value}",
            cure='a text needs double quotes, as Site="CERN"',
        ) from None
