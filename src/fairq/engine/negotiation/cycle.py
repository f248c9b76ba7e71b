"""One negotiation cycle: matches, and the reasons for no more.

docs/htcondor.md 3.1; matchmaker.cpp, negotiationTime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.removal import removable
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.budgets import Clock, Stopwatch
from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.concurrency import ConcurrencyLimits
from fairq.engine.negotiation.dealing import deal_pie
from fairq.engine.negotiation.decision import CycleDecision, StopReason
from fairq.engine.negotiation.demands import Demands
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.free_weight import FreeWeight
from fairq.engine.negotiation.goal import Goal, GoalReached
from fairq.engine.negotiation.holders import Holders, find_holders
from fairq.engine.negotiation.in_use import InUse
from fairq.engine.negotiation.ledger import Ledger, RejectionObserver
from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.ordering import static_ranks
from fairq.engine.negotiation.participants import (
    JobConstraint,
    decision_without,
    find_submitters,
    slots_seen,
    slots_taking_part,
    slots_usable,
    submitters_taking_part,
)
from fairq.engine.negotiation.partitionable import Partitions, divided_slots
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import permits_preemption
from fairq.engine.negotiation.request_columns import ColumnQueue
from fairq.engine.negotiation.schedd_limits import ScheddLimits
from fairq.engine.negotiation.slots import (
    candidate_slots,
    show_negotiator_requirements,
    slot_weights,
    tie_order,
    users_of,
    weights_in_pie,
)
from fairq.engine.negotiation.snapshot import Jobs, PoolSlots
from fairq.records import JobRange

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups
    from fairq.engine.negotiation.memory import Memory, Scene

MOST_SLOTS = 2000
"""In larger pools, the slots' attributes take longer to compare than to evaluate: a memory has the queues alone."""


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


_ALIKE = 200
"""So many pairs of a slot and an autocluster take as long to look at together as one slot."""


class NegotiationCycle:
    """The state of a running cycle; `negotiate` is the entry point.

    Use is counted before (`bring_up_to_date`). Explanations read its `candidates`, the `concurrency` limits, and the
    `cost` of every slot. With a *goal*, it ends when the goal is reached: nothing but the matches is complete then.
    *memory* is that of further cycles on nearly the same pool. If it *tells_rejections* not, it ends with the last
    slot, and only matches and groups are complete.
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
        goal: Goal | None = None,
        memory: Memory | None = None,
        tells_rejections: bool = True,
    ) -> None:
        self._stopwatch = None
        if clock is not None and policy.budgets is not None:
            self._stopwatch = Stopwatch(policy.budgets, clock)
        usable = slots_usable(pool.ads, policy)
        pool = replace(pool, draining=pool.draining | frozenset(np.flatnonzero(~usable).tolist()))
        self._pool = pool
        self._budget = pool.ads.budget
        self._policy = policy
        self._accountant = accountant
        self._now = now
        if policy.rules == "htcondor":
            show_negotiator_requirements(pool.ads)
        weights = slot_weights(pool.ads, policy)
        self.cost: list[float] = weights.tolist()
        shared = slots_taking_part(pool.ads, policy) & usable
        candidates = candidate_slots(pool, policy)
        self._free = FreeSlots(candidates)
        in_pie = weights_in_pie(pool.ads, weights, policy)
        self._groups: Groups | None = None
        if policy.quotas is not None:
            from fairq.engine.negotiation.groups import Groups

            self._groups = Groups(pool.ads, weights, accountant, policy, now, round_robin_times)
        static = static_ranks(pool.ads, policy)
        self._holders = self._find_holders(sees_siblings=False)
        self._free_weight = FreeWeight(in_pie, candidates & ~self._holders.held)
        self._partitions = self._find_partitions(candidates)
        self._schedds = ScheddLimits(policy.max_jobs_running, jobs.queues)
        queues, kept_out = submitters_taking_part(jobs.queues, policy, now, pool.ads.budget)
        jobs = Jobs(queues, jobs.ads, jobs.kinds)
        self._find_queues(jobs, memory)
        self.sees_siblings = self._finds_siblings_named(memory)
        """Whether any expression reads who holds another slot of a machine."""
        if self.sees_siblings:
            # With more attributes, expressions may read others.
            self._holders = self._find_holders(sees_siblings=True)
            self._find_queues(jobs, memory)
        self.candidates = Candidates(
            pool,
            policy,
            self.cost,
            weights,
            self._holders,
            tie_order(pool.names, policy),
            self._free,
            self._autoclusters.kinds,
            self._partitions,
            static,
            scene=self._scene,
        )
        seen = slots_seen(pool.ads, policy)
        self.concurrency = ConcurrencyLimits(policy.limits, pool.ads, seen, as_today=policy.rules == "htcondor")
        if self._groups is not None:
            self._groups.enrol(self._submitters, jobs, self._queues)
        self.decision = CycleDecision(
            rules=policy.rules,
            time=now,
            slots=int(np.count_nonzero(shared)),
            candidates=self._free.left,
            pie=float(sum(in_pie.tolist())),
            min_slot_weight=self._least_weight(weights, shared),
            submitters=[
                *{id(submitter.decision): submitter.decision for submitter in self._submitters}.values(),
                *(decision_without(queue, accountant) for queue in kept_out),
            ],
        )
        self._ledger = Ledger(
            accountant=accountant,
            schedds=self._schedds,
            candidates=self.candidates,
            concurrency=self.concurrency,
            policy=policy,
            autoclusters=self._autoclusters,
            decision=self.decision,
            groups=self._groups,
            free=self._free,
            free_weight=self._free_weight,
            partitions=self._partitions,
            keys=pool.keys,
            cost=self.cost,
            running=self._holders.running,
            demands=Demands(
                jobs,
                accountant,
                self._groups,
                policy,
                self.decision.min_slot_weight,
                pool.ads.budget,
                may_preempt=permits_preemption(policy),
            ),
            in_use=InUse(accountant, policy.resources_in_use),
            now=now,
            stopwatch=self._stopwatch,
            observer=observer,
            budget=self._budget,
            goal=goal,
            tells_rejections=tells_rejections,
        )

    def run(self) -> CycleDecision:
        """Divide the pie: one for all submitters, or one for each turn of a group; it ends early at a goal."""
        self._watch_goal()
        with suppress(GoalReached):
            self._deal()
        if self.candidates.rooms is not None:
            for slot in (slot for match in self.decision.matches.single for slot in match.evicted or ()):
                self._accountant.evict(self._pool.keys[slot], self._now)
        evaluate_for(self._budget, NOBODY)
        self.candidates.end()
        if self._stopwatch is not None:
            self.decision.time_budgets_used_up = sorted(self._stopwatch.used_up)
        self.decision.overruns = [] if self._budget is None else list(self._budget.overruns)
        self.decision.limits = self.concurrency.figures()
        if len(self._pool.draining) == len(self._pool.names):
            for submitter in self.decision.submitters:
                if submitter.stopped is StopReason.NO_SLOTS:
                    submitter.stopped = StopReason.UNUSABLE if self._pool.names else StopReason.NO_POOL
        self.decision.submitters.sort(key=lambda d: (d.effective_priority, d.submitter, d.schedd))
        return self.decision

    def _watch_goal(self) -> None:
        """Let the goal know when no slot is left for its job, if slots stay with their users."""
        goal, reach = self._ledger.goal, self.candidates.reach
        if goal is not None and goal.or_missed is not None and reach is not None:
            goal.watch(partial(reach.is_hopeless, self.examine(goal.or_missed)))

    def _deal(self) -> None:
        if self._groups is None:
            deal_pie(self._ledger, self._submitters)
            return
        from fairq.engine.negotiation.group_dealing import deal_group_pies, deal_leftovers_of_groups

        deal_group_pies(self._ledger, self._groups)
        if self._policy.last_dealing and self._free_weight.total > 0:
            deal_leftovers_of_groups(self._ledger, self._groups)

    def examine(self, job: JobRange) -> RequestContext:
        """The request for the first job of a range, with the attributes of this moment."""
        name = (job.submitter, job.schedd)
        found = next(of for of in self.decision.submitters if (of.submitter, of.schedd) == name)
        autocluster = next(self._autoclusters.split(replace(job, last_proc=job.first_proc)))[0]
        evaluate_for(self._budget, Payer(job.submitter, autocluster, (job.cluster, job.first_proc)))
        return self._ledger.request_context(found, autocluster, found.group)

    def columns_of(self, name: str, schedd: str) -> ColumnQueue | None:
        """The queue of a submitter, if it is by column."""
        found = (of.queue for of in self._submitters if (of.name, of.schedd) == (name, schedd))
        return next((queue for queue in found if isinstance(queue, ColumnQueue)), None)

    def kinds(self, job: JobRange) -> Iterator[tuple[int, int, int]]:
        """The autoclusters of a range of jobs as (number, first proc, last proc)."""
        return self._autoclusters.split(job)

    @property
    def pairs(self) -> int:
        """What pairs of a slot and an autocluster cost at most: as much as to look at so many slots once."""
        return len(self.cost) * len(self._autoclusters.kinds) // _ALIKE

    @property
    def work(self) -> int:
        """What the cycle cost, in slots looked at: the pairs, and the turns (`Ledger.work`)."""
        return self.pairs + self._ledger.work

    def same_cluster(self, one: JobRange, other: JobRange) -> bool:
        """Whether two jobs, the first ones of their ranges, are in one cluster for cluster skipping."""
        chosen = self._policy.significant.chosen
        if not chosen:
            return one.cluster == other.cluster
        values = self._autoclusters.alike_in(chosen | self._policy.significant.added)
        first, second = (next(self.kinds(job))[0] for job in (one, other))
        return values(first) == values(second)

    def weighted_used(self, name: str) -> float:
        """Slot weight that a submitter or group uses now."""
        return self._accountant.weighted_used(name)

    def _find_queues(self, jobs: Jobs, memory: Memory | None) -> None:
        """Number the autoclusters, and find what each submitter has on offer."""
        policy = self._policy
        self._queues: Scene | None = None
        """What is known of the queues from cycles like this one; `_scene`: of the slots, too."""
        self._autoclusters = self._find_autoclusters(jobs, memory)
        self._scene = self._queues if len(self.cost) <= MOST_SLOTS else None
        constraint = None
        if policy.job_constraint is not None:
            lasting = None if self._queues is None else self._queues.admitted
            constraint = JobConstraint(
                policy.job_constraint, self._now, self._autoclusters.kinds, self._budget, lasting
            )
        self._submitters = find_submitters(
            jobs,
            self._autoclusters,
            policy,
            self._accountant,
            constraint,
            self._queues,
            self._now,
            self._schedds,
        )

    def _find_autoclusters(self, jobs: Jobs, memory: Memory | None) -> Autoclusters:
        policy, slots = self._policy, self._pool.ads
        requests = [] if self._partitions is None else self._partitions.requests()
        own = [policy.job_constraint] if policy.job_constraint else []
        own += policy.modify_requests.values() if self._partitions else ()
        by_autocluster = policy.skip_by == "autocluster"

        def make() -> Autoclusters:
            return Autoclusters(
                jobs.ads,
                slots,
                [*policy.expressions_on_jobs, *requests],
                own,
                policy.significant if by_autocluster else policy.significant.as_clusters(),
            )

        if memory is None:
            return make()
        self._queues = memory.scene(slots, jobs.ads, policy, requests, make, reads_slots=len(self.cost) <= MOST_SLOTS)
        return self._queues.autoclusters

    def _find_partitions(self, candidates: NDArray[np.bool_]) -> Partitions | None:
        policy = self._policy
        divided = divided_slots(self._pool.ads, policy.partitionable_slots, candidates, self._holders.held)
        if not divided.any():
            return None
        partitions = Partitions(self._pool.ads, divided, policy.partitionable_slots, policy.modify_requests)
        if policy.partitionable_slots == "carve":
            for row in partitions.parts:
                if partitions.is_used_up(row):
                    self._free.take(row)
                    self._free_weight.take(row)
        return partitions

    def _least_weight(self, weights: NDArray[np.float64], shared: NDArray[np.bool_]) -> float:
        """The smallest possible weight of a match: of any participating slot, or of any job in a carved slot."""
        if self._partitions is None or self._policy.partitionable_slots == "whole":
            return float(weights[shared].min()) if shared.any() else 0.0
        kinds = self._autoclusters.kinds
        if self._queues is not None:
            # Others than these are of jobs of other cycles.
            numbers = set[int]().union(*(of.queue.autoclusters for of in self._submitters))
            kinds = [kinds[number] for number in sorted(numbers)]
        least = self._partitions.least_piece(kinds, self._policy)
        parts = self._partitions.parts
        whole = (self.cost[row] for row in np.flatnonzero(shared).tolist() if row not in parts)
        smallest = min((*whole, least))
        return 0.0 if smallest == np.inf else smallest

    def _find_holders(self, sees_siblings: bool) -> Holders:
        return find_holders(self._pool.ads, self._policy, self._accountant, self._groups, sees_siblings)

    def _finds_siblings_named(self, memory: Memory | None) -> bool:
        if self._holders.changing is None or not self._policy.cross_slot_prios:
            return False
        from fairq.engine.negotiation.remote_attributes import siblings_are_named

        return siblings_are_named(self._policy, self._pool.ads, self._autoclusters.kinds, memory)
