"""Room on partitionable slots that are matched as a whole, made by preempting their dynamic slots."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of
from fairq.engine.classad.column import ABSENT
from fairq.engine.negotiation.dynamic_slots import Child, children, resources_of
from fairq.engine.negotiation.evaluation import RequestContext, negotiator_rank, requirements_met
from fairq.engine.negotiation.free_slots import SlotClass, TakenSlots
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots, slot_weights, slots_taking_part
from fairq.engine.negotiation.preemption import PRIO, RANK, Preemption, PreemptState
from fairq.engine.negotiation.remote_attributes import Holders
from fairq.engine.quotas.enforcement import Freed
from fairq.engine.std_sort import std_sorted

_HOLDER = "various_dSlot_users"
"""The RemoteUser of a slot on which room is made, for the ranks of the negotiator."""


class Room(Struct, frozen=True):
    """A partitionable slot that suits a job once the dynamic slots *victims* are preempted.

    Args:
        row: the index of the slot in the pool.
        victims: the indices of the dynamic slots, in the order in which they were chosen.
        state: RANK if the slot prefers the job to all of their jobs, otherwise PRIO.
        cost: the slot's weight, with the resources that they return.
        keys: its sort keys, as in an order with keys for preemption.
        ad: the row in `ads` of the slot's ad, with the resources that they return.
    """

    row: int
    victims: tuple[int, ...]
    state: PreemptState
    cost: float
    keys: tuple[float, ...]
    ads: AdColumns
    ad: int

    def meets(self, job: Ad, policy: NegotiationPolicy) -> bool:
        """Return whether PREEMPTION_REQUIREMENTS is true for the partitionable slot; victims' holders do not matter."""
        requirements, row = policy.preemption_requirements, np.array([self.ad], np.intp)
        return requirements is None or bool(evaluate_in_columns(requirements, self.ads, job, row).is_true()[0])


class _Level(Struct, frozen=True):
    """A partitionable slot after some of its dynamic slots are preempted: *values* of the attributes that change."""

    row: int
    victims: tuple[int, ...]
    state: PreemptState
    values: dict[str, float]


class RoomMaker:
    """Finds partitionable slots with room for a job, over one cycle.

    Dynamic slots are preempted, those with the lowest Rank of their jobs first, until the job fits. A slot that ranks
    its job equal to the new one needs PREEMPTION_REQUIREMENTS and another submitter. A dynamic slot that was part of
    a room is part of no other in the cycle, even if no job took it: its claim is used only once.

    Args:
        slots: the slots' ads.
        policy: the cycle's rules.
        children: per partitionable slot, its dynamic slots.
    """

    def __init__(self, slots: AdColumns, policy: NegotiationPolicy, children: dict[int, list[Child]]) -> None:
        self._slots = slots
        self._policy = policy
        self._children = children
        self._resources = {row: _numbers(slots, row) for row in children}
        self.rows = np.array(sorted(children), np.intp)

    def find(
        self,
        context: RequestContext,
        among: NDArray[np.intp],
        ranks: Sequence[float] | NDArray[np.float64],
        by_priority: NDArray[np.bool_],
        *,
        only_rank: bool,
    ) -> list[Room]:
        """Return the rooms for a job on the slots *among*.

        *ranks* is the Rank of every slot of the pool for the job, *by_priority* says for every slot whether priority
        may preempt it. With *only_rank*, priority may preempt none.
        """
        levels = [
            level for row in among.tolist() for level in self._levels(row, ranks[row], () if only_rank else by_priority)
        ]
        if not levels:
            return []
        ads, job = self._ads_at(levels), context.ad()
        fitting: dict[int, int] = {}
        for index in np.flatnonzero(requirements_met(job, ads, np.arange(len(levels)))).tolist():
            fitting.setdefault(levels[index].row, index)
        return self._rooms([levels[index] for index in fitting.values()], job) if fitting else []

    def spend(self, rooms: Collection[Room]) -> None:
        """Exclude the dynamic slots of *rooms* from further rooms in this cycle."""
        for room in rooms:
            self._children[room.row] = [child for child in self._children[room.row] if child.row not in room.victims]

    def _levels(self, row: int, rank: float, by_priority: Sequence[bool] | NDArray[np.bool_]) -> Iterator[_Level]:
        """Yield the slot with more and more of its dynamic slots preempted."""
        children = self._children[row]
        currents = np.array([child.current_rank for child in children])
        order = std_sorted(np.unique(currents, return_inverse=True)[1].astype(np.int64))
        resources, values, victims, state = self._resources[row], dict[str, float](), tuple[int, ...](), RANK
        for child in takewhile(lambda child: child.current_rank <= rank, (children[index] for index in order)):
            if child.current_rank == rank:
                if not len(by_priority) or not by_priority[child.row]:
                    continue
                state = PRIO
            victims = (*victims, child.row)
            for name in resources.keys() & child.amounts.keys():
                values[name] = math.floor(values.get(name, resources[name])) + child.amounts[name]
            yield _Level(row, victims, state, dict(values))

    def _ads_at(self, levels: Sequence[_Level]) -> AdColumns:
        """Return the ads of the slots at these levels."""
        rows = [level.row for level in levels]
        ads = self._slots.of_rows(np.array(rows, np.intp))
        for name in sorted(set[str]().union(*(level.values for level in levels))):
            own = (self._slots.json_value(row, name) for row in rows)
            values = [level.values.get(name, value) for level, value in zip(levels, own, strict=True)]
            ads.with_column(name, [None if value is ABSENT else value for value in values])
        return ads

    def _rooms(self, levels: Sequence[_Level], job: Ad) -> list[Room]:
        policy, ads = self._policy, self._ads_at(levels)
        ads.with_column("RemoteUser", [_HOLDER] * len(levels))
        keys: list[NDArray[np.floating]] = [negotiator_rank(policy.pre_job_rank, ads, job)]
        if not policy.ignore_job_ranks and "rank" in job:
            keys.append(evaluate_in_ad(expression_of(job["rank"]), job, ads).as_rank(0.0))
        keys.append(negotiator_rank(policy.post_job_rank, ads, job))
        keys.append(np.array([float(level.state) for level in levels]))
        keys.append(negotiator_rank(policy.preemption_rank, ads, job))
        costs, ranks = slot_weights(ads, policy).tolist(), np.array(keys, np.float64).T.tolist()
        return [
            Room(level.row, level.victims, level.state, costs[index], tuple(ranks[index]), ads, index)
            for index, level in enumerate(levels)
        ]


def _numbers(slots: AdColumns, row: int) -> dict[str, float]:
    """Return the resources of a slot that are numbers, by lower-case name."""
    rows = np.array([row], np.intp)
    values = {name: evaluate_in_columns(name, slots, {}, rows).as_rank(np.nan)[0] for name in resources_of(slots, row)}
    return {name: float(value) for name, value in values.items() if not np.isnan(value)}


class Rooms:
    """The rooms for the jobs of one cycle.

    Args:
        pool: all slots.
        policy: the cycle's rules.
        preemption, holders: the holders of slots, and the rules of preemption.
        taken: the slots that are gone.
        preemptable: the dynamic slots that may be preempted to make room.
        divided: slots that are divided into parts, on which no room is made.
    """

    def __init__(
        self,
        pool: PoolSlots,
        policy: NegotiationPolicy,
        preemption: Preemption,
        holders: Holders,
        taken: TakenSlots,
        preemptable: NDArray[np.bool_],
        divided: NDArray[np.intp],
    ) -> None:
        self._preemption, self._holders, self._taken = preemption, holders, taken
        self._taking_part = slots_taking_part(pool.ads, policy)
        self._maker = RoomMaker(pool.ads, policy, children(pool, preemptable))
        undivided = np.setdiff1d(self._maker.rows, divided)
        self._rows = undivided[~holders.held[undivided]]
        self.listed: dict[int, Room] = {}
        """The rooms on the last list, by slot."""

    def on(self, slot: int) -> Room | None:
        """Return the room on a slot of the last list."""
        return self.listed.get(slot)

    def find(
        self,
        context: RequestContext,
        suitable: NDArray[np.int32],
        ranks: Sequence[float] | NDArray[np.float64],
        limits: Limits,
        freed: Callable[[Sequence[int]], Freed],
        *,
        only_rank: bool,
    ) -> bool | None:
        """Find the rooms for a list; return whether the limits refuse any, None if no slot has a room.

        *suitable* slots need no room. *ranks* is the Rank of every slot for the job; *freed* returns what the limits
        read of preempted slots.
        """
        self.listed = {}
        has_room = np.zeros(len(self._taking_part), np.bool_)
        has_room[suitable] = True
        among = self._rows[~self._taken.marks[self._rows] & ~has_room[self._rows]]
        if not len(among):
            return None
        if self._holders.changing is not None:
            self._holders.changing.refresh()
        by_priority = self._preemption.preemptable(context.autocluster, lambda _: context)
        by_priority = by_priority & ~self._preemption.own(context.submitter) & self._taking_part
        rooms = self._maker.find(context, among, ranks, by_priority, only_rank=only_rank)
        if not rooms:
            return None
        # Each claim is used only once, even if the limits refuse the slot.
        self._maker.spend(rooms)
        used = limits.used, limits.used_unclaimed
        for room in rooms:
            if limits.permit_on_list(room.cost, room.state, freed(room.victims), *used):
                self.listed[room.row] = room
        return len(self.listed) < len(rooms)

    def classes(self) -> list[SlotClass]:
        """Return the classes of the slots with a room on the last list, as the limits see them when popped."""
        return [SlotClass(room.state, room.cost, ()) for room in self.listed.values()]
