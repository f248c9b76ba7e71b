"""The slots of an HTCondor pool, as the collector describes them, as nodes for fairq."""

from __future__ import annotations

from typing import Any

from fairq.launch.htcondor.ads import Ad
from fairq.launch.htcondor.description import PLACE
from fairq.launch.interface import Node

_READ = (
    "Name", "Machine", "PartitionableSlot", "TotalSlotCpus", "TotalSlotMemory", "TotalSlotDisk", "TotalSlotGPUs",
    "Cpus", "Memory", "Disk", "GPUs", "State", "Offline", "Draining", "DrainReason",
)  # fmt: skip
_KEPT = ("Arch", "OpSys", "OpSysAndVer", "OpSysMajorVer", "Mips", "KFlops", "SlotWeight", "Microarch", "CUDACapability")
PROJECTION = (*_READ, *_KEPT)
"""The attributes that this module reads."""


def node(ad: Ad) -> Node:
    """Return the node of a slot's ad, with the slot's total resources."""
    return Node(
        name=str(ad["Name"]),
        machine=str(ad["Machine"]),
        cpus=int(_total(ad, "Cpus")),
        memory=int(_total(ad, "Memory")),
        disk=int(_total(ad, "Disk")),
        gpus=int(_total(ad, "GPUs")),
        partitionable=ad.get("PartitionableSlot") is True,
        place={PLACE: str(ad["Name"])},
        attributes={name: ad[name] for name in _KEPT if isinstance(ad.get(name), str | int | float)},
        problem=_problem(ad),
    )


def _total(ad: Ad, resource: str) -> Any:
    """Return the total of a resource; ``Cpus`` and others alone are the free part of a partitionable slot."""
    return ad.get(f"TotalSlot{resource}") or ad.get(resource) or 0


def _problem(ad: Ad) -> str:
    """Return why a slot takes no jobs of fairq; empty if it takes some."""
    if ad.get("Offline") is True:
        return "HTCondor has it offline"
    if ad.get("Draining") is True or ad.get("State") == "Drained":
        reason = ad.get("DrainReason")
        return f"HTCondor drains it: {reason}" if reason else "HTCondor drains it"
    if ad.get("State") == "Owner":
        return "HTCondor leaves it to its owner"
    return ""
