"""One negotiation cycle: matches, and the reasons for no more.

Read it from top to bottom: `NegotiationCycle` prepares a cycle, `run` divides the pie. Continue with `pie` (or
`groups`), `turn`, `candidates`, `match_list`. docs/htcondor.md 3.1; matchmaker.cpp, negotiationTime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.removal import removable
from fairq.engine.classad import evaluate_in_columns
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.dominance import DominantResources
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.budgets import Clock, Stopwatch
from fairq.engine.negotiation.candidates import CandidateLists
from fairq.engine.negotiation.concurrency import ConcurrencyLimits
from fairq.engine.negotiation.decision import CycleDecision, StopReason
from fairq.engine.negotiation.dynamic_slots import PslotPreemption, rolled_up
from fairq.engine.negotiation.evaluation import RequestContext, ShapedExpressions
from fairq.engine.negotiation.free_slots import FreeResources, FreeWeight, TakenSlots
from fairq.engine.negotiation.groups import Groups, deal_group_pies, deal_leftovers_of_groups, pool_size
from fairq.engine.negotiation.kind_slots import GONE, Kinds
from fairq.engine.negotiation.ledger import Ledger, RejectionObserver
from fairq.engine.negotiation.limits import PieQuota
from fairq.engine.negotiation.order import StaticRanks, static_ranks
from fairq.engine.negotiation.partitionable import Partitions, divided_slots
from fairq.engine.negotiation.parts import Parts
from fairq.engine.negotiation.pie import deal_pie
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import (
    PoolSlots,
    candidate_slots,
    pie_rows,
    show_negotiator_requirements,
    size_of,
    slot_weights,
    slots_seen,
    slots_taking_part,
    slots_usable,
    users_of,
    with_pool,
)
from fairq.engine.negotiation.preemption import PreemptionCounts, permits_preemption
from fairq.engine.negotiation.queue import Jobs, Queue
from fairq.engine.negotiation.remote_attributes import Holders, InUse, find_holders, siblings_are_named
from fairq.engine.negotiation.resource_shares import ResourceUse
from fairq.engine.negotiation.rooms import Rooms
from fairq.engine.negotiation.slices import Demands
from fairq.engine.negotiation.submitters import (
    JobConstraint,
    ScheddLimits,
    decision_without,
    find_submitters,
    submitters_taking_part,
)

_PAIRS_PER_SLOT = 200
"""The number of pairs of a slot and an autocluster that cost as much work as one slot looked at."""


def negotiate(
    pool: PoolSlots,
    jobs: Jobs,
    accountant: Accountant,
    policy: NegotiationPolicy,
    now: int,
    round_robin_times: Mapping[str, int] | None = None,
    observer: RejectionObserver | None = None,
    clock: Clock | None = None,
) -> CycleDecision:
    """Run one negotiation cycle at *now* (seconds since 1970).

    *round_robin_times* come from the decision of the last cycle (`CycleDecision`). *observer* is called for every
    rejection. *clock* measures the policy's time budgets; without a clock there are none.

    The accountant's records are updated and charged for the slots in use and for the matches. All other decisions are
    in the result.
    """
    bring_up_to_date(pool, accountant, policy, now)
    return NegotiationCycle(pool, jobs, accountant, policy, now, round_robin_times or {}, observer, clock).run()


def bring_up_to_date(pool: PoolSlots, accountant: Accountant, policy: NegotiationPolicy, now: int) -> None:
    """Charge all submitters up to *now* for the slots in use, and remove records that no longer matter."""
    if now != accountant.last_update:
        accountant.forget_shares()
    accountant.update(now)
    users = users_of(pool.ads, policy)
    accountant.check_matches(pool.keys, users, slot_weights(pool.ads, policy), now)
    for name in removable(accountant.records.values(), accountant.policy):
        accountant.forget(name)


class NegotiationCycle:
    """The state of a running cycle; `negotiate` is the entry point.

    Call `bring_up_to_date` first. Explanations read its `kinds`, the `concurrency` limits, and the `cost` of every
    slot.
    """

    def __init__(
        self,
        pool: PoolSlots,
        jobs: Jobs,
        accountant: Accountant,
        policy: NegotiationPolicy,
        now: int,
        round_robin_times: Mapping[str, int],
        observer: RejectionObserver | None = None,
        clock: Clock | None = None,
    ) -> None:
        stopwatch = None if clock is None or policy.budgets is None else Stopwatch(policy.budgets, clock)
        usable = slots_usable(pool.ads, policy)
        self._pool = pool = replace(pool, draining=pool.draining | frozenset(np.flatnonzero(~usable).tolist()))
        self._policy = policy = with_pool(policy, pool.ads)
        self._accountant, self._now, self._budget = accountant, now, pool.ads.budget
        if policy.rules == "htcondor":
            show_negotiator_requirements(pool.ads)
        weights = slot_weights(pool.ads, policy)
        self.cost: list[float] = weights.tolist()
        shared = slots_taking_part(pool.ads, policy) & usable
        candidates = candidate_slots(pool, policy)
        taken = TakenSlots(candidates)
        in_pie = pie_rows(pool.ads, weights, policy)
        self._groups = None
        if policy.quotas is not None:
            self._groups = Groups(
                pool_size(pool.ads, weights, policy), accountant, policy, now, round_robin_times, self._budget
            )
        static = static_ranks(pool.ads, policy)
        holders = self._find_holders(sees_siblings=False)
        partitions = self._find_partitions(candidates, holders)
        free_weight = self._find_free_weight(in_pie, candidates & ~holders.held, partitions)
        if partitions is not None and policy.partitionable_slots == "carve":
            taken.use_up([row for row in partitions.parts if partitions.is_used_up(row)])
            free_weight.take_all(sorted(taken.used_up))
        schedds = ScheddLimits(policy.max_jobs_running, jobs.queues)
        queues, excluded = submitters_taking_part(jobs.queues, policy, now, self._budget)
        jobs = Jobs(queues, jobs.ads, jobs.kinds)
        self._find_submitters(jobs, schedds, partitions)
        ads = self._autoclusters.kinds
        if holders.changing is not None and policy.cross_slot_prios and siblings_are_named(policy, pool.ads, ads):
            # More attributes of slots may change which attributes the autoclusters depend on.
            holders = self._find_holders(sees_siblings=True)
            self._find_submitters(jobs, schedds, partitions)
            ads = self._autoclusters.kinds
        self._shaped = ShapedExpressions(pool.ads, ("Rank", "Requirements"))
        limited = self._autoclusters.limited
        self.kinds = self._find_kinds(holders, weights, taken, static, partitions)
        counted_slots = slots_seen(pool.ads, policy)
        self.concurrency = ConcurrencyLimits(
            policy.limits, pool.ads, ads, counted_slots, as_today=policy.rules == "htcondor"
        )
        if self._groups is not None:
            self._groups.enrol(self._submitters, jobs)
        decisions = {(submitter.name, submitter.schedd): submitter.decision for submitter in self._submitters}
        self.decision = CycleDecision(
            rules=policy.rules,
            time=now,
            slots=int(np.count_nonzero(shared)),
            candidates=taken.left,
            pie=size_of(in_pie),
            min_slot_weight=self._least_weight(weights, shared, partitions),
            submitters=[*decisions.values(), *(decision_without(queue, accountant) for queue in excluded)],
        )
        least, may_preempt = self.decision.min_slot_weight, permits_preemption(policy)
        self._ledger = Ledger(
            accountant=accountant,
            policy=policy,
            kinds=self.kinds,
            lists=CandidateLists(self.kinds, self._rooms, has_limits=bool(limited)),
            concurrency=self.concurrency,
            ads=ads,
            has_limits=bool(limited),
            decision=self.decision,
            groups=self._groups,
            schedds=schedds,
            taken=taken,
            free_weight=free_weight,
            keys=pool.keys,
            cost=self.cost,
            running=holders.running,
            preemptions=PreemptionCounts(policy),
            demands=Demands(
                *(jobs, accountant, self._groups, policy, least, self._budget),
                may_preempt=may_preempt,
                use=self._find_resource_use(in_pie, partitions) if may_preempt else None,
            ),
            in_use=InUse(accountant, policy.resources_in_use),
            slots=pool.ads,
            now=now,
            stopwatch=stopwatch,
            observer=observer,
            budget=self._budget,
        )

    def run(self) -> CycleDecision:
        """Divide one pie for all submitters, or one for each turn of a group; return the decision."""
        ledger, decision = self._ledger, self.decision
        if self._groups is None:
            deal_pie(ledger, self._submitters, PieQuota())
        else:
            deal_group_pies(ledger, self._groups)
            if self._policy.last_dealing and ledger.free_weight.total > 0:
                deal_leftovers_of_groups(ledger, self._groups)
        if self._rooms is not None:
            for slot in (slot for match in decision.matches.single for slot in match.evicted or ()):
                self._accountant.evict(self._pool.keys[slot], self._now)
        evaluate_for(self._budget, NOBODY)
        self._shaped.restore()
        if ledger.stopwatch is not None:
            decision.time_budgets_used_up = sorted(ledger.stopwatch.used_up)
        decision.overruns = [] if self._budget is None else list(self._budget.overruns)
        decision.limits = self.concurrency.figures()
        decision.dominant = self._dominant_resources()
        if len(self._pool.draining) == len(self._pool.names):
            for submitter in decision.submitters:
                if submitter.stopped is StopReason.NO_SLOTS:
                    submitter.stopped = StopReason.UNUSABLE if self._pool.names else StopReason.NO_POOL
        decision.submitters.sort(key=lambda entry: (entry.effective_priority, entry.submitter, entry.schedd))
        return decision

    def examine(self, job: JobRange) -> RequestContext:
        """Return the request for the first job of a range, with the current attributes."""
        name = (job.submitter, job.schedd)
        submitter = next(entry for entry in self.decision.submitters if (entry.submitter, entry.schedd) == name)
        kind = next(self.autoclusters_of(replace(job, last_proc=job.first_proc)))[0]
        evaluate_for(self._budget, Payer(job.submitter, kind, (job.cluster, job.first_proc)))
        return self._ledger.request_context(submitter, kind, submitter.group)

    def queue_of(self, name: str, schedd: str) -> Queue | None:
        """Return the queue of a submitter, None if it takes no part."""
        return next(
            (submitter.queue for submitter in self._submitters if (submitter.name, submitter.schedd) == (name, schedd)),
            None,
        )

    def autoclusters_of(self, job: JobRange) -> Iterator[tuple[int, int, int]]:
        """Return the autoclusters of a range of jobs as (number, first proc, last proc)."""
        return self._autoclusters.split(job)

    @property
    def pairs(self) -> int:
        """The maximum work for pairs of a slot and an autocluster, in slots looked at."""
        return len(self.cost) * len(self._autoclusters.kinds) // _PAIRS_PER_SLOT

    @property
    def work(self) -> int:
        """The work of the cycle, in slots looked at: `pairs`, and that of the turns (`Ledger.work`)."""
        return self.pairs + self._ledger.work

    def same_cluster(self, first_job: JobRange, second_job: JobRange) -> bool:
        """Return whether two jobs (the first of each range) are in one cluster for cluster skipping."""
        chosen = self._policy.significant.chosen
        if not chosen:
            return first_job.cluster == second_job.cluster
        values = self._autoclusters.values_of(chosen | self._policy.significant.added)
        first, second = (next(self.autoclusters_of(job))[0] for job in (first_job, second_job))
        return values(first) == values(second)

    @property
    def divides(self) -> bool:
        """Whether matches may take only a part of a slot, or make room on it."""
        return self.kinds.parts is not None or self._rooms is not None

    def weighted_used(self, name: str) -> float:
        """Return the slot weight that a submitter or group uses now."""
        return self._accountant.weighted_used(name)

    def _find_submitters(self, jobs: Jobs, schedds: ScheddLimits, partitions: Partitions | None) -> None:
        """Number the autoclusters, and find the submitters with their queues."""
        policy, slots, constraint = self._policy, self._pool.ads, self._policy.job_constraint
        significant = policy.significant if policy.skip_by == "autocluster" else policy.significant.as_clusters()
        of_jobs = [constraint] if constraint else []
        on_jobs = policy.expressions_on_jobs
        if partitions is not None:
            of_jobs += policy.modify_requests.values()
            on_jobs += partitions.requests()
        self._autoclusters = autoclusters = Autoclusters(jobs.ads, slots, on_jobs, of_jobs, significant)
        admits = None
        if constraint is not None:
            admits = JobConstraint(constraint, self._now, autoclusters.kinds, self._budget).admits
        self._submitters = find_submitters(jobs, autoclusters, policy, self._accountant, schedds, admits)

    def _find_kinds(
        self,
        holders: Holders,
        weights: NDArray[np.float64],
        taken: TakenSlots,
        static: StaticRanks | None,
        partitions: Partitions | None,
    ) -> Kinds:
        """Prepare the kinds of jobs, with the parts and rooms of slots that they may get."""
        policy, pool, autoclusters = self._policy, self._pool, self._autoclusters
        carves = policy.partitionable_slots == "carve"
        is_rolled_up, any_held = rolled_up(pool.ads, policy), bool(holders.held.any())
        returns_resources = carves and policy.allow_pslot_preemption and bool(pool.carved) and any_held
        kinds = Kinds(
            pool,
            autoclusters.kinds,
            holders,
            policy,
            weights,
            taken,
            static if partitions is None else None,
            autoclusters.limited,
            is_rolled_up,
            slots_change=is_rolled_up is not None or (partitions is not None and (returns_resources or not carves)),
        )
        preemption = kinds.preemption
        self._rooms: Rooms | None = None
        if is_rolled_up is not None and any_held and kinds.static is None:
            divided = np.empty(0, np.intp) if partitions is None else partitions.rows
            self._rooms = Rooms(pool, policy, preemption, holders, taken, is_rolled_up & holders.held, divided)
            kinds.keeps_keys = True
        if partitions is not None:
            preempted = None
            if returns_resources:
                preempted = PslotPreemption(partitions, pool.carved, pool.ads, preemption, taken)
            kinds.divide(
                Parts(partitions, policy, kinds.ties, kinds.lists_held, autoclusters.kinds, kinds.evaluation, preempted)
            )
        return kinds

    def _find_partitions(self, candidates: NDArray[np.bool_], holders: Holders) -> Partitions | None:
        """Return the partitionable slots that are divided, None if there are none."""
        policy = self._policy
        divided = divided_slots(self._pool.ads, policy.partitionable_slots, candidates, holders.held)
        if not divided.any():
            return None
        return Partitions(self._pool.ads, divided, policy.partitionable_slots, policy.modify_requests, policy.dominant)

    def _dominant_resources(self) -> DominantResources | None:
        """Return the dominant resources of use and matches, None if weights are not dominant."""
        slots, dominant = self._pool.ads, self._policy.dominant
        if dominant is None:
            return None
        resources = DominantResources(dominant, slots, users_of(slots, self._policy))
        for match in self.decision.matches.single:
            amounts = None if match.carving is None else match.carving.amounts
            resources.add(match.submitter, resources.of([match.slot], amounts))
        for alike in self.decision.matches.alike:
            resources.add(alike.submitter, resources.of(alike.slots, None))
        return resources

    def _find_resource_use(self, in_pie: NDArray[np.float64], partitions: Partitions | None) -> ResourceUse | None:
        slots, dominant = self._pool.ads, self._policy.dominant
        if dominant is None:
            return None
        undivided = np.ones(len(slots), np.bool_)
        if self._policy.partitionable_slots == "carve" and partitions is not None:
            undivided = ~evaluate_in_columns("DynamicSlot", slots, {}).is_true()
            undivided[partitions.rows] = False
        return ResourceUse(dominant.weights(slots), in_pie, users_of(slots, self._policy), undivided)

    def _find_free_weight(
        self, in_pie: NDArray[np.float64], free: NDArray[np.bool_], partitions: Partitions | None
    ) -> FreeWeight | FreeResources:
        if self._policy.dominant is None:
            return FreeWeight(in_pie[0], free, self._pool.reserved)
        names = [f"request{name.lower()}" for name in self._policy.dominant.resources]

        def requested() -> NDArray[np.bool_]:
            """Return which resources are requested by kinds of jobs that may find a slot; cores always are."""
            kinds = (self._autoclusters.kinds[kind] for kind in np.flatnonzero(self.kinds.status != GONE).tolist())
            requested_names = {name for ad in kinds for name in names if ad.get(name, 0) != 0}
            return np.array([name in requested_names or not index for index, name in enumerate(names)])

        return FreeResources(in_pie, free, self._pool.reserved, partitions, requested)

    def _least_weight(
        self, weights: NDArray[np.float64], shared: NDArray[np.bool_], partitions: Partitions | None
    ) -> float:
        """Return the smallest possible weight of a match: of any slot taking part, or of any job in a carved slot."""
        if partitions is None or self._policy.partitionable_slots == "whole":
            return float(weights[shared].min()) if shared.any() else 0.0
        undivided = shared.copy()
        undivided[partitions.rows] = False
        least = partitions.least_piece(self._autoclusters.kinds, self._policy)
        smallest = float(weights[undivided].min(initial=least))
        return 0.0 if smallest == np.inf else smallest

    def _find_holders(self, *, sees_siblings: bool) -> Holders:
        return find_holders(self._pool, self._policy, self._accountant, self._groups, sees_siblings)
