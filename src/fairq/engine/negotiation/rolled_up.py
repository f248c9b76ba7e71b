"""The dynamic slots that a partitionable slot's own ad lists, in Child attributes (docs/htcondor.md 3.14).

A startd lists them as ChildName, ChildState, ChildCurrentRank, ChildCpus and others: one value for each dynamic slot.
Today's negotiator reads these lists (matchmaker.cpp, pslotMultiMatch, dslotLookup).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.snapshot import PoolSlots

_ROLLED_UP = parse("DynamicSlot && PslotRollupInformation")
_RESOURCES = ("cpus", "memory", "disk")
"""Resources of a slot without MachineResources."""


class Child(Struct, frozen=True):
    """A dynamic slot that may be preempted for its partitionable slot.

    Args:
        row: its index in the pool.
        current_rank: the Rank of its running job, as listed.
        amounts: what it returns of each resource, by lower-case name.
    """

    row: int
    current_rank: float
    amounts: Mapping[str, float]


def rolled_up(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_] | None:
    """The dynamic slots that are preempted through their partitionable slots, never by themselves.

    None: there are none, as under ``carve``.
    """
    if not policy.allow_pslot_preemption or policy.partitionable_slots == "carve":
        return None
    if "pslotrollupinformation" not in slots.names():
        return None
    found = evaluate_in_columns(_ROLLED_UP, slots, {}).is_true()
    return found if found.any() else None


def children(pool: PoolSlots, preemptable: NDArray[np.bool_]) -> dict[int, list[Child]]:
    """Per partitionable slot, its *preemptable* dynamic slots in the order of its lists.

    One that is being preempted, or whose job has retirement time left, is left out. Those that fairq made itself are in
    no list: their own ads have the same.
    """
    ads = pool.ads
    partitionable = np.flatnonzero(evaluate_in_columns("PartitionableSlot", ads, {}).is_true()).tolist()
    rows = {pool.names[row]: row for row in np.flatnonzero(preemptable).tolist()}
    own: dict[int, list[int]] = {}
    for row, made in sorted(pool.carved.items()):
        if preemptable[row]:
            own.setdefault(made.parent, []).append(row)
    found: dict[int, list[Child]] = {}
    for parent in partitionable:
        names = _listed(ads, parent, "name")
        resources = resources_of(ads, parent)
        if names and len(names) == ads.value(parent, "NumDynamicSlots"):
            lists = {
                name: _listed(ads, parent, name)
                for name in ("state", "currentrank", "retirementtimeremaining", *resources)
            }
            listed = [
                _child(rows[name], {key: values[place] for key, values in lists.items() if place < len(values)})
                for place, name in enumerate(names)
                if name in rows
            ]
        elif not ads.has("ChildName")[parent]:
            keys = ("state", "currentrank", "retirementtimeremaining", *resources)
            listed = [_child(row, {key: ads.value(row, key) for key in keys}) for row in own.get(parent, ())]
        else:
            continue
        if some := [child for child in listed if child is not None]:
            found[parent] = some
    return found


def resources_of(ads: AdColumns, row: int) -> tuple[str, ...]:
    """The lower-case names of the resources that a partitionable slot shares among its dynamic slots."""
    listed = ads.value(row, "MachineResources")
    return tuple(listed.lower().split()) if isinstance(listed, str) else _RESOURCES


def _child(row: int, told: Mapping[str, Any]) -> Child | None:
    if told.get("state") == "Preempting" or int(_number(told.get("retirementtimeremaining"))) > 0:
        return None
    of_job = {"state", "currentrank", "retirementtimeremaining"}
    amounts = {name: value for name, value in told.items() if name not in of_job and type(value) in (int, float)}
    return Child(row, _number(told.get("currentrank")), amounts)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _listed(ads: AdColumns, row: int, name: str) -> Sequence[Any]:
    value = ads.json_value(row, f"child{name}")
    return value if isinstance(value, list) else ()
