"""Who takes part in a cycle: submitters, their jobs, and the order of their turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Ad, job_count
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import (
    AdColumns,
    EvaluationBudget,
    Expression,
    evaluate_in_ad,
)
from fairq.engine.classad.budget import Payer, evaluate_for
from fairq.engine.negotiation.autoclusters import Autoclusters, KindsInCycle
from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.queue import Jobs, Queue, SubmitterQueue, job_order, ranges_in_order


class ScheddLimits:
    """The number of jobs that schedds may still start in one cycle.

    Args:
        maximum: the maximum number of running jobs of each schedd that has one, by name.
        queues: the queues of all submitters, with their running jobs.
    """

    def __init__(self, maximum: Mapping[str, int], queues: Iterable[SubmitterQueue]) -> None:
        self._jobs_left = dict(maximum)
        for queue in queues if maximum else ():
            self.use(queue.schedd, queue.running_jobs)

    def left(self, schedd: str) -> int | None:
        """Return how many more jobs the schedd offers, None if it has no maximum."""
        jobs_left = self._jobs_left.get(schedd)
        return None if jobs_left is None else max(0, jobs_left)

    def use(self, schedd: str, jobs: int) -> None:
        """Count *jobs* of the schedd as running."""
        if schedd in self._jobs_left:
            self._jobs_left[schedd] -= jobs


def submitters_taking_part(
    queues: Iterable[SubmitterQueue], policy: NegotiationPolicy, now: int, budget: EvaluationBudget | None = None
) -> tuple[list[SubmitterQueue], list[SubmitterQueue]]:
    """Return the queues for which NEGOTIATOR_SUBMITTER_CONSTRAINT is true, and the other ones.

    If submitters have an ad per job priority, a submitter without idle jobs has no ad and takes no part.
    """
    constraint = policy.submitter_constraint
    needs_idle = policy.ads_per_job_priority and policy.global_job_prios is not None
    inside: list[SubmitterQueue] = []
    outside: list[SubmitterQueue] = []
    for queue in queues:
        takes_part = constraint is None or _is_true(constraint, _submitter_ad(queue), now, budget)
        (inside if takes_part and (queue.idle or not needs_idle) else outside).append(queue)
    return inside, outside


def find_submitters(
    jobs: Jobs,
    autoclusters: Autoclusters,
    policy: NegotiationPolicy,
    accountant: Accountant,
    schedds: ScheddLimits,
    admits: Callable[[int], bool] | None,
) -> list[Submitter]:
    """Return the submitters of the jobs' queues, and number the autoclusters of their jobs.

    *admits* returns whether the jobs of an autocluster may be matched; None: all may.
    """
    order, by_time = job_order(jobs.ads, policy.job_order), policy.job_order == "submission_time"
    kinds = KindsInCycle(jobs.kinds, autoclusters)
    chosen, max_priorities = policy.significant.chosen, policy.global_job_prios
    cluster_of = autoclusters.values_of(chosen | policy.significant.added) if chosen else None
    submitters: list[Submitter] = []
    for queue in jobs.queues:
        on_offer = Queue(
            ranges_in_order(queue, order, autoclusters, kinds, by_time),
            policy.skip_by,
            policy.jobs_per_turn,
            admits,
            cluster_of,
            partial(schedds.left, queue.schedd),
            by_priority=max_priorities is not None,
        )
        submitter = Submitter(queue.name, queue.schedd, on_offer, _decision(queue, accountant, on_offer.idle_jobs))
        submitters += [submitter] if max_priorities is None else _split_by_priority(submitter, max_priorities)
    return submitters


def decision_without(queue: SubmitterQueue, accountant: Accountant) -> SubmitterDecision:
    """Return the decision about a submitter that takes no part."""
    decision = _decision(queue, accountant, job_count(queue.idle))
    if decision.idle:
        decision.stopped = StopReason.SUBMITTER_CONSTRAINT
    return decision


def _decision(queue: SubmitterQueue, accountant: Accountant, idle: int) -> SubmitterDecision:
    record = accountant.record(queue.name)
    return SubmitterDecision(
        submitter=queue.name,
        schedd=queue.schedd,
        effective_priority=accountant.effective_priority(queue.name),
        idle=idle,
        running=queue.running_jobs,
        used_before=record.weighted_resources_used,
        ceiling=record.ceiling,
        floor=record.floor,
    )


class JobConstraint:
    """NEGOTIATOR_JOB_CONSTRAINT for the autoclusters *kinds*, a list that may grow; MY is the job."""

    def __init__(
        self, constraint: Expression, now: int, kinds: Sequence[Ad], budget: EvaluationBudget | None = None
    ) -> None:
        self._constraint, self._now, self._kinds, self._budget = constraint, now, kinds, budget
        self._admitted: dict[int, bool] = {}

    def admits(self, autocluster: int) -> bool:
        """Return whether the constraint is true for the jobs of an autocluster."""
        if autocluster not in self._admitted:
            evaluate_for(self._budget, Payer(autocluster=autocluster))
            ad = self._kinds[autocluster]
            self._admitted[autocluster] = _is_true(self._constraint, ad, self._now, self._budget)
        return self._admitted[autocluster]


def _is_true(expression: Expression, ad: Ad, now: int, budget: EvaluationBudget | None) -> bool:
    return bool(evaluate_in_ad(expression, ad, AdColumns([{}], now, budget)).is_true()[0])


def _submitter_ad(queue: SubmitterQueue) -> Ad:
    """Return the submitter ad of a schedd, as far as fairq knows it."""
    return {
        "MyType": "Submitter",
        "Name": queue.name,
        "ScheddName": queue.schedd,
        "IdleJobs": job_count(queue.idle),
        "RunningJobs": queue.running_jobs,
        "WeightedRunningJobs": queue.running_weight,
    }


class Submitter(Struct, eq=False):
    """One submitter at one schedd in a cycle: its queue and its results.

    With global job priorities there may be several, one for each range of priorities; *job_priority* is the highest of
    the range. *found_nothing_free*: its jobs found no free slot; *stopped_at* is the last job that a limit stopped.
    """

    name: str
    schedd: str
    queue: Queue
    decision: SubmitterDecision
    starvation: float = 0.0
    job_priority: int | None = None
    found_nothing_free: bool = False
    stopped_at: tuple[int, int] | None = None

    @property
    def turn_order(self) -> tuple[float, float, float, str, str]:
        """The sort key in a spin; lower is earlier (docs/htcondor.md 2.6)."""
        priority = -math.inf if self.job_priority is None else self.job_priority
        return self.effective_priority, -priority, self.starvation, self.name, self.schedd

    @property
    def effective_priority(self) -> float:
        """The effective priority at the start of the cycle, which decides shares and order to its end."""
        return self.decision.effective_priority

    def pass_over(self, quota_group: str | None) -> None:
        """Record that it gets no turn because a group's quota is used up; a ceiling remains the reason."""
        if self.decision.idle and self.decision.stopped is not StopReason.CEILING:
            self.decision.stopped = StopReason.QUOTA
            self.decision.quota_group = quota_group


def _split_by_priority(submitter: Submitter, max_priorities: int) -> list[Submitter]:
    """Return *submitter* once for each priority of its idle jobs, best first, at most *max_priorities* times.

    Job priorities are compared among submitters of equal priority (USE_GLOBAL_JOB_PRIOS; docs/htcondor.md 2.6;
    matchmaker.cpp, submitterLessThan, consolidateGlobalJobPrioSubmitterAds). The last one has all lower priorities.
    """
    queue = submitter.queue
    priorities = sorted(set(queue.priorities.tolist()), reverse=True)
    if len(priorities) < 2 or max_priorities < 2:
        return [replace(submitter, job_priority=priorities[0] if priorities else None)]
    highest = priorities[:max_priorities]
    lowest = [*highest[:-1], priorities[-1]]
    return [
        replace(submitter, job_priority=high, queue=queue.within(high, low))
        for high, low in zip(highest, lowest, strict=True)
    ]


def in_order(submitters: Iterable[Submitter], policy: NegotiationPolicy) -> list[Submitter]:
    """Return *submitters* in the order of their turns.

    With global job priorities, neighbours that are one submitter at one schedd are merged. In today's negotiator, an
    entry that an earlier pie merged has only its own priority again, while the entries merged into it are lost: their
    jobs are not offered again in the cycle.
    """
    ordered = sorted(submitters, key=lambda submitter: submitter.turn_order)
    if policy.global_job_prios is None:
        return ordered
    merged: list[Submitter] = []
    for submitter in ordered:
        current, last = submitter, merged[-1] if merged else None
        if policy.ads_per_job_priority and current.queue.is_range:
            current = replace(current, queue=current.queue.unmerged())
        is_same = last is not None and (last.name, last.schedd) == (current.name, current.schedd)
        if last is not None and is_same and last.queue.is_range and current.queue.is_range:
            merged[-1] = replace(last, queue=last.queue.down_to(current.queue))
        else:
            merged.append(current)
    return merged
