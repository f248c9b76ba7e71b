"""The ledger of a cycle: use, free slots and decisions, which all turns read and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.classad import AdColumns, EvaluationBudget
from fairq.engine.negotiation.budgets import Stopwatch
from fairq.engine.negotiation.candidates import CandidateLists
from fairq.engine.negotiation.concurrency import ConcurrencyLimits
from fairq.engine.negotiation.decision import (
    AlikeMatches,
    CycleDecision,
    Match,
    MatchReason,
    ProcRange,
    SubmitterDecision,
)
from fairq.engine.negotiation.evaluation import ContextOf, RequestContext
from fairq.engine.negotiation.free_slots import FreeResources, FreeWeight, TakenSlots
from fairq.engine.negotiation.kind_slots import Kinds
from fairq.engine.negotiation.limits import Limits, PieRules
from fairq.engine.negotiation.partitionable import jobs_in_slot
from fairq.engine.negotiation.pieces import Carving
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import NONE, PRIO, RANK, PreemptionCounts, PreemptState
from fairq.engine.negotiation.queue import Numbers
from fairq.engine.negotiation.rejections import RejectedMany, Rejection, RejectReason
from fairq.engine.negotiation.remote_attributes import InUse
from fairq.engine.negotiation.slices import Demands
from fairq.engine.negotiation.submitters import ScheddLimits, Submitter
from fairq.engine.sums import added

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups

RejectionObserver = Callable[[Rejection, RequestContext, Kinds], None]
"""Called for a rejection with its request, and the kinds of jobs with their current slots."""

_REASONS = {NONE: MatchReason.NO_PREEMPTION, RANK: MatchReason.RANK, PRIO: MatchReason.PRIORITY}

_STEP_COST, _LIST_COST, _SLOTS_PER_COST = 50, 200, 10
"""The work of a step of a turn and of a new list, in slots looked at; and how many listed slots count as one."""


class Allotment(NamedTuple):
    """The resources of matches: the *keys* of their charges, the weight of each, and the part carved out of a slot.

    *evicted* are the dynamic slots preempted to make room on a slot matched as a whole; None: it needs no room.
    """

    keys: list[SlotKey]
    cost: float
    carving: Carving | None = None
    evicted: tuple[int, ...] | None = None


class Ledger(Struct, frozen=True):
    """The data that all turns of a cycle share.

    Args:
        accountant: charged for the matches.
        policy, kinds, lists, concurrency: as in the cycle.
        ads: an ad of each autocluster.
        has_limits: whether any job has concurrency limits.
        decision: the decision, to which matches and rejections are added.
        groups: the accounting groups; None: there are none.
        schedds: the number of jobs that the schedds still offer.
        taken, free_weight: the slots that are taken, and the weight of those that are free.
        keys: the accountant's keys of the slots.
        cost: the weight of every slot.
        running: per slot, the submitter of its running job.
        preemptions: the jobs preempted in this cycle.
        demands: the slot weight that each submitter uses or could use.
        in_use: the use as expressions see it.
        slots: the slots' ads.
        now: seconds since 1970.
        stopwatch: measures the time budgets; None: there are none.
        observer: called for every rejection.
        budget: measures the cost of expressions by submitter; None: no measurement.
    """

    accountant: Accountant
    policy: NegotiationPolicy
    kinds: Kinds
    lists: CandidateLists
    concurrency: ConcurrencyLimits
    ads: Sequence[Ad]
    has_limits: bool
    decision: CycleDecision
    groups: Groups | None
    schedds: ScheddLimits
    taken: TakenSlots
    free_weight: FreeWeight | FreeResources
    keys: Sequence[SlotKey]
    cost: Sequence[float]
    running: Sequence[str | None]
    preemptions: PreemptionCounts
    demands: Demands
    in_use: InUse
    slots: AdColumns
    now: int
    stopwatch: Stopwatch | None
    observer: RejectionObserver | None
    budget: EvaluationBudget | None

    def weighted_used(self, name: str) -> float:
        """Return the slot weight that a submitter or group uses now."""
        return self.accountant.weighted_used(name)

    def publish_share(self, name: str, share: float, limit: float) -> None:
        """Store a submitter's share and limit for the accountant's reports."""
        record = self.accountant.record(name)
        record.submitter_share, record.submitter_limit = share, limit

    @property
    def work(self) -> int:
        """The work of all turns so far, in slots looked at: their steps, and the lists that they built."""
        steps = len(self.decision.matches.steps) + len(self.decision.rejections.entries)
        return steps * _STEP_COST + self.lists.built * (_LIST_COST + len(self.cost) // _SLOTS_PER_COST)

    def regroups(self, group: str) -> bool:
        """Return whether a group's turn is the second chance for submitters of other groups."""
        return self.groups is not None and self.groups.regroups(group)

    def allot(self, slots: list[int]) -> Allotment:
        """Take *slots*, or the proposed part of a divided slot; return the resources taken."""
        parts, rooms, slot = self.kinds.parts, self.lists.rooms, slots[0]
        carving = None if parts is None else parts.carve(slot)
        if parts is None or carving is None:
            self.taken.take(slots)
            self.free_weight.take_all(slots)
            room = None if rooms is None else rooms.on(slot)
            if room is None:
                return Allotment([self.keys[slot] for slot in slots], self.cost[slot])
            # The use of the victims still counts in this cycle, as in the negotiator.
            return Allotment([self.keys[slot]], room.cost, None, room.victims)
        for victim in carving.victims:
            self.accountant.remove_match(self.keys[victim], self.now)
        self.taken.take(carving.victims)
        self.free_weight.take(slot, carving.cost - sum((self.cost[victim] for victim in carving.victims), 0.0))
        used_up = self.policy.partitionable_slots == "carve" and parts.partitions.is_used_up(slot)
        if used_up and slot not in self.taken.used_up:
            self.taken.use_up([slot])
            self.free_weight.take(slot)
        return Allotment([(self.keys[slot], len(self.decision.matches))], carving.cost, carving)

    def packed_jobs(self, slot: int, job: Ad) -> int:
        """Return the number of jobs that a match represents (matchmaker.cpp, jobsInSlot).

        With depth first, today's negotiator expects a schedd to pack every slot, even a static one.
        """
        if self.policy.partitionable_slots != "whole":
            return 1
        parts, rooms = self.kinds.parts, self.lists.rooms
        if parts is not None and parts.number_of[slot] >= 0:
            parts.partitions.show()
            return jobs_in_slot(parts.partitions.ads, int(parts.number_of[slot]), job)
        room = None if rooms is None else rooms.on(slot)
        return jobs_in_slot(self.slots, slot, job) if room is None else jobs_in_slot(room.ads, room.ad, job)

    def request_context(self, decision: SubmitterDecision, kind: int, group: str) -> RequestContext:
        """Return the request for a submitter's kind of job in a group's turn, with the current attributes."""
        priority = decision.effective_priority
        added: Ad = {
            "submitteruserprio": priority,
            "submittorprio": priority,
            "submitteruserresourcesinuse": self.in_use.of_user(decision.submitter),
            "submitternegotiatinggroup": group,
            "submitterautoregroup": False,
        }
        if self.groups is not None:
            added |= self.groups.attributes(decision.submitter, group)
        return RequestContext(kind, self.ads[kind], decision.submitter, priority, added)


class Entries:
    """Writes the matches of one turn, with their charges, and its rejections into the ledger."""

    def __init__(self, ledger: Ledger, submitter: Submitter, limits: Limits, rules: PieRules) -> None:
        self._ledger, self._submitter, self._limits, self._rules = ledger, submitter, limits, rules
        self._group = rules.quota.group
        self._regroups = ledger.regroups(self._group)

    def match(
        self,
        jobs: list[ProcRange],
        request: tuple[int, int] | None,
        slots: list[int],
        state: PreemptState,
        text: str | None,
        rank: float | None,
    ) -> None:
        """Charge matches of *jobs* with *slots* of one class, and record them.

        *request* is the first job of their request; None: each job is a request. *text* are the concurrency limits
        that the job uses. *rank* is the slot's Rank for the job; None: it is in `Kinds.ranks_of_all`.
        """
        ledger, submitter, decision = self._ledger, self._submitter, self._submitter.decision
        name, schedd, count = submitter.name, submitter.schedd, len(slots)
        keys, cost, carving, evicted = ledger.allot(slots)
        if state != NONE and carving is None and evicted is None:
            ledger.accountant.preempt(name, keys[0], cost, ledger.now)
        else:
            ledger.accountant.add_matches(name, keys, cost)
        self._limits.use(cost, count, claimed=state != NONE)
        decision.matched += count
        ledger.schedds.use(schedd, count)
        decision.matched_weight = added(decision.matched_weight, cost, count)
        if rank is None:
            ranks = ledger.kinds.ranks_of_all
            assert ranks is not None
            alike = AlikeMatches(name, schedd, jobs, request, slots, keys, cost, ranks, self._group, self._regroups)
            ledger.decision.matches.extend(alike)
            return
        room_victims = evicted or (() if carving is None else carving.victims)
        if state != NONE:
            ledger.preemptions.use(name, len(room_victims) or 1)
        preempted_slot = room_victims[0] if room_victims else slots[0]
        preempted = None if state == NONE else ledger.running[preempted_slot]
        job, reason = (jobs[0].cluster, jobs[0].first), _REASONS[state]
        # Positional arguments: keywords take three times as long.
        ledger.decision.matches.append(
            Match(
                *(name, schedd, *job, request or job, slots[0], cost, rank, self._group, reason, preempted),
                *(carving, keys[0], text, self._regroups, evicted),
            )
        )

    def refuse(
        self, job: tuple[int, int], reason: RejectReason, context: RequestContext, names: tuple[str, ...]
    ) -> None:
        """Record that a *job* was refused; *names* are the concurrency limits that were used up."""
        submitter, limits = self._submitter, self._limits
        submitter.decision.rejected += 1
        is_limited = reason is RejectReason.SUBMITTER_LIMIT or limits.is_used_up
        quota_group = (limits.stopped_by or self._rules.quota_group) if is_limited else None
        rejection = Rejection(submitter.name, submitter.schedd, job, reason, self._group, quota_group, names)
        self._ledger.decision.rejections.append(rejection)
        if self._ledger.observer is not None:
            self._ledger.observer(rejection, context, self._ledger.kinds)

    def refuse_many(
        self, kinds: Numbers, clusters: Numbers, procs: Numbers, why: NDArray[np.uint8], context_of: ContextOf
    ) -> None:
        """Record that the first jobs of requests were refused: their *kinds*, and *why* as indices in `OF_MANY`."""
        submitter, limits = self._submitter, self._limits
        submitter.decision.rejected += len(kinds)
        entry = RejectedMany(
            *(submitter.name, submitter.schedd, clusters, procs, why, self._group),
            *(limits.stopped_by or self._rules.quota_group, limits.is_used_up),
        )
        self._ledger.decision.rejections.append(entry)
        if self._ledger.observer is not None:
            for kind, rejection in zip(kinds.tolist(), entry.each(), strict=True):
                self._ledger.observer(rejection, context_of(kind), self._ledger.kinds)
