"""The dynamic slots that are preempted to make room on their partitionable slot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.negotiation.free_slots import Taken
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


Permits = Callable[[float, PreemptState, Sequence[int]], bool]
"""Whether the limits permit a match of a weight that preempts these slots."""


class PslotPreemption:
    """The dynamic slots of all partitionable slots, which are preempted to make room for a job.

    Slots with the lowest Rank of their job go first, then those with the highest PREEMPTION_RANK, until the job fits. A
    slot that ranks its job equal to the new one needs PREEMPTION_REQUIREMENTS.
    """

    def __init__(
        self,
        partitions: Partitions,
        carved: Mapping[int, Carved],
        slots: AdColumns,
        preemption: Preemption,
        taken: Taken,
    ) -> None:
        self._partitions, self._slots, self._preemption, self._marks = partitions, slots, preemption, taken.marks
        known = [(row, one) for row, one in carved.items() if one.parent in partitions.parts]
        self._rows = np.array([row for row, _ in known], np.intp)
        self._part = np.array([partitions.parts[one.parent] for _, one in known], np.intp)
        names = [name.lower() for name in partitions.resources]
        self._taken = np.zeros((len(names), len(known)))
        for number, (_, one) in enumerate(known):
            for name, amount in one.taken.items():
                if name.lower() in names:
                    self._taken[names.index(name.lower()), number] = amount

    def propose(self, context: RequestContext, offers: Offers, permits: Permits) -> tuple[int, PreemptState] | None:
        """Propose a match that preempts; return the partitionable slot and the preempt state, None if none will do."""
        rows, partitions, preemption, job = self._rows, self._partitions, self._preemption, context.ad()
        rank, current = (evaluate_in_columns(of, self._slots, job, rows).as_rank(0.0) for of in RANKS)
        kind, ask = context.autocluster, lambda _: context
        may_go = (preemption.preemptable(kind, ask) & ~preemption.own(context.submitter))[rows]
        preemption_rank = preemption.ranks(kind, ask)[rows]
        better = rank > current
        goes = preemption.held[rows] & ~self._marks[rows] & (better | ((rank == current) & may_go))
        most = partitions.left.copy()
        np.add.at(most.T, self._part[goes], self._taken[:, goes].T)
        wanted = offers.asked
        for part in np.flatnonzero(((wanted <= most) & (wanted >= 0)).all(axis=0)).tolist():
            mine = np.flatnonzero(goes & (self._part == part))
            order = np.lexsort([rows[mine], -preemption_rank[mine], current[mine]])
            left = partitions.left[:, part].copy()
            for count, child in enumerate(mine[order].tolist(), 1):
                left += self._taken[:, child]
                cost = offers.cost_with(part, left) if (wanted[:, part] <= left).all() else None
                if cost is None:
                    continue
                victims = mine[order[:count]]
                state = RANK if better[victims].all() else PRIO
                preempted = tuple(rows[victims].tolist())
                if permits(cost, state, preempted):
                    offers.propose(part, cost, preempted, self._taken[:, victims].sum(axis=1))
                    return int(partitions.rows[part]), state
                break
        return None
