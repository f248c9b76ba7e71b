"""The candidate slots of a request, and their order (docs/htcondor.md 3.7; matchmakingAlgorithm).

Equal work is done once: the slots that an autocluster may use, their order, and the slots that the preemption policy
allows are shared by all submitters whose jobs agree in the attributes that the expressions read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import evaluate_in_columns, parse
from fairq.engine.negotiation.claimable import Claimable
from fairq.engine.negotiation.expression_cache import ContextNow, ExpressionCache, Recall, RequestContext
from fairq.engine.negotiation.holders import Holders
from fairq.engine.negotiation.kept_out import KeptOut
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matchlist import BucketedMatchList, FreeSlots, MatchList
from fairq.engine.negotiation.ordering import StaticRanks
from fairq.engine.negotiation.orderings import Orderings
from fairq.engine.negotiation.partitionable import Partitions, jobs_in_slot
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import NONE, PRIO, RANK, PreemptionPolicy, PreemptState
from fairq.engine.negotiation.ranked import RankedCandidates
from fairq.engine.negotiation.reach import REQUIREMENTS, Reach, slots_stay
from fairq.engine.negotiation.requirements import agreed
from fairq.engine.negotiation.slot_tests import SlotTests
from fairq.engine.negotiation.snapshot import PoolSlots
from fairq.engine.negotiation.sorted_lists import SortedLists
from fairq.records import Ad

if TYPE_CHECKING:
    from fairq.engine.negotiation.memory import Scene
    from fairq.engine.negotiation.partitioned_lists import PartitionedLists
    from fairq.engine.negotiation.pslot_preemption import PslotPreemption
    from fairq.engine.negotiation.room import Room
    from fairq.engine.negotiation.room_lists import RoomLists

_RANK, _OWN_RANK = parse("Rank"), parse("MY.Rank")


class Candidates:
    """Finds candidate slots for requests, over one cycle.

    Args:
        pool: all slots.
        policy: the cycle's rules.
        cost, costs: the weight of each slot.
        holders: the users of the slots.
        tie_order: each slot's place among slots that rank equally.
        free: the slots not yet matched.
        kinds: an ad of each autocluster, by number, as far as they are known.
        partitions: the partitionable slots that are divided, None if there are none.
        static: the ranks of all slots if they are the same for all jobs; ignored if slots are divided.
        scene: what is known from cycles like this one.
    """

    def __init__(
        self,
        pool: PoolSlots,
        policy: NegotiationPolicy,
        cost: list[float],
        costs: NDArray[np.float64],
        holders: Holders,
        tie_order: NDArray[np.int64],
        free: FreeSlots,
        kinds: Sequence[Ad],
        partitions: Partitions | None = None,
        static: StaticRanks | None = None,
        *,
        scene: Scene | None = None,
    ) -> None:
        self._scene, self._partitions = scene, partitions
        self._static = static = static if partitions is None else None
        self._pool, self._policy, self._holders = pool, policy, holders
        self._cost, self._costs = cost, costs
        self.lists = 0
        holders_known = None if scene is None else Recall(scene, "holders", holders.held.tobytes())
        self.preemption = PreemptionPolicy(pool.ads, policy, holders, holders_known)
        self._kept_out = KeptOut(self.preemption, free)
        self._free, self._kinds = free, kinds
        self._listed_last: tuple[RequestContext, RankedCandidates, NDArray[np.bool_] | None] | None = None
        self._suits: dict[int, tuple[bool, object]] = {}
        self._ranked: dict[tuple[int, int], RankedCandidates] = {}
        self._claimable: dict[tuple[int, int], Claimable] = {}
        self._sorted = SortedLists(cost, free, holders.groups, static, std_sort=policy.tie_break == "std_sort")
        self._divided = np.empty(0, np.intp) if partitions is None else partitions.rows
        self._rolled_up: NDArray[np.bool_] | None = None
        self.rooms: RoomLists | None = None
        """Set if dynamic slots may be preempted to match their partitionable slot as a whole."""
        if policy.allow_pslot_preemption and policy.partitionable_slots == "whole":
            self._roll_up(tie_order)
        slots = pool.ads
        changing = holders.changing
        recall = None if scene is None else Recall(scene, "suitable")
        self._suitable = ExpressionCache(self._find_suitable, slots, ["requirements"], [REQUIREMENTS], changing, recall)
        self.reach: Reach | None = None
        """Set if no slot can be taken from its user in this cycle."""
        gets_back = policy.allow_pslot_preemption and bool(pool.carved) and self.preemption.any_held
        # Whether no part is left where none is suitable now: none can be made by preemption.
        self._parts_are_told = not gets_back and policy.partitionable_slots == "carve"
        told = static is None and self._rolled_up is None and (partitions is None or self._parts_are_told)
        stay = told and slots_stay(slots, self.preemption, holders)
        self._partitioned: PartitionedLists | None = None
        self._pslot_preemption: PslotPreemption | None = None
        if partitions is not None:
            self._divide(partitions, tie_order, gets_back, stay)
        if stay:
            known = (None, None) if scene is None else (self._suitable.get, Recall(scene, "reach", keeps_results=False))
            self.reach = Reach(pool, self.preemption, holders, free, self._partitioned, *known)
        self._orderings = Orderings(pool, policy, holders, tie_order, static, scene, slots_stay=stay)
        recall = None if scene is None else Recall(scene, "machine ranks", keeps_results=False)
        self._machine_ranks = ExpressionCache(
            lambda context: self._find_machine_ranks(context.ad()), slots, [], [_RANK], changing, recall
        )
        self._same_machine_ranks: list[float] | None = None
        if not self._machine_ranks.read_by_slots:
            self._same_machine_ranks = self._find_machine_ranks({}).tolist()

    def _divide(self, partitions: Partitions, tie_order: NDArray[np.int64], gets_back: bool, slots_stay: bool) -> None:
        """Prepare the lists of parts of slots; most pools have none, and load nothing for them."""
        from fairq.engine.negotiation.partitioned_lists import PartitionedLists

        any_listed = self.preemption.any_held and not slots_stay
        self._partitioned = PartitionedLists(partitions, self._policy, any_listed, tie_order, self._cost, gets_back)
        if gets_back:
            from fairq.engine.negotiation.pslot_preemption import PslotPreemption

            self._pslot_preemption = PslotPreemption(partitions, self._pool.carved)

    def _roll_up(self, tie_order: NDArray[np.int64]) -> None:
        """Leave dynamic slots to their partitionable slots; most pools have none, and load nothing for them."""
        from fairq.engine.negotiation.rolled_up import rolled_up

        pool, held = self._pool, self._holders.held
        self._rolled_up = found = rolled_up(pool.ads, self._policy)
        if found is not None and self.preemption.any_held and self._static is None:
            from fairq.engine.negotiation.room_lists import RoomLists

            self.rooms = RoomLists(
                pool,
                self._policy,
                self.preemption,
                self._holders,
                self._free,
                self._sorted,
                self._cost,
                tie_order,
                found & held,
                self._divided,
            )

    def end(self) -> None:
        """Let go of what only further matches need: who asks why keeps many cycles."""
        if self._partitioned is not None:
            self._partitioned.forget_terms()

    @property
    def any_left(self) -> bool:
        """Whether any candidate is left."""
        return self._free.left > 0

    @property
    def divides(self) -> bool:
        """Whether matches take another part of a slot than all that it has at the cycle's start."""
        return self._partitions is not None or self.rooms is not None

    @property
    def lists_follow(self) -> bool:
        """Whether an existing list stays valid when others take slots."""
        return not self.divides and self._static is None and self._policy.tie_break != "std_sort"

    @property
    def version(self) -> tuple[int, int]:
        """Changes with every slot, or part of a slot, that is taken."""
        return self._free.left, 0 if self._partitions is None else len(self._partitions.changed)

    def match_list(self, now: ContextNow, only_rank: bool, limits: Limits, *, only_free: bool = False) -> MatchList:
        """Build the list for one kind of request, whose context *now* may change with the matches made.

        With *only_rank*, only slots whose machine prefers the job to its running one are candidates; with *only_free*,
        only slots without preemption.
        """
        self.lists += 1
        context = now()
        ranked = self._ranked_for(context)
        reasons: tuple[PreemptState, ...] = (RANK,) if only_rank else (NONE, RANK)
        allowed = self._holders.held
        if only_free or not self.preemption.any_held:
            reasons = () if only_rank else (NONE,)
            self._listed_last = (context, ranked, None) if self.preemption.any_held else None
        else:
            preemptable = self.preemption.preemptable(context)
            allowed = self.preemption.allowed(context, ranked.ordering.state, preemptable)
            if not only_rank and self.preemption.any_preemptable(context):
                reasons = (NONE, RANK, PRIO)
            self._listed_last = context, ranked, preemptable

        buckets = [bucket for bucket in ranked.buckets if bucket.state in reasons]
        if self.rooms is not None and not only_free:
            ranks = self._ranks(lambda: context)
            found = self.rooms.furnish(context, ranked, buckets, allowed, limits, ranks, only_rank=only_rank)
            if found is not None and self._partitioned is not None and not only_rank:
                return self._partitioned.by_policy(
                    now, found.ordering, found.entries, limits, found.refused, found.groups, found.cost
                )
            if found is not None:
                return found.sorted_list(limits)
        if self._partitioned is not None and not only_rank:
            if self._policy.partitionable_slots == "whole":
                listed, refused = self._sorted.listed(buckets, allowed, limits)
                return self._partitioned.by_policy(now, ranked.ordering, listed, limits, refused, self._holders.groups)
            whole = BucketedMatchList(buckets, ranked.place, self._free, allowed, limits)
            find_room = None
            if self._pslot_preemption is not None and not only_free:
                find_room = self._pslot_preemption.finder(context, self._pool.ads, self.preemption, self._free)
            return self._partitioned.carved(context, ranked.ordering, whole, limits, find_room, self._holders.groups)
        if self._static is not None or (ranked.ordering.ties and self._policy.tie_break == "std_sort"):
            return self._sorted.make(ranked, buckets, allowed, limits)
        return BucketedMatchList(buckets, ranked.place, self._free, allowed, limits)

    def machine_rank(self, slot: int, context: ContextNow) -> float:
        """The Rank of a slot for a job; *context* is called only if any slot's Rank reads the job."""
        return float(self._ranks(context)[slot])

    def _ranks(self, context: ContextNow) -> Sequence[float] | NDArray[np.float64]:
        ranks = self._same_machine_ranks
        return self._machine_ranks.get(context()) if ranks is None else ranks

    @property
    def ranks_of_all(self) -> Sequence[float] | None:
        """The Rank of every slot for any job; None if Ranks read the job."""
        return self._same_machine_ranks

    def packed_jobs(self, slot: int, context: ContextNow) -> int:
        """Number of jobs that a match represents (matchmaker.cpp, jobsInSlot).

        With depth first, today's negotiator expects a schedd to pack every slot, even a static one; *context* is called
        only then.
        """
        if not self._policy.depth_first or self._policy.partitionable_slots != "whole":
            return 1
        if self._partitions is not None and (part := self._partitions.parts.get(slot)) is not None:
            self._partitions.show()
            return jobs_in_slot(self._partitions.ads, part, context().job)
        room = self.room_on(slot)
        ads, row = (self._pool.ads, slot) if room is None else (room.ads, room.ad)
        return jobs_in_slot(ads, row, context().job)

    def room_on(self, slot: int) -> Room | None:
        """The room that a match of *slot*, on the last list, makes on it; None: it makes none."""
        return None if self.rooms is None else self.rooms.on(slot)

    def finds_victim(self, context: RequestContext) -> bool:
        """Whether the job could preempt a slot by priority without its limit."""
        theirs = self._suitable.get(context) & self._free.mask()
        theirs &= self.preemption.preemptable(context) & ~self.preemption.own(context.submitter)
        return bool((theirs & ~self._orderings.of_all.get(context).outranked).any())

    def suits_any(self, context: RequestContext) -> bool:
        """Whether the job matches any slot that is not draining, whoever uses it; only tells why a turn ended."""
        if self.reach is not None:
            return self.reach.suits_any(context)
        suitable = self._suitable.get(context)
        known = self._suits.get(id(suitable))
        if known is None:
            inside = np.delete(suitable, list(self._pool.draining)) if self._pool.draining else suitable
            # The array is kept with it, so that its id stays its own.
            known = self._suits[id(suitable)] = bool(inside.any()), suitable
        return known[0]

    def tests(self, context: RequestContext) -> SlotTests:
        """The relation of every slot to the job at this moment, for an explanation."""
        held, suitable, ordering = self._holders.held, self._suitable.get(context), self._orderings.of_all.get(context)
        own = held & self.preemption.own(context.submitter)
        meeting = preemptable = held
        if self.preemption.any_held:
            meeting, preemptable = self.preemption.meets_requirements(context), self.preemption.preemptable(context)
        state, free = ordering.state, self._free.mask()
        if self._rolled_up is not None:
            suitable, rolled_up = suitable.copy(), np.flatnonzero(self._rolled_up)
            suitable[rolled_up] = agreed(context.ad(), self._pool.ads, rolled_up)
        if self._partitioned is not None:
            free[self._divided] &= self._partitioned.suitable(context)
        return SlotTests(suitable, free, held, own, state == RANK, ordering.outranked, meeting, preemptable)

    def place(self, context: RequestContext) -> NDArray[np.int64]:
        """The place of every slot in the job's order of preference, 0 is the best, suitable or not."""
        return self._orderings.of_all.get(context).place

    def none_left(self, context: RequestContext) -> bool:
        """Whether a list for the job would be empty whatever the limits are; no: it need not be."""
        if self.reach is not None:
            return self.reach.none_left(context)
        if self._static is not None or self.rooms is not None:
            return False
        if self._partitioned is not None and not (self._parts_are_told and self._partitioned.none_left(context)):
            return False
        found = self._claimable_by(context)
        if not found.none_sure(self._free):
            return False
        return not (self.preemption.any_held and found.any_victim(self._free, self.preemption, context))

    def note_left(self, context: RequestContext) -> None:
        """Note that a slot is left for a job that the limits keep from it: jobs like it need no list for that."""
        if self.reach is not None:
            self.reach.note_left(context)

    def keeps_out(self, context: RequestContext) -> bool:
        """Whether the preemption policy excludes a slot for the job that it could use otherwise."""
        if not self.preemption.any_held:
            return False
        if self.reach is not None:
            return self.reach.keeps_out(context)
        found, preemptable = self._claimable_by(context), self.preemption.preemptable(context)
        return self._kept_out.any(context.submitter, found.suitable, found.claims.state, preemptable, None)

    def refused_by_policy(self) -> Callable[[], bool]:
        """The test whether the preemption policy excludes a slot for the job of the last list.

        These are slots that the job could use otherwise. The test uses the state when the list was built, whenever it
        is called.
        """
        if self._listed_last is None:
            return lambda: False
        (context, ranked, found), scanned = self._listed_last, self._sorted.scanned
        if self.reach is not None:
            return partial(self.reach.keeps_out, context)

        def refused() -> bool:
            preemptable = self.preemption.preemptable(context) if found is None else found
            return self._kept_out.any(context.submitter, ranked.suitable, ranked.ordering.state, preemptable, scanned)

        return refused

    def _ranked_for(self, context: RequestContext) -> RankedCandidates:
        within = self._suitable.get if self.reach is None else self.reach.suitable
        suitable, ordering = within(context), self._orderings.of_lists.get(context)
        key = (id(suitable), id(ordering))
        ranked = self._ranked.get(key)
        if ranked is None:
            ranked = self._ranked[key] = RankedCandidates(
                suitable, ordering, self._costs, self._divided, self._holders.groups
            )
        return ranked

    def _claimable_by(self, context: RequestContext) -> Claimable:
        suitable, claims = self._suitable.get(context), self._orderings.claims.get(context)
        key = (id(suitable), id(claims))
        found = self._claimable.get(key)
        if found is None:
            found = self._claimable[key] = Claimable(suitable, claims, self._divided)
        return found

    def _find_suitable(self, context: RequestContext) -> NDArray[np.bool_]:
        """Slots of the whole pool where the Requirements of both sides are true."""
        slots = self._pool.ads
        suitable = agreed(context.ad(), slots, np.arange(len(slots)))
        if self._rolled_up is not None:
            suitable &= ~self._rolled_up
        # Jobs that suit the same slots share their lists.
        return suitable if self._scene is None else self._scene.memory.mask(suitable)

    def _find_machine_ranks(self, job: Ad) -> NDArray[np.float64]:
        return evaluate_in_columns(_OWN_RANK, self._pool.ads, job).as_rank(0.0)
