"""The ledger of a cycle: use, free slots and decisions. All turns read it and write to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.classad import EvaluationBudget
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.budgets import Stopwatch
from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.carving import Carving
from fairq.engine.negotiation.concurrency import ConcurrencyLimits
from fairq.engine.negotiation.decision import CycleDecision, SubmitterDecision
from fairq.engine.negotiation.demands import Demands
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.free_weight import FreeWeight
from fairq.engine.negotiation.goal import Goal, GoalReached
from fairq.engine.negotiation.in_use import InUse
from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.rejections import Rejection
from fairq.engine.negotiation.schedd_limits import ScheddLimits

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups

RejectionObserver = Callable[[Rejection, RequestContext, Candidates], None]
"""Called for a rejection: the request, and the candidates at that moment."""


class Allotment(NamedTuple):
    """The resources of a match: the *key* for its charge, its weight, and the part carved out of a slot.

    *evicted* are the dynamic slots that make room on a slot matched as a whole; None: it has room.
    """

    key: SlotKey
    cost: float
    carving: Carving | None = None
    evicted: tuple[int, ...] | None = None


_STEP, _LIST, _QUICK = 50, 200, 10
"""A step of a turn takes as long as a look at so many slots; so does a list, whose slots take a tenth each."""


class Ledger(Struct, frozen=True):
    """The data that all turns of a cycle share.

    Args:
        accountant: charged for the matches.
        candidates, concurrency, policy, autoclusters: as in the cycle.
        decision: the record of matches and rejections.
        groups: the accounting groups; None: there are none.
        free: the candidates not yet matched.
        schedds: how many jobs the schedds still offer.
        free_weight: the slot weight of all free candidates.
        partitions: the partitionable slots that are divided; None: there are none.
        keys: the accountant's keys of the slots.
        cost: the weight of every slot.
        running: per slot, the submitter of its running job.
        demands: the slot weight that each submitter uses or could use.
        in_use: the use for expressions.
        now: seconds since 1970.
        stopwatch: measures the time budgets; None: there are none.
        observer: called for every rejection.
        budget: measures the cost of expressions by submitter; None: no measurement.
        goal: the match at which the cycle ends; None: it has no such end.
        tells_rejections: whether anybody asks which jobs were refused.
    """

    accountant: Accountant
    schedds: ScheddLimits
    candidates: Candidates
    concurrency: ConcurrencyLimits
    policy: NegotiationPolicy
    autoclusters: Autoclusters
    decision: CycleDecision
    groups: Groups | None
    free: FreeSlots
    free_weight: FreeWeight
    partitions: Partitions | None
    keys: Sequence[SlotKey]
    cost: Sequence[float]
    running: Sequence[str | None]
    demands: Demands
    in_use: InUse
    now: int
    stopwatch: Stopwatch | None
    observer: RejectionObserver | None
    budget: EvaluationBudget | None
    goal: Goal | None = None
    tells_rejections: bool = True

    def weighted_used(self, name: str) -> float:
        """Slot weight that a submitter or group uses now."""
        return self.accountant.weighted_used(name)

    def publish_share(self, name: str, share: float, limit: float) -> None:
        """Store a submitter's share and limit for the accountant's reports."""
        record = self.accountant.record(name)
        record.submitter_share, record.submitter_limit = share, limit

    @property
    def work(self) -> int:
        """What the turns cost up to now, in slots looked at: their steps, and the lists that these needed."""
        decision = self.decision
        if self.tells_rejections:
            refused = len(decision.rejections.entries)
        else:
            refused = sum(submitter.rejected for submitter in decision.submitters)
        steps = len(decision.matches.steps) + refused
        return steps * _STEP + self.candidates.lists * (_LIST + len(self.cost) // _QUICK)

    def check_goal(self) -> None:
        """End the cycle if it has a goal and has reached it."""
        if self.goal is not None:
            self.goal.check(self.decision.matches, self.work)

    def check_slots(self) -> None:
        """End the cycle if only matches are asked for, and no slot is left for any.

        Groups are dealt with to the end: what their members still want decides whose turn a remainder is next.
        """
        if self.tells_rejections or self.groups is not None:
            return
        reach = self.candidates.reach
        if reach is not None and not reach.any_left:
            raise GoalReached

    def slots_left(self) -> bool:
        """Whether any candidate slot is left."""
        return self.free.left > 0

    def may_preempt(self) -> bool:
        """Whether any slot might be preempted by priority."""
        return self.candidates.preemption.may_preempt()

    def regroups(self, group: str) -> bool:
        """Whether a group's turn is the second chance of members of other groups."""
        return self.groups is not None and self.groups.regroups(group)

    def request_context(self, of: SubmitterDecision, autocluster: int, group: str) -> RequestContext:
        """The request for a submitter's autocluster in the turn of a group, with the attributes of this moment."""
        priority = of.effective_priority
        ephemeral = {
            "submitteruserprio": priority,
            "submittorprio": priority,
            "submitteruserresourcesinuse": self.in_use.of_user(of.submitter),
            "submitternegotiatinggroup": group,
            "submitterautoregroup": False,
        }
        if self.groups is not None:
            ephemeral |= self.groups.attributes(of.submitter, group)
        return RequestContext(autocluster, self.autoclusters.kinds[autocluster], of.submitter, priority, ephemeral)

    def allot_whole(self, slots: list[int]) -> list[SlotKey]:
        """Take slots, none of which is divided; return the keys for their charges."""
        self.free.take_all(slots)
        self.free_weight.take_all(slots)
        return list(map(self.keys.__getitem__, slots))

    def allot(self, slot: int) -> Allotment:
        """Take a slot, or the proposed part of a divided slot."""
        carving = None if self.partitions is None else self.partitions.carve(slot)
        if carving is None:
            self.free.take(slot)
            self.free_weight.take(slot)
            room = self.candidates.room_on(slot)
            if room is None:
                return Allotment(self.keys[slot], self.cost[slot])
            # Their use counts for the rest of the cycle: the negotiator does not know of it before the next one.
            return Allotment(self.keys[slot], room.cost, None, room.victims)
        assert self.partitions is not None
        given_back = 0.0
        for victim in carving.victims:
            self.accountant.remove_match(self.keys[victim], self.now)
            self.free.take(victim)
            given_back += self.cost[victim]
        self.free_weight.take(slot, carving.cost - given_back)
        used_up = self.policy.partitionable_slots == "carve" and self.partitions.is_used_up(slot)
        if used_up and not self.free.is_taken(slot):
            self.free.take(slot)
            self.free_weight.take(slot)
        return Allotment((self.keys[slot], len(self.decision.matches)), carving.cost, carving)
