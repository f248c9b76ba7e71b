"""The nodes of Slurm, by the text of ``scontrol show node``: not every version prints them as JSON.

Source: scontrol(1), "Node state codes" of sinfo(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fairq.common.scontrol import fields
from fairq.launch.interface import Node
from fairq.launch.slurm.commands import call

_OUT_OF_SERVICE = {
    "BLOCKED", "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVAL", "MAINT",
    "NOT_RESPONDING", "REBOOT_ISSUED", "REBOOT_REQUESTED", "UNKNOWN",
}  # fmt: skip
_UNKNOWN_DISK = 1024**3
"""KB of disk of a node that does not tell: 1 TB, so that it is Slurm that decides."""

_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)")


def nodes(partition: str | None, preferred: str | None) -> list[Node]:
    """Return the nodes, or those of *partition*; a job goes to that, to the *preferred* one, or to the first of a node.

    Raises NoAnswerError, RefusedError.
    """
    return list(parsed(call("scontrol", "--oneliner", "show", "node"), partition, preferred))


def parsed(text: str, partition: str | None, preferred: str | None) -> Iterator[Node]:
    """Yield the nodes in the output of scontrol."""
    for line in text.splitlines():
        found = fields(line)
        partitions = [name for name in found.get("Partitions", "").split(",") if name]
        if "NodeName" in found and (partition is None or partition in partitions):
            chosen = next((name for name in (partition, preferred) if name in partitions), None)
            yield _node(found, partitions, chosen or next(iter(partitions), None))


def _node(found: Mapping[str, str], partitions: list[str], partition: str | None) -> Node:
    name = found["NodeName"]
    states = set(found.get("State", "UNKNOWN").replace("*", "+NOT_RESPONDING").split("+"))
    attributes = {"SlurmPartitions": ",".join(partitions)}
    if "ActiveFeatures" in found:
        attributes["SlurmFeatures"] = found["ActiveFeatures"]
    if "Arch" in found:
        attributes["Arch"] = found["Arch"].upper()
    if found.get("OS"):
        attributes["OpSys"] = found["OS"].split()[0].upper()
    return Node(
        name=f"slot1@{name}",
        machine=name,
        cpus=max(1, _number(found, "CPUEfctv") or _number(found, "CPUTot")),
        memory=max(0, _number(found, "RealMemory") - _number(found, "MemSpecLimit")),
        disk=_number(found, "TmpDisk") * 1024 or _UNKNOWN_DISK,
        gpus=sum(map(int, _GPUS.findall(found.get("Gres", "")))),
        place={"EngineNode": name, **({} if partition is None else {"EnginePartition": partition})},
        attributes=attributes,
        problem=_problem(states, found.get("Reason", ""), partition),
    )


def _problem(states: set[str], reason: str, partition: str | None) -> str:
    broken = sorted(states & _OUT_OF_SERVICE)
    if broken:
        return f"{' and '.join(broken)} in Slurm" + (f": {reason}" if reason else "")
    return "" if partition is not None else "it is in no partition of Slurm"


def _number(found: Mapping[str, str], name: str) -> int:
    digits = re.match(r"\d{1,15}", found.get(name, ""))
    return int(digits[0]) if digits else 0
