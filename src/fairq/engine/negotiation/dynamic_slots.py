"""Dynamic slots that are preempted to make room on their partitionable slot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.negotiation.free_slots import TakenSlots
from fairq.engine.negotiation.offers import Offers
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.pieces import Carved
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.preemption import PRIO, RANK, RANKS, Preemption, PreemptState

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
    """Return per slot whether it is a dynamic slot that is preempted only through its partitionable slot.

    None if there are none, as under ``carve``.
    """
    if not policy.allow_pslot_preemption or policy.partitionable_slots == "carve":
        return None
    if "pslotrollupinformation" not in slots.names():
        return None
    is_rolled_up = evaluate_in_columns(_ROLLED_UP, slots, {}).is_true()
    return is_rolled_up if is_rolled_up.any() else None


def children(pool: PoolSlots, preemptable: NDArray[np.bool_]) -> dict[int, list[Child]]:
    """Return by partitionable slot its *preemptable* dynamic slots, in the order of its lists.

    A slot that is being preempted, or whose job has retirement time left, is left out. Slots that fairq made itself
    are in no list: their own ads have the same attributes.
    """
    ads = pool.ads
    partitionable = np.flatnonzero(evaluate_in_columns("PartitionableSlot", ads, {}).is_true()).tolist()
    rows = {pool.names[row]: row for row in np.flatnonzero(preemptable).tolist()}
    rows_by_parent: dict[int, list[int]] = {}
    for row, carved in sorted(pool.carved.items()):
        if preemptable[row]:
            rows_by_parent.setdefault(carved.parent, []).append(row)
    children_by_parent: dict[int, list[Child]] = {}
    for parent in partitionable:
        names = _listed(ads, parent, "name")
        resources = resources_of(ads, parent)
        if names and len(names) == ads.value(parent, "NumDynamicSlots"):
            lists = {
                name: _listed(ads, parent, name)
                for name in ("state", "currentrank", "retirementtimeremaining", *resources)
            }
            listed = [
                _child(rows[name], {key: values[index] for key, values in lists.items() if index < len(values)})
                for index, name in enumerate(names)
                if name in rows
            ]
        elif not ads.has("ChildName")[parent]:
            keys = ("state", "currentrank", "retirementtimeremaining", *resources)
            listed = [_child(row, {key: ads.value(row, key) for key in keys}) for row in rows_by_parent.get(parent, ())]
        else:
            continue
        if eligible := [child for child in listed if child is not None]:
            children_by_parent[parent] = eligible
    return children_by_parent


def resources_of(ads: AdColumns, row: int) -> tuple[str, ...]:
    """Return the lower-case names of the resources that a partitionable slot shares among its dynamic slots."""
    listed = ads.value(row, "MachineResources")
    return tuple(listed.lower().split()) if isinstance(listed, str) else _RESOURCES


def _child(row: int, attributes: Mapping[str, Any]) -> Child | None:
    if attributes.get("state") == "Preempting" or int(_number(attributes.get("retirementtimeremaining"))) > 0:
        return None
    job_attributes = {"state", "currentrank", "retirementtimeremaining"}
    amounts = {
        name: value for name, value in attributes.items() if name not in job_attributes and type(value) in (int, float)
    }
    return Child(row, _number(attributes.get("currentrank")), amounts)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _listed(ads: AdColumns, row: int, name: str) -> Sequence[Any]:
    value = ads.json_value(row, f"child{name}")
    return value if isinstance(value, list) else ()


Permits = Callable[[float, PreemptState, Sequence[int]], bool]
"""Returns whether the limits permit a match of a weight, with a preempt state, that preempts these slots."""


class PslotPreemption:
    """The dynamic slots of all partitionable slots, which are preempted to make room for a job.

    Slots with the lowest Rank of their job go first, then those with the highest PREEMPTION_RANK, then borrowed ones,
    until the job fits. A slot that ranks its job equal to the new one needs PREEMPTION_REQUIREMENTS.
    """

    def __init__(
        self,
        partitions: Partitions,
        carved: Mapping[int, Carved],
        slots: AdColumns,
        preemption: Preemption,
        taken: TakenSlots,
    ) -> None:
        self._partitions, self._slots, self._preemption, self._marks = partitions, slots, preemption, taken.marks
        carved_slots = [
            (row, dynamic_slot) for row, dynamic_slot in carved.items() if dynamic_slot.parent in partitions.parts
        ]
        self._rows = np.array([row for row, _ in carved_slots], np.intp)
        self._ties = preemption.put_borrowed_first(np.arange(len(slots)))
        self._part = np.array([partitions.parts[dynamic_slot.parent] for _, dynamic_slot in carved_slots], np.intp)
        names = [name.lower() for name in partitions.resources]
        self._amounts = np.zeros((len(names), len(carved_slots)))
        for number, (_, dynamic_slot) in enumerate(carved_slots):
            for name, amount in dynamic_slot.taken.items():
                if name.lower() in names:
                    self._amounts[names.index(name.lower()), number] = amount

    def propose(self, context: RequestContext, offers: Offers, permits: Permits) -> tuple[int, PreemptState] | None:
        """Propose a match that preempts; return the partitionable slot and the preempt state, None if there is none."""
        rows, partitions, preemption, job = self._rows, self._partitions, self._preemption, context.ad()
        rank, current = (evaluate_in_columns(expression, self._slots, job, rows).as_rank(0.0) for expression in RANKS)
        kind, context_of = context.autocluster, lambda _: context
        by_priority = (preemption.preemptable(kind, context_of) & ~preemption.own(context.submitter))[rows]
        preemption_rank = preemption.ranks(kind, context_of)[rows]
        better = rank > current
        usable = preemption.held[rows] & ~self._marks[rows] & (better | ((rank == current) & by_priority))
        reachable = partitions.remaining.copy()
        np.add.at(reachable.T, self._part[usable], self._amounts[:, usable].T)
        requested = offers.requested
        for part in np.flatnonzero(((requested <= reachable) & (requested >= 0)).all(axis=0)).tolist():
            own_children = np.flatnonzero(usable & (self._part == part))
            ties = self._ties[rows[own_children]]
            order = np.lexsort([ties, -preemption_rank[own_children], current[own_children]])
            remaining = partitions.remaining[:, part].copy()
            for count, child in enumerate(own_children[order].tolist(), 1):
                remaining += self._amounts[:, child]
                cost = offers.cost_with(part, remaining) if (requested[:, part] <= remaining).all() else None
                if cost is None:
                    continue
                victims = own_children[order[:count]]
                state = RANK if better[victims].all() else PRIO
                preempted = tuple(rows[victims].tolist())
                if permits(cost, state, preempted):
                    offers.propose(part, cost, preempted, self._amounts[:, victims].sum(axis=1))
                    return int(partitions.rows[part]), state
                break
        return None
