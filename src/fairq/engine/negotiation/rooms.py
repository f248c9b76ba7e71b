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
from fairq.engine.negotiation.evaluation import RequestContext, agreed, negotiator_rank
from fairq.engine.negotiation.free_slots import SlotClass, Taken
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
        row: the slot, an index in the pool, as are the victims.
        victims: in the order in which they were chosen.
        state: RANK if the slot prefers the job to all of their jobs, otherwise PRIO.
        cost: the slot's weight, with what they return.
        keys: its sort keys, as those of an order with keys for preemption.
        ad: the slot's ad with what they return, a row of `ads`.
    """

    row: int
    victims: tuple[int, ...]
    state: PreemptState
    cost: float
    keys: tuple[float, ...]
    ads: AdColumns
    ad: int

    def meets(self, job: Ad, policy: NegotiationPolicy) -> bool:
        """Whether PREEMPTION_REQUIREMENTS is true for the partitionable slot, whoever holds the dynamic ones."""
        requirements, row = policy.preemption_requirements, np.array([self.ad], np.intp)
        return requirements is None or bool(evaluate_in_columns(requirements, self.ads, job, row).is_true()[0])


class _Level(Struct, frozen=True):
    """A partitionable slot with what some of its dynamic slots return: *values* of the attributes that change."""

    row: int
    victims: tuple[int, ...]
    state: PreemptState
    values: dict[str, float]


class RoomMaker:
    """Finds partitionable slots with room for a job, over one cycle.

    The dynamic slots are added up, those with the lowest Rank of their jobs first, until the job fits. One that ranks
    its job equal to the new one needs PREEMPTION_REQUIREMENTS and another submitter. A dynamic slot that has been part
    of a room is part of no other in the cycle, even if no job took it: its claim is given away once.

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
        may_go: NDArray[np.bool_],
        *,
        only_rank: bool,
    ) -> list[Room]:
        """The rooms for a job on the slots *among*.

        *ranks* is the Rank of every slot of the pool for the job, *may_go* tells of every slot whether priority permits
        to preempt it. With *only_rank*, priority permits none.
        """
        levels = [
            level for row in among.tolist() for level in self._levels(row, ranks[row], () if only_rank else may_go)
        ]
        if not levels:
            return []
        ads, job = self._shown(levels), context.ad()
        fitting: dict[int, int] = {}
        for place in np.flatnonzero(agreed(job, ads, np.arange(len(levels)))).tolist():
            fitting.setdefault(levels[place].row, place)
        return self._rooms([levels[place] for place in fitting.values()], job) if fitting else []

    def spend(self, rooms: Collection[Room]) -> None:
        """Make the dynamic slots of *rooms* part of no other room in this cycle."""
        for room in rooms:
            self._children[room.row] = [one for one in self._children[room.row] if one.row not in room.victims]

    def _levels(self, row: int, rank: float, may_go: Sequence[bool] | NDArray[np.bool_]) -> Iterator[_Level]:
        """The slot with more and more of its dynamic slots added."""
        children = self._children[row]
        currents = np.array([child.current_rank for child in children])
        order = std_sorted(np.unique(currents, return_inverse=True)[1].astype(np.int64))
        first, values, victims, state = self._resources[row], dict[str, float](), tuple[int, ...](), RANK
        for child in takewhile(lambda child: child.current_rank <= rank, (children[place] for place in order)):
            if child.current_rank == rank:
                if not len(may_go) or not may_go[child.row]:
                    continue
                state = PRIO
            victims = (*victims, child.row)
            for name in first.keys() & child.amounts.keys():
                values[name] = math.floor(values.get(name, first[name])) + child.amounts[name]
            yield _Level(row, victims, state, dict(values))

    def _shown(self, levels: Sequence[_Level]) -> AdColumns:
        """The ads of the slots at these levels."""
        rows = [level.row for level in levels]
        ads = self._slots.of_rows(np.array(rows, np.intp))
        for name in sorted(set[str]().union(*(level.values for level in levels))):
            own = (self._slots.json_value(row, name) for row in rows)
            values = [level.values.get(name, value) for level, value in zip(levels, own, strict=True)]
            ads.with_column(name, [None if value is ABSENT else value for value in values])
        return ads

    def _rooms(self, levels: Sequence[_Level], job: Ad) -> list[Room]:
        policy, ads = self._policy, self._shown(levels)
        ads.with_column("RemoteUser", [_HOLDER] * len(levels))
        keys: list[NDArray[np.floating]] = [negotiator_rank(policy.pre_job_rank, ads, job)]
        if not policy.ignore_job_ranks and "rank" in job:
            keys.append(evaluate_in_ad(expression_of(job["rank"]), job, ads).as_rank(0.0))
        keys.append(negotiator_rank(policy.post_job_rank, ads, job))
        keys.append(np.array([float(level.state) for level in levels]))
        keys.append(negotiator_rank(policy.preemption_rank, ads, job))
        costs, ranks = slot_weights(ads, policy).tolist(), np.array(keys, np.float64).T.tolist()
        return [
            Room(level.row, level.victims, level.state, costs[place], tuple(ranks[place]), ads, place)
            for place, level in enumerate(levels)
        ]


def _numbers(slots: AdColumns, row: int) -> dict[str, float]:
    """The resources of a slot that are numbers, by lower-case name."""
    rows = np.array([row], np.intp)
    values = {name: evaluate_in_columns(name, slots, {}, rows).as_rank(np.nan)[0] for name in resources_of(slots, row)}
    return {name: float(value) for name, value in values.items() if not np.isnan(value)}


class Rooms:
    """The rooms for the jobs of one cycle.

    Args:
        pool: all slots.
        policy: the cycle's rules.
        preemption, holders: who holds which slot, and who may take it.
        taken: the slots that are gone.
        preemptable: the dynamic slots that may be preempted to make room.
        divided: slots on which no room is made, since their parts are matched.
    """

    def __init__(
        self,
        pool: PoolSlots,
        policy: NegotiationPolicy,
        preemption: Preemption,
        holders: Holders,
        taken: Taken,
        preemptable: NDArray[np.bool_],
        divided: NDArray[np.intp],
    ) -> None:
        self._preemption, self._holders, self._taken = preemption, holders, taken
        self._seen = slots_taking_part(pool.ads, policy)
        self._maker = RoomMaker(pool.ads, policy, children(pool, preemptable))
        free_ones = np.setdiff1d(self._maker.rows, divided)
        self._rows = free_ones[~holders.held[free_ones]]
        self.listed: dict[int, Room] = {}
        """The rooms on the last list, by slot."""

    def on(self, slot: int) -> Room | None:
        """The room on a slot of the last list."""
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
        """Find the rooms for a list; return whether the limits refuse any, None if there is no room on any slot.

        *suitable* slots have room as they are. *ranks* is the Rank of every slot for the job; *freed* returns what the
        limits read of slots that are preempted.
        """
        self.listed = {}
        has_room = np.zeros(len(self._seen), np.bool_)
        has_room[suitable] = True
        among = self._rows[~self._taken.marks[self._rows] & ~has_room[self._rows]]
        if not len(among):
            return None
        if self._holders.changing is not None:
            self._holders.changing.refresh()
        may_go = self._preemption.preemptable(context.autocluster, lambda _: context)
        may_go = may_go & ~self._preemption.own(context.submitter) & self._seen
        rooms = self._maker.find(context, among, ranks, may_go, only_rank=only_rank)
        if not rooms:
            return None
        # They are given away once, also if the limits keep the slot off the list.
        self._maker.spend(rooms)
        used = limits.used, limits.used_unclaimed
        for room in rooms:
            if limits.permit_on_list(room.cost, room.state, freed(room.victims), *used):
                self.listed[room.row] = room
        return len(self.listed) < len(rooms)

    def classes(self) -> list[SlotClass]:
        """The classes of the slots with a room on the last list, as the limits read them when they are taken."""
        return [SlotClass(room.state, room.cost, ()) for room in self.listed.values()]
