"""Why one job is not matched in a cycle: the deciding reason, and the data behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import chain

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Ad, JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.explain.checks import PoolChecks
from fairq.engine.explain.losses import Losses, LostTo, Observer, Standing
from fairq.engine.explain.pieces import TooLarge, labels, too_large, undivided
from fairq.engine.negotiation.budgets import Clock
from fairq.engine.negotiation.concurrency import parse_limits
from fairq.engine.negotiation.cycle import NegotiationCycle, bring_up_to_date
from fairq.engine.negotiation.decision import CycleDecision, LimitFigures, Match, StopReason, SubmitterDecision
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.queue import Jobs, job_order, with_one_priority
from fairq.engine.negotiation.rejections import Rejection, RejectReason
from fairq.engine.negotiation.submitters import JobConstraint
from fairq.engine.quotas.record import GroupFigures


class Reason(StrEnum):
    """The deciding reason."""

    MATCHED = "would be matched"
    EMPTY_POOL = "the pool has no slots"
    JOB_REQUIREMENTS = "the job's Requirements"
    SLOT_REQUIREMENTS = "the slots' Requirements"
    LIMIT = "submitter limit"
    QUOTA = "group quota"
    CEILING = "ceiling"
    CONCURRENCY_LIMIT = "concurrency limit"
    TIME = "time budget"
    SCHEDD = "MaxJobsRunning of the schedd"
    SUBMITTER_CONSTRAINT = "negotiator_submitter_constraint"
    JOB_CONSTRAINT = "negotiator_job_constraint"
    SLOT_CONSTRAINT = "negotiator_slot_constraint"
    PIECES = "partitionable slots are carved up"
    NOT_OFFERED = "not offered"
    SKIPPED = "skipped with its cluster"
    TAKEN = "taken in this cycle"
    PREEMPTION_POLICY = "PREEMPTION_REQUIREMENTS"
    PRIORITY = "priority not better enough"
    OUTRANKED = "slots prefer their jobs"
    IN_USE = "slots in use"
    OWN_JOBS = "own jobs have the slots"
    DRAINING = "slots draining"
    UNUSABLE = "slots unusable"


_LIMITS = {
    StopReason.LIMIT: Reason.LIMIT,
    StopReason.PREEMPTIONS: Reason.LIMIT,
    StopReason.QUOTA: Reason.QUOTA,
    StopReason.CEILING: Reason.CEILING,
    StopReason.TIME: Reason.TIME,
    StopReason.SCHEDD: Reason.SCHEDD,
}

_BY_TEST = {
    LostTo.TAKEN: Reason.TAKEN,
    LostTo.PREEMPTION_POLICY: Reason.PREEMPTION_POLICY,
    LostTo.PRIORITY: Reason.PRIORITY,
    LostTo.OUTRANKED: Reason.OUTRANKED,
    LostTo.CLAIMED_OTHERS: Reason.IN_USE,
    LostTo.CLAIMED_OWN: Reason.OWN_JOBS,
    LostTo.DRAINING: Reason.DRAINING,
    LostTo.UNUSABLE: Reason.UNUSABLE,
    LostTo.KEPT_OUT: Reason.SLOT_CONSTRAINT,
    LostTo.SLOT_REQUIREMENTS: Reason.SLOT_REQUIREMENTS,
    LostTo.JOB_REQUIREMENTS: Reason.JOB_REQUIREMENTS,
}
"""The reason for each test, in order; the first test that excludes a slot decides."""


class CycleInput(Struct, frozen=True):
    """The input of a cycle; running it changes *accountant*.

    *ads* are those of the slots; *clock* measures the time budgets, None: there are none.
    """

    pool: PoolSlots
    jobs: Jobs
    accountant: Accountant
    policy: NegotiationPolicy
    now: int
    round_robin_times: Mapping[str, int]
    ads: Sequence[Ad]
    clock: Clock | None = None

    @property
    def size(self) -> int:
        """The number of slots and of ranges of idle jobs."""
        return len(self.ads) + sum(len(queue.idle) for queue in self.jobs.queues)


class Outcome:
    """A simulated cycle and its results."""

    def __init__(self, cycle_input: CycleInput) -> None:
        self.input = cycle_input
        bring_up_to_date(cycle_input.pool, cycle_input.accountant, cycle_input.policy, cycle_input.now)
        self.cycle = NegotiationCycle(
            cycle_input.pool,
            cycle_input.jobs,
            cycle_input.accountant,
            cycle_input.policy,
            cycle_input.now,
            cycle_input.round_robin_times,
            clock=cycle_input.clock,
        )
        self.decision: CycleDecision = self.cycle.run()

    @cached_property
    def standing(self) -> Standing:
        """The tests of the slots for each kind of job, at the end of the cycle."""
        return Standing(self.cycle.kinds)

    @cached_property
    def work(self) -> int:
        """The cost of the cycle in slots and ranges examined (`NegotiationCycle.work`)."""
        return self.input.size + self.cycle.work

    @cached_property
    def observer(self) -> Observer:
        """Sorts the pool's slots by the tests they fail."""
        return Observer(self.input.pool, self.input.policy)

    @cached_property
    def labels(self) -> Sequence[str]:
        """Names of the slots, with the address if several slots have the name."""
        return labels(self.input.pool)

    @cached_property
    def undivided(self) -> PoolSlots | None:
        """The slots with all dynamic slots returned to their parents; None if there are no dynamic slots."""
        cycle_input = self.input
        return undivided(cycle_input.pool, cycle_input.ads) if "dynamicslot" in cycle_input.pool.ads.names() else None

    @cached_property
    def matched(self) -> set[tuple[str, int, int]]:
        """The matched jobs, as (schedd, cluster, proc)."""
        return {(match.schedd, match.cluster, match.proc) for match in self.decision.matches}

    def match_of(self, job: JobRange) -> Match | None:
        """Return the match of the first job of a range, None if it has none."""
        key = (job.schedd, job.cluster, job.first_proc)
        return next(
            (match for match in self.decision.matches if (match.schedd, match.cluster, match.proc) == key), None
        )

    def quota_of(self, group: str | None) -> GroupFigures | None:
        """Return the figures of a group, None if there is no such group."""
        name = (group or "").lower()
        return next((figures for figures in self.decision.quotas if figures.group.lower() == name), None)

    def submitter(self, name: str, schedd: str) -> SubmitterDecision:
        """Return the decision about the job's submitter."""
        return next(
            decision for decision in self.decision.submitters if (decision.submitter, decision.schedd) == (name, schedd)
        )


class Diagnosis:
    """Why a cycle left one job idle, the first of a range, at the end of that cycle."""

    def __init__(self, outcome: Outcome, job: JobRange) -> None:
        self.outcome = outcome
        self.job = job = single_job(job, job.first_proc)
        self.submitter = outcome.submitter(job.submitter, job.schedd)
        self.context: RequestContext = outcome.cycle.examine(job)
        limits = outcome.cycle.concurrency.job_limits(self.context)
        self.concurrency_limit = None if limits is None else limits.refusing()
        limited = self.concurrency_limit is not None
        self.losses: Losses = outcome.observer.losses(self.context, outcome.standing, limited)
        self.lost = self.losses.counts()

    @cached_property
    def idle(self) -> list[JobRange]:
        """The idle jobs of the submitter."""
        name = (self.job.submitter, self.job.schedd)
        queues = (queue for queue in self.outcome.input.jobs.queues if (queue.name, queue.schedd) == name)
        return [jobs for queue in queues for jobs in queue.idle]

    @cached_property
    def ahead(self) -> list[JobRange]:
        """The submitter's idle jobs that are offered before the job, in order."""
        key = job_order(self.outcome.input.jobs.ads, self.outcome.input.policy.job_order)
        job_key, proc = key(self.job), self.job.first_proc
        ranges = []
        for jobs in chain.from_iterable(map(with_one_priority, self.idle)):
            if jobs.cluster == self.job.cluster and jobs.first_proc <= proc <= jobs.last_proc:
                if jobs.first_proc < proc:
                    ranges.append(replace(jobs, last_proc=proc - 1))
            elif key(jobs) < job_key:
                ranges.append(jobs)
        return sorted(ranges, key=key)

    @cached_property
    def concurrency_figures(self) -> dict[str, LimitFigures]:
        """The use of every requested concurrency limit at the end of the cycle, by name."""
        return {figures.name: figures for figures in self.outcome.cycle.concurrency.figures()}

    @cached_property
    def checks(self) -> PoolChecks:
        """The clauses of both sides over the pool."""
        return PoolChecks(self.context.ad(), self.outcome.input.pool.ads)

    @cached_property
    def rejection(self) -> Rejection | None:
        """The last rejection of a job of the same submitter and autocluster, for which this one is skipped."""
        queue = self.outcome.cycle.queue_of(self.job.submitter, self.job.schedd)
        for rejection in reversed(self.outcome.decision.rejections.of_submitter(self.job.submitter, self.job.schedd)):
            cluster, proc = rejection.request
            if (cluster, proc) == (self.job.cluster, self.job.first_proc):
                return rejection
            autocluster = None if queue is None else queue.autocluster_of(cluster, proc)
            if autocluster is not None and autocluster != self.context.autocluster:
                continue
            rejected_job = self._queued(cluster, proc)
            if rejected_job is not None and self._is_alike(rejected_job):
                return rejection
        return None

    @cached_property
    def alike_ahead(self) -> tuple[int, int] | None:
        """The first job ahead of this one, of the same submitter and autocluster, that stays idle."""
        for jobs in self.ahead:
            procs = range(jobs.first_proc, jobs.last_proc + 1)
            idle_proc = next(
                (proc for proc in procs if (jobs.schedd, jobs.cluster, proc) not in self.outcome.matched), None
            )
            if idle_proc is not None and self._is_alike(single_job(jobs, idle_proc)):
                return jobs.cluster, idle_proc
        return None

    @cached_property
    def blocker(self) -> tuple[int, int] | None:
        """The earlier job of the same cluster without a match, for which the rest of the cluster is skipped."""
        cycle = self.outcome.cycle
        if self.outcome.input.policy.skip_by != "cluster":
            return None
        failed = self._failed_kinds()
        for jobs in self.ahead if failed else ():
            for kind, first, _ in cycle.autoclusters_of(jobs):
                if kind in failed and cycle.same_cluster(single_job(jobs, first), self.job):
                    return jobs.cluster, first
        return None

    def _failed_kinds(self) -> set[int]:
        """Return the autoclusters of the submitter's jobs without a match, except those stopped by a limit."""
        kinds = set()
        for rejection in self.outcome.decision.rejections.of_submitter(self.job.submitter, self.job.schedd):
            if rejection.reason is not RejectReason.SUBMITTER_LIMIT:
                rejected_job = self._queued(*rejection.request)
                if rejected_job is not None:
                    kinds.add(next(self.outcome.cycle.autoclusters_of(rejected_job))[0])
        return kinds - {self.context.autocluster}

    def _is_alike(self, job: JobRange) -> bool:
        return next(self.outcome.cycle.autoclusters_of(single_job(job, job.first_proc)))[0] == self.context.autocluster

    @cached_property
    def reason(self) -> Reason:
        """The deciding reason: the last obstacle between the job and a slot."""
        if not len(self.losses.codes):
            return Reason.EMPTY_POOL
        if self.submitter.stopped is StopReason.SUBMITTER_CONSTRAINT:
            return Reason.SUBMITTER_CONSTRAINT
        if not self._is_admitted():
            return Reason.JOB_CONSTRAINT
        if self.limit_too_small is not None:
            return Reason.CONCURRENCY_LIMIT
        reason = self._limit() or next(reason for test, reason in _BY_TEST.items() if self.lost[test])
        is_misfit = reason in (Reason.JOB_REQUIREMENTS, Reason.SLOT_REQUIREMENTS)
        return Reason.PIECES if is_misfit and self.carved_up else reason

    @property
    def fits_nowhere(self) -> bool:
        """Whether there are slots, but none where the Requirements of both sides are true."""
        misfits = self.lost[LostTo.JOB_REQUIREMENTS] + self.lost[LostTo.SLOT_REQUIREMENTS]
        return 0 < len(self.losses.codes) == misfits

    @cached_property
    def carved_up(self) -> Sequence[int]:
        """The rows of the partitionable slots that would match the job if all their dynamic slots were returned."""
        whole_slots = self.outcome.undivided
        if whole_slots is None:
            return ()
        fits = PoolChecks(self.context.ad(), whole_slots.ads).fitting()
        return [whole_slots.keys[row] for row in np.flatnonzero(fits).tolist()]

    @cached_property
    def too_large(self) -> Sequence[TooLarge]:
        """The resources of which the job requests more than any unused slot has."""
        whole_slots = self.outcome.undivided
        return too_large(self.context.job, self.outcome.input.pool.ads if whole_slots is None else whole_slots.ads)

    @property
    def has_free_matches(self) -> bool:
        """Whether slots that match the job were free in this cycle."""
        return self.lost[LostTo.LIMIT] + self.lost[LostTo.TAKEN] > 0

    def _limit(self) -> Reason | None:
        """Return the limit between the job and slots that it could otherwise use."""
        rejection = self.rejection
        is_refused = rejection is not None and rejection.reason is RejectReason.CONCURRENCY_LIMIT
        if self.lost[LostTo.CONCURRENCY_LIMIT] or (self.lost[LostTo.LIMIT] and is_refused):
            return Reason.CONCURRENCY_LIMIT
        if self.lost[LostTo.LIMIT] and self.blocker is not None:
            return Reason.SKIPPED
        if self.has_free_matches and self.submitter.stopped in _LIMITS:
            return _LIMITS[self.submitter.stopped]
        return Reason.NOT_OFFERED if self.lost[LostTo.LIMIT] else None

    @cached_property
    def taken(self) -> list[Match]:
        """The matches of suitable slots in this cycle."""
        rows = set(self.losses.rows(LostTo.TAKEN).tolist())
        return [match for match in self.outcome.decision.matches if match.slot in rows]

    @property
    def taken_by(self) -> Counter[str]:
        """Number of suitable slots taken in this cycle, by submitter."""
        return Counter(match.submitter for match in self.taken)

    @cached_property
    def limit_amounts(self) -> dict[str, float]:
        """Amount of each concurrency limit that the job uses, by name."""
        text = self.context.job.get("concurrencylimits")
        return dict(parse_limits(text)) if isinstance(text, str) else {}

    @cached_property
    def limit_too_small(self) -> LimitFigures | None:
        """A concurrency limit whose maximum is less than what the job alone uses of it."""
        figures_and_amounts = (
            (self.concurrency_figures.get(name), amount) for name, amount in self.limit_amounts.items()
        )
        return next(
            (figures for figures, amount in figures_and_amounts if figures is not None and amount > figures.maximum),
            None,
        )

    @cached_property
    def used_by(self) -> Counter[str]:
        """Number of suitable slots in use since before this cycle, by submitter."""
        tests = (LostTo.CLAIMED_OTHERS, LostTo.CLAIMED_OWN, LostTo.OUTRANKED, LostTo.PREEMPTION_POLICY, LostTo.PRIORITY)
        holders = self.outcome.observer.holders
        codes = holders.codes[np.concatenate([self.losses.rows(test) for test in tests])]
        holder_codes, firsts, counts = np.unique(codes[codes >= 0], return_index=True, return_counts=True)
        # The order of the slots decides among equal counts.
        return Counter({holders.distinct[holder_codes[index]]: int(counts[index]) for index in firsts.argsort()})

    def _is_admitted(self) -> bool:
        cycle_input, constraint = self.outcome.input, self.outcome.input.policy.job_constraint
        if constraint is None:
            return True
        return JobConstraint(constraint, cycle_input.now, [self.context.job], cycle_input.pool.ads.budget).admits(0)

    def _queued(self, cluster: int, proc: int) -> JobRange | None:
        ranges = (jobs for jobs in self.idle if jobs.cluster == cluster and jobs.first_proc <= proc <= jobs.last_proc)
        return next((single_job(jobs, proc) for jobs in ranges), None)


def single_job(jobs: JobRange, proc: int) -> JobRange:
    """Return one job of a range."""
    return replace(jobs, first_proc=proc, last_proc=proc)
