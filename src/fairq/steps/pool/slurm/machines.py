"""The nodes of Slurm as partitionable slots, and the parts of them that jobs have as dynamic slots."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from fairq.common.expression_form import as_expression
from fairq.common.records import Ad
from fairq.common.scontrol import fields
from fairq.errors.pool import InvalidDumpError
from fairq.formats.slurm.text import Resources, duration, lines, missing_field, resources
from fairq.formats.source import Held
from fairq.launch.interface import Node
from fairq.launch.slurm.nodes import parsed
from fairq.steps.pool.slot_ads import PROBLEM, Platform, Shape, slot_ad

_NEEDED = {"CPUTot": "the cores of the slot", "RealMemory": "its memory", "State": "whether it takes jobs"}
_PER = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}
_WEIGHT = re.compile(r"(?i)(cpu|mem|gres/gpu)=(\d{1,9}(?:\.\d{1,9})?)([KMGT]?)", re.ASCII)


class Partition(Struct, frozen=True):
    """A partition: whether it is *up*, its usual limit of a run time in seconds, and its billing weights as text."""

    is_up: bool
    limit: int | None
    weights: str


class Machine(Struct, frozen=True):
    """A *node* and what is *used* of it."""

    node: Node
    used: Resources


class Part(Struct, frozen=True):
    """The part of a node that a job has: the *job* as ``cluster.proc``, its submitter, and since when it runs."""

    job: str
    submitter: str
    start: int
    amount: Resources


def read_partitions(held: Held) -> dict[str, Partition]:
    """Return the partitions in *held* by name; raises InvalidDumpError."""
    partitions = {}
    for number, line in lines(held):
        values = fields(line)
        if "PartitionName" not in values:
            raise missing_field(held.name, f"line {number}", "PartitionName", "the partition of jobs")
        limit = duration(values.get("DefaultTime", "")) or duration(values.get("MaxTime", ""))
        is_up = values.get("State", "UP") == "UP"
        partitions[values["PartitionName"]] = Partition(is_up, limit, values.get("TRESBillingWeights", ""))
    return partitions


def read_machines(held: Held) -> dict[str, Machine]:
    """Return the nodes in *held* by name; raises InvalidDumpError."""
    machines: dict[str, Machine] = {}
    for number, line in lines(held):
        values = fields(line)
        where = f"line {number}"
        if "NodeName" not in values:
            raise missing_field(held.name, where, "NodeName", "the name of the slot")
        for name, purpose in _NEEDED.items():
            if name not in values:
                raise missing_field(held.name, where, name, purpose)
        (node,) = parsed(line, None, None)
        if node.machine in machines:
            problem = f"duplicate node {node.machine}"
            raise InvalidDumpError(source=held.name, where=where, problem=problem, cure="remove one")
        if not re.fullmatch(r"[\w.-]+", node.machine):
            problem = f"NodeName is {node.machine[:40]!r}"
            raise InvalidDumpError(source=held.name, where=where, problem=problem, cure="give the name of a node")
        used = resources(values.get("AllocTRES", ""))
        cpus = values.get("CPUAlloc", "")
        if re.fullmatch(r"\d{1,9}", cpus, re.ASCII):
            used = Resources(int(cpus), used.memory, used.gpus)
        machines[node.machine] = Machine(node, used)
    return machines


def slot_ads(
    machines: Mapping[str, Machine],
    parts: Mapping[str, list[Part]],
    partitions: Mapping[str, Partition],
    domain: str,
    now: int,
    *,
    takes_most: bool,
) -> Iterator[Ad]:
    """Yield the ads of the slots: what is left of each node, then the part of each of its jobs.

    *takes_most*: the weight of a slot is the largest of its resources' weights, not their sum (MAX_TRES).
    """
    for name, machine in machines.items():
        node = machine.node
        weights = partitions[node.place["EnginePartition"]].weights if _is_known(node, partitions) else ""
        weight = _slot_weight(weights, takes_most, node.gpus > 0)
        attributes = {**node.attributes, **node.place, **({"SlotWeight": as_expression(weight)} if weight else {})}
        if node.problem:
            attributes[PROBLEM] = node.problem
        platform = Platform(
            name, str(attributes.pop("Arch", "X86_64")), str(attributes.pop("OpSys", "LINUX")), attributes
        )
        whole = Resources(node.cpus, node.memory, node.gpus)
        rest = slot_ad(node.name, 1, _shape(node, _less(whole, machine.used)), platform, now, partitionable=True)
        rest |= {
            "TotalSlotCpus": node.cpus,
            "TotalSlotMemory": node.memory,
            "NumDynamicSlots": len(parts.get(name, ())),
        }
        yield {**rest, "Draining": True} if node.problem else rest
        for number, part in enumerate(parts.get(name, ()), 1):
            own = slot_ad(f"slot1_{number}@{name}", 1, _shape(node, part.amount), platform, now)
            user = f"{part.submitter}@{domain}"
            yield own | {
                "SlotType": "Dynamic",
                "DynamicSlot": True,
                "DSlotId": number,
                "State": "Claimed",
                "Activity": "Busy",
                "JobId": part.job,
                "JobStart": part.start,
                "EnteredCurrentState": part.start,
                "EnteredCurrentActivity": part.start,
                "AccountingGroup": part.submitter,
                "RemoteUser": user,
                "RemoteOwner": user,
            }


def _is_known(node: Node, partitions: Mapping[str, Partition]) -> bool:
    return node.place.get("EnginePartition") in partitions


def _shape(node: Node, amount: Resources) -> Shape:
    return Shape(amount.cpus, amount.memory, node.disk, amount.gpus if node.gpus else None)


def _less(whole: Resources, used: Resources) -> Resources:
    return Resources(max(0, whole.cpus - used.cpus), max(0, whole.memory - used.memory), max(0, whole.gpus - used.gpus))


def _slot_weight(weights: str, takes_most: bool, has_gpus: bool) -> str:
    """Return the slot weight for a partition's TRESBillingWeights; empty where it has none."""
    terms = []
    for name, value, unit in _WEIGHT.findall(weights):
        weight = float(value) / _PER[unit.upper()]
        attribute = {"cpu": "Cpus", "mem": "Memory", "gres/gpu": "GPUs"}[name.lower()]
        if weight and (attribute != "GPUs" or has_gpus):
            terms.append(f"{attribute} * {weight!r}")
    if takes_most and len(terms) > 1:
        return f"max({{{', '.join(terms)}}})"
    return " + ".join(terms)
