"""Room on partitionable slots that are matched as a whole, made by preempting their dynamic slots.

docs/htcondor.md 3.14; matchmaker.cpp, pslotMultiMatch. `pslot_preemption` does it for slots that are divided.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of
from fairq.engine.classad.column import ABSENT
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import PRIO, RANK, PreemptState
from fairq.engine.negotiation.ranks import negotiator_rank
from fairq.engine.negotiation.requirements import agreed
from fairq.engine.negotiation.rolled_up import Child, resources_of
from fairq.engine.negotiation.slots import slot_weights
from fairq.engine.std_sort import std_sorted
from fairq.records import Ad

_HOLDER = "various_dSlot_users"
"""The RemoteUser of a slot on which room is made, for the ranks of the negotiator."""


class Room(Struct, frozen=True):
    """A partitionable slot that suits a job once the dynamic slots *victims* are preempted.

    Args:
        row: the slot, an index in the pool, as are the victims.
        victims: in the order in which they were chosen.
        state: RANK if the slot prefers the job to all of their jobs, otherwise PRIO.
        cost: the slot's weight, with what they return.
        keys: its sort keys, as in an `Ordering` with keys for preemption.
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
