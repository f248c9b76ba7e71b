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
"""KB of disk of a node that reports none: 1 TB, so that Slurm decides."""

_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)")


def nodes(partition: str | None, preferred: str | None) -> list[Node]:
    """Return the nodes, or those of *partition*.

    A job goes to *partition*, else to the *preferred* one, else to the node's first.

    Raises NoAnswerError, RefusedError.
    """
    return list(parsed(call("scontrol", "--oneliner", "show", "node"), partition, preferred))


def parsed(text: str, partition: str | None, preferred: str | None) -> Iterator[Node]:
    """Yield the nodes in the output of scontrol."""
    for line in text.splitlines():
        values = fields(line)
        partitions = [name for name in values.get("Partitions", "").split(",") if name]
        if "NodeName" in values and (partition is None or partition in partitions):
            chosen = next((name for name in (partition, preferred) if name in partitions), None)
            yield _node(values, partitions, chosen or next(iter(partitions), None))


def _node(values: Mapping[str, str], partitions: list[str], partition: str | None) -> Node:
    name = values["NodeName"]
    states = set(values.get("State", "UNKNOWN").replace("*", "+NOT_RESPONDING").split("+"))
    attributes = {"SlurmPartitions": ",".join(partitions)}
    if "ActiveFeatures" in values:
        attributes["SlurmFeatures"] = values["ActiveFeatures"]
    if "Arch" in values:
        attributes["Arch"] = values["Arch"].upper()
    if values.get("OS"):
        attributes["OpSys"] = values["OS"].split()[0].upper()
    return Node(
        name=f"slot1@{name}",
        machine=name,
        cpus=max(1, _number(values, "CPUEfctv") or _number(values, "CPUTot")),
        memory=max(0, _number(values, "RealMemory") - _number(values, "MemSpecLimit")),
        disk=_number(values, "TmpDisk") * 1024 or _UNKNOWN_DISK,
        gpus=sum(map(int, _GPUS.findall(values.get("Gres", "")))),
        place={"EngineNode": name, **({} if partition is None else {"EnginePartition": partition})},
        attributes=attributes,
        problem=_problem(states, values.get("Reason", ""), partition),
    )


def _problem(states: set[str], reason: str, partition: str | None) -> str:
    bad_states = sorted(states & _OUT_OF_SERVICE)
    if bad_states:
        return f"{' and '.join(bad_states)} in Slurm" + (f": {reason}" if reason else "")
    return "" if partition is not None else "it is in no partition of Slurm"


def _number(values: Mapping[str, str], name: str) -> int:
    digits = re.match(r"\d{1,15}", values.get(name, ""))
    return int(digits[0]) if digits else 0
