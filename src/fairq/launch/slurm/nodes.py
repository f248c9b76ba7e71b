"""The nodes of Slurm, by the text of ``scontrol show node``: not every version prints them as JSON.

Source: scontrol(1), "Node state codes" of sinfo(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fairq.launch.interface import Node
from fairq.launch.slurm.commands import call

_OUT_OF_SERVICE = {
    "BLOCKED", "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVAL", "MAINT",
    "NOT_RESPONDING", "REBOOT_ISSUED", "REBOOT_REQUESTED", "UNKNOWN",
}  # fmt: skip
_UNKNOWN_DISK = 1024**3
"""KB of disk of a node that does not tell: 1 TB, so that it is Slurm that decides."""

_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)")
_FIELD = re.compile(r"(?:^|\s)([A-Z][\w/:]*)=")


def nodes(partition: str | None, preferred: str | None) -> list[Node]:
    """Return the nodes, or those of *partition*; a job goes to that, to the *preferred* one, or to the first of a node.

    Raises NoAnswerError, RefusedError.
    """
    return list(parsed(call("scontrol", "--oneliner", "show", "node"), partition, preferred))


def parsed(text: str, partition: str | None, preferred: str | None) -> Iterator[Node]:
    """Yield the nodes in the output of scontrol."""
    for line in text.splitlines():
        fields = _fields(line)
        partitions = [name for name in fields.get("Partitions", "").split(",") if name]
        if "NodeName" in fields and (partition is None or partition in partitions):
            chosen = next((name for name in (partition, preferred) if name in partitions), None)
            yield _node(fields, partitions, chosen or next(iter(partitions), None))


def _fields(line: str) -> dict[str, str]:
    """Return the fields of a line; a value goes on to the next name, since some hold blanks."""
    found = list(_FIELD.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    fields = {match[1]: line[match.end() : end].strip() for match, end in zip(found, ends, strict=True)}
    return {name: value for name, value in fields.items() if value not in ("(null)", "N/A")}


def _node(fields: Mapping[str, str], partitions: list[str], partition: str | None) -> Node:
    name = fields["NodeName"]
    states = set(fields.get("State", "UNKNOWN").replace("*", "+NOT_RESPONDING").split("+"))
    attributes = {"SlurmPartitions": ",".join(partitions)}
    if "ActiveFeatures" in fields:
        attributes["SlurmFeatures"] = fields["ActiveFeatures"]
    if "Arch" in fields:
        attributes["Arch"] = fields["Arch"].upper()
    if "OS" in fields:
        attributes["OpSys"] = fields["OS"].split()[0].upper()
    return Node(
        name=f"slot1@{name}",
        machine=name,
        cpus=max(1, _number(fields, "CPUEfctv") or _number(fields, "CPUTot")),
        memory=max(0, _number(fields, "RealMemory") - _number(fields, "MemSpecLimit")),
        disk=_number(fields, "TmpDisk") * 1024 or _UNKNOWN_DISK,
        gpus=sum(map(int, _GPUS.findall(fields.get("Gres", "")))),
        place={"EngineNode": name, **({} if partition is None else {"EnginePartition": partition})},
        attributes=attributes,
        problem=_problem(states, fields.get("Reason", ""), partition),
    )


def _problem(states: set[str], reason: str, partition: str | None) -> str:
    broken = sorted(states & _OUT_OF_SERVICE)
    if broken:
        return f"{' and '.join(broken)} in Slurm" + (f": {reason}" if reason else "")
    return "" if partition is not None else "it is in no partition of Slurm"


def _number(fields: Mapping[str, str], name: str) -> int:
    found = re.match(r"\d+", fields.get(name, ""))
    return int(found[0]) if found else 0
