"""One negotiation cycle: who gets which slot, and why not more.

docs/htcondor.md 3.1; matchmaker.cpp, negotiationTime.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairq.engine.accounting.accountant import Accountant, SlotUse
from fairq.engine.accounting.removal import removable
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.budgets import Clock, Stopwatch
from fairq.engine.negotiation.candidates import Candidates, Holders
from fairq.engine.negotiation.concurrency import ConcurrencyLimits
from fairq.engine.negotiation.decision import (
    CycleDecision,
    Match,
    MatchReason,
    Rejection,
    RejectReason,
    StopReason,
    SubmitterDecision,
)
from fairq.engine.negotiation.global_prios import merge_neighbours, split_by_priority
from fairq.engine.negotiation.groups import Groups
from fairq.engine.negotiation.matchlist import NONE, PRIO, RANK, FreeSlots, Limits
from fairq.engine.negotiation.ordering import static_ranks
from fairq.engine.negotiation.participants import JobConstraint, slots_seen, slots_taking_part, submitters_taking_part
from fairq.engine.negotiation.partitionable import Partitions, divided_slots
from fairq.engine.negotiation.pie import Contender, Pie, PieQuota, PieRules
from fairq.engine.negotiation.piece import Piece
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.remote_attributes import RemoteAttributes
from fairq.engine.negotiation.requests import RequestQueue, job_order
from fairq.engine.negotiation.shared_work import Asker
from fairq.engine.negotiation.slots import (
    candidate_slots,
    holders_of,
    running_on,
    slot_weights,
    tie_order,
    users_of,
    weights_in_pie,
)
from fairq.engine.negotiation.snapshot import Jobs, PoolSlots, SubmitterQueue
from fairq.engine.negotiation.turn import Job, Turn, TurnEnd
from fairq.records import JobRange

Watch = Callable[[Rejection, Asker, Candidates], None]
"""Told of a rejection: who asked, and the candidates as they stand at that moment."""

_REASONS = {NONE: MatchReason.NO_PREEMPTION, RANK: MatchReason.RANK, PRIO: MatchReason.PRIORITY}


def negotiate(
    pool: PoolSlots,
    jobs: Jobs,
    accountant: Accountant,
    policy: NegotiationPolicy,
    now: int,
    round_robin_times: Mapping[str, int] | None = None,
    watch: Watch | None = None,
    clock: Clock | None = None,
) -> CycleDecision:
    """Hold one negotiation cycle at *now* (seconds since 1970).

    *round_robin_times* are those that the decision of the last cycle has (`CycleDecision`). *watch* is told of
    every rejection as it happens. *clock* is what the policy's time budgets are measured by; without one there
    are none.

    The accountant's records are brought up to date, charged for the slots found in use and for the matches
    made; everything else that was decided is in the result.
    """
    return NegotiationCycle(pool, jobs, accountant, policy, now, round_robin_times or {}, watch, clock).run()


class NegotiationCycle:
    """The state of one cycle while it runs; `negotiate` is the way in.

    Who explains it looks at its `candidates`, the `concurrency` limits, and the `cost` of every slot.
    """

    def __init__(
        self,
        pool: PoolSlots,
        jobs: Jobs,
        accountant: Accountant,
        policy: NegotiationPolicy,
        now: int,
        round_robin_times: Mapping[str, int],
        watch: Watch | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._stopwatch = None
        if clock is not None and policy.budgets is not None:
            self._stopwatch = Stopwatch(policy.budgets, clock)
        self._watch = watch
        self._pool = pool
        self._budget = pool.ads.budget
        self._policy = policy
        self._accountant = accountant
        self._now = now
        weights = slot_weights(pool.ads, policy)
        self.cost: list[float] = weights.tolist()
        accountant.update(now)
        accountant.check_matches(
            (
                SlotUse(pool.keys[row], user, self.cost[row])
                for row, user in enumerate(users_of(pool.ads, policy))
                if user is not None
            ),
            now,
        )
        for name in removable(accountant.records.values(), accountant.policy):
            accountant.forget(name)
        shared = slots_taking_part(pool.ads, policy)
        candidates = candidate_slots(pool, policy)
        self._free = FreeSlots(candidates)
        self._groups: Groups | None = None
        if policy.quotas is not None:
            self._groups = Groups(pool.ads, self.cost, accountant, policy, now, round_robin_times)
        static = static_ranks(pool.ads, policy)
        self._holders = self._find_holders()
        self._partitions = self._find_partitions(candidates)
        self.candidates = Candidates(
            pool, policy, self.cost, self._holders, tie_order(pool.names, policy), self._free, self._partitions, static
        )
        self.concurrency = ConcurrencyLimits(policy.limits, pool.ads, slots_seen(pool.ads, policy))
        requests = [] if self._partitions is None else self._partitions.requests()
        constraint = policy.job_constraint
        self._autoclusters = Autoclusters(
            jobs.ads,
            pool.ads,
            [*policy.expressions_on_jobs, *requests],
            [constraint] if constraint else [],
            policy.significant,
        )
        queues, kept_out = submitters_taking_part(jobs.queues, policy, now, pool.ads.budget)
        jobs = Jobs(queues, jobs.ads)
        self._contenders = self._find_contenders(jobs)
        if self._groups is not None:
            self._groups.enrol(self._contenders, jobs)
        self.decision = CycleDecision(
            rules=policy.rules,
            time=now,
            slots=int(np.count_nonzero(shared)),
            candidates=self._free.left,
            pie=float(sum(weights_in_pie(pool.ads, weights, policy).tolist())),
            min_slot_weight=self._least_weight(shared),
            submitters=[
                *{id(contender.decision): contender.decision for contender in self._contenders}.values(),
                *map(self._decision_without, kept_out),
            ],
        )

    def run(self) -> CycleDecision:
        """Deal the pie: one for everybody, or one for each group in its turns."""
        if self._groups is None:
            self.deal(self._contenders)
        else:
            self._groups.negotiate(self.deal, self.decision)
        if self._stopwatch is not None:
            self.decision.time_budgets_used_up = sorted(self._stopwatch.used_up)
        self.decision.overruns = [] if self._budget is None else list(self._budget.overruns)
        self.decision.limits = self.concurrency.figures()
        self.decision.submitters.sort(key=lambda d: (d.effective_priority, d.submitter, d.schedd))
        return self.decision

    def examine(self, job: JobRange) -> Asker:
        """Who asks for the first job of a range, with the attributes of this moment."""
        name = (job.submitter, job.schedd)
        found = next(of for of in self.decision.submitters if (of.submitter, of.schedd) == name)
        autocluster = next(self._autoclusters.split(replace(job, last_proc=job.first_proc)))[0]
        evaluate_for(self._budget, Payer(job.submitter, autocluster, (job.cluster, job.first_proc)))
        return self._asker(found, autocluster, found.group)

    def weighted_used(self, name: str) -> float:
        """Slot weight that a submitter or group has in use at this moment."""
        return self._accountant.weighted_used(name)

    def in_order(self, contenders: Sequence[Contender]) -> list[Contender]:
        """Put them into the order of their turns."""
        ordered = sorted(contenders, key=lambda contender: contender.turn_order)
        return ordered if self._policy.global_job_prios is None else merge_neighbours(ordered)

    def slots_left(self) -> bool:
        """Whether any candidate slot is left."""
        return self._free.left > 0

    def publish_share(self, name: str, share: float, limit: float) -> None:
        """Note a submitter's share and limit for the accountant's reports."""
        record = self._accountant.record(name)
        record.submitter_share, record.submitter_limit = share, limit

    def negotiate(
        self, contender: Contender, limits: Limits, ignore_limit: bool, rules: PieRules
    ) -> TurnEnd:
        """Hold one submitter's turn, charging matches as they are made."""
        decision = contender.decision
        matches = self.decision.matches
        group = rules.quota.group

        def asker(autocluster: int) -> Asker:
            evaluate_for(self._budget, Payer(contender.name, autocluster, turn.offered))
            return self._asker(decision, autocluster, group)

        def take(
            job: Job, request: Job, autocluster: int, slot: int, state: int, concurrency_limits: str | None
        ) -> None:
            key, cost, piece = self._allot(slot)
            machine_rank = self.candidates.machine_rank(slot, lambda: asker(autocluster))
            from_whom = piece.victims[0] if piece is not None and piece.victims else slot
            holder = None if state == NONE else self._holders.running[from_whom]
            charge = self._accountant.preempt if state != NONE and piece is None else self._accountant.add_match
            charge(contender.name, key, cost, self._now)
            limits.use(cost, state != NONE)
            decision.matched += 1
            decision.matched_weight += cost
            reason = _REASONS[state]
            matches.append(
                Match(
                    contender.name,
                    contender.schedd,
                    *job,
                    request,
                    slot,
                    cost,
                    machine_rank,
                    group,
                    reason,
                    holder,
                    piece,
                    key,
                    concurrency_limits,
                    self._groups is not None and self._groups.regroups(group),
                )
            )

        def refuse(request: Job, reason: RejectReason, autocluster: int, used_up: tuple[str, ...]) -> None:
            decision.rejected += 1
            is_limited = reason is RejectReason.SUBMITTER_LIMIT or limits.used >= limits.limit
            quota_group = rules.quota_group if is_limited else None
            rejection = Rejection(contender.name, contender.schedd, request, reason, group, quota_group, used_up)
            self.decision.rejections.append(rejection)
            if self._watch is not None:
                self._watch(rejection, asker(autocluster), self.candidates)

        time = None
        if self._stopwatch is not None:
            time = self._stopwatch.turn(contender.name, contender.schedd)
            if time.over:
                decision.time_budget = time.budget
                return TurnEnd(True, StopReason.TIME)
        turn = Turn(self.candidates, asker, limits, self.concurrency, self._policy, ignore_limit, time)
        end = turn.run(contender.queue, take, refuse)
        evaluate_for(self._budget, NOBODY)
        if self._stopwatch is not None and time is not None:
            self._stopwatch.end(time, contender.name, contender.schedd)
            decision.time_budget = time.budget if end.reason is StopReason.TIME else None
        kept_out = contender.queue.kept_out
        if end.reason is StopReason.NO_MORE_JOBS and kept_out and decision.matched + kept_out >= decision.idle:
            end = TurnEnd(end.satisfied, StopReason.JOB_CONSTRAINT)
        if not self.slots_left() and contender.decision.matched < contender.decision.idle:
            end = TurnEnd(end.satisfied, StopReason.NO_SLOTS)
        return end

    def deal(self, contenders: Sequence[Contender], quota: PieQuota | None = None) -> list[Contender]:
        """Deal the floors of those below theirs, then a pie; return who is still in want of more."""
        policy = self._policy
        rules = PieRules(
            total=self.decision.pie,
            min_slot_weight=self.decision.min_slot_weight,
            consider_preemption=policy.consider_preemption,
            ignore_user_priorities=policy.ignore_user_priorities,
            floor_counts_usage=policy.floor_counts_usage,
            settled_preemption=policy.settled_preemption,
            quota=quota or PieQuota(),
        )
        below = [c for c in contenders if 0 < c.decision.floor > self.weighted_used(c.name)]
        if below:
            self._spin(replace(rules, floor_round=True), below)
        return self._spin(rules, contenders)

    def _spin(self, rules: PieRules, contenders: Sequence[Contender]) -> list[Contender]:
        pie = Pie(self, rules, contenders)
        pie.deal()
        self.decision.spins += pie.spins
        return pie.contenders

    def _asker(self, of: SubmitterDecision, autocluster: int, group: str) -> Asker:
        used = self.weighted_used(of.submitter)
        priority = of.effective_priority
        ephemeral = {
            "submitteruserprio": priority,
            "submittorprio": priority,
            "submitteruserresourcesinuse": used,
            "submitternegotiatinggroup": group,
            "submitterautoregroup": False,
        }
        if self._groups is not None:
            ephemeral |= self._groups.attributes(of.submitter, group)
        job = self._autoclusters.kinds[autocluster]
        return Asker(autocluster, job, of.submitter, priority, ephemeral)

    def _allot(self, slot: int) -> tuple[Hashable, float, Piece | None]:
        """Take a slot, or of one that is divided what was proposed: what is charged, its weight, the piece."""
        piece = None if self._partitions is None else self._partitions.carve(slot)
        if piece is None:
            self._free.take(slot)
            return self._pool.keys[slot], self.cost[slot], None
        assert self._partitions is not None
        for victim in piece.victims:
            self._accountant.remove_match(self._pool.keys[victim], self._now)
            self._free.take(victim)
        used_up = self._policy.partitionable_slots == "carve" and self._partitions.is_used_up(slot)
        if used_up and not self._free.is_taken(slot):
            self._free.take(slot)
        return (self._pool.keys[slot], len(self.decision.matches)), piece.cost, piece

    def _find_partitions(self, candidates: NDArray[np.bool_]) -> Partitions | None:
        policy = self._policy
        divided = divided_slots(self._pool.ads, policy.partitionable_slots, candidates, self._holders.held)
        if not divided.any():
            return None
        partitions = Partitions(self._pool.ads, divided)
        if policy.partitionable_slots == "carve":
            for row in partitions.parts:
                if partitions.is_used_up(row):
                    self._free.take(row)
        return partitions

    def _least_weight(self, shared: NDArray[np.bool_]) -> float:
        """The smallest weight that a match can have: of any slot taking part, or of any job in one that is carved."""
        costs = [cost for cost, part in zip(self.cost, shared.tolist(), strict=True) if part]
        if self._partitions is None or self._policy.partitionable_slots == "whole":
            return min(costs, default=0.0)
        least = self._partitions.least_piece(self._autoclusters.kinds, self._policy)
        parts = self._partitions.parts
        whole = (self.cost[row] for row in np.flatnonzero(shared).tolist() if row not in parts)
        smallest = min((*whole, least))
        return 0.0 if smallest == np.inf else smallest

    def _find_holders(self) -> Holders:
        size = len(self.cost)
        names: list[str | None] = [None] * size
        if self._policy.consider_preemption:
            names = holders_of(self._pool.ads)
        held = np.array([name is not None for name in names], np.bool_)
        if not held.any():
            return Holders(held, names, names, np.full(size, np.nan))
        remote = RemoteAttributes(self._pool.ads, names, self._accountant, self._groups, self._policy)
        known: dict[str | None, float] = {name: self._accountant.effective_priority(name) for name in remote.known}
        priorities = np.array([known.get(name, np.nan) for name in names])
        return Holders(held, names, running_on(self._pool.ads, names), priorities, remote)

    def _find_contenders(self, jobs: Jobs) -> list[Contender]:
        order = job_order(jobs.ads)
        policy = self._policy
        most, constraint, kinds = policy.global_job_prios, policy.job_constraint, self._autoclusters.kinds
        admits = None if constraint is None else JobConstraint(constraint, self._now, kinds, self._budget).admits
        contenders: list[Contender] = []
        for queue in jobs.queues:
            requests = RequestQueue(
                queue,
                order,
                self._autoclusters,
                policy.jobs_per_turn,
                admits=admits,
                skip_by=policy.skip_by,
                by_priority=most is not None,
            )
            contender = Contender(queue.name, queue.schedd, requests, self._decision(queue))
            contenders += [contender] if most is None else split_by_priority(contender, requests, most)
        return contenders

    def _decision(self, queue: SubmitterQueue) -> SubmitterDecision:
        record = self._accountant.record(queue.name)
        return SubmitterDecision(
            submitter=queue.name,
            schedd=queue.schedd,
            effective_priority=self._accountant.effective_priority(queue.name),
            idle=sum(map(len, queue.idle)),
            running=queue.running_jobs,
            used_before=record.weighted_resources_used,
            ceiling=record.ceiling,
            floor=record.floor,
        )

    def _decision_without(self, queue: SubmitterQueue) -> SubmitterDecision:
        """The record of a submitter that takes no part."""
        decision = self._decision(queue)
        if decision.idle:
            decision.stopped = StopReason.SUBMITTER_CONSTRAINT
        return decision
