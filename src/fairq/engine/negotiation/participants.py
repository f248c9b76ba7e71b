"""The participants of a cycle: the negotiator's constraints on slots, submitters and jobs.

docs/htcondor.md 3.1 and 3.6; matchmaker.cpp, obtainAdsFromCollector, trimStartdAds_ShutdownLogic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import (
    AdColumns,
    EvaluationBudget,
    Expression,
    evaluate_in_ad,
    evaluate_in_columns,
    parse,
)
from fairq.engine.classad.budget import Payer, evaluate_for
from fairq.engine.classad.references import closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.global_prios import split_by_priority
from fairq.engine.negotiation.kinds import KindsInCycle
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.request_columns import ColumnQueue, column_queue
from fairq.engine.negotiation.requests import RequestQueue, job_order
from fairq.engine.negotiation.schedd_limits import ScheddLimits
from fairq.engine.negotiation.snapshot import Jobs, SubmitterQueue
from fairq.engine.negotiation.submitter_turn import SubmitterTurn
from fairq.records import Ad, job_count

if TYPE_CHECKING:
    from fairq.engine.negotiation.memory import Scene

_UNUSABLE = parse(
    'State == "Drained" || (Draining =?= true && State =!= "Claimed" && State =!= "Preempting")'
    " || Offline =?= true || Absent =?= true"
)
_SHUTDOWN = ("DaemonShutdown", "DaemonShutdownFast")


def slots_taking_part(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots for which NEGOTIATOR_SLOT_CONSTRAINT is true; all slots without a constraint.

    Other slots are not in the pie and not candidates; `slots_seen` says whether their use counts.
    """
    if policy.slot_constraint is None:
        return np.ones(len(slots), np.bool_)
    return evaluate_in_columns(policy.slot_constraint, slots, {}).is_true()


def slots_usable(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots that are part of the pool: not drained, draining without a job, offline or absent.

    Others have no part in the pie or in quotas, and are not candidates (manual: the total available size of the pool;
    *count_unusable_slots*).
    """
    return np.ones(len(slots), np.bool_) if policy.count_unusable_slots else ~unusable(slots)


def unusable(slots: AdColumns) -> NDArray[np.bool_]:
    """The slots that are drained, draining without a job, offline or absent."""
    return evaluate_in_columns(_UNUSABLE, slots, {}).is_true()


def slots_seen(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots on which use is counted: all, or only those that take part.

    Today's negotiator does not fetch the others, so that their use is not charged (docs/htcondor.md 3.1).
    """
    return np.ones(len(slots), np.bool_) if policy.count_slots_outside else slots_taking_part(slots, policy)


def slots_shutting_down(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots whose machine will shut down within NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD seconds.

    That is, DaemonShutdown or DaemonShutdownFast will be true by then; none without a time or with 0.
    """
    ending = np.zeros(len(slots), np.bool_)
    told = [attribute for attribute in _SHUTDOWN if attribute.lower() in slots.names()]
    seconds = None
    if told and policy.shutdown_threshold is not None:
        from fairq.engine.classad import evaluate_scalar

        seconds = evaluate_scalar(policy.shutdown_threshold, {}, now=slots.now, budget=slots.budget)
    if slots.now is None or not isinstance(seconds, int | float) or not seconds > 0:
        return ending
    later = slots.at(slots.now + int(seconds))
    for attribute in told:
        ending |= evaluate_in_columns(attribute, later, {}).is_true()
    return ending


def submitters_taking_part(
    queues: Iterable[SubmitterQueue], policy: NegotiationPolicy, now: int, budget: EvaluationBudget | None = None
) -> tuple[list[SubmitterQueue], list[SubmitterQueue]]:
    """The queues for which NEGOTIATOR_SUBMITTER_CONSTRAINT is true, and the others.

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
    constraint: JobConstraint | None,
    scene: Scene | None = None,
    now: int | None = None,
    schedds: ScheddLimits | None = None,
) -> list[SubmitterTurn]:
    """The submitters for the jobs' queues; only jobs that meet the *constraint* may be matched, None: all.

    *scene* has queues that several cycles made of the same jobs, at the time *now*.
    """
    order = job_order(jobs.ads, policy.job_order)
    chosen = policy.significant.chosen
    cluster_of = autoclusters.alike_in(chosen | policy.significant.added) if chosen else None
    most = policy.global_job_prios
    kinds = KindsInCycle(jobs.kinds, autoclusters)
    submitters: list[SubmitterTurn] = []
    admits = None if constraint is None else constraint.admits

    def made_of(queue: SubmitterQueue) -> ColumnQueue | RequestQueue:
        made = None if is_bounded(queue) else column_queue(queue.idle, kinds, autoclusters, policy, admits)
        if made is not None:
            return made
        return RequestQueue(
            queue,
            order,
            autoclusters,
            policy.jobs_per_turn,
            admits=admits,
            skip_by=policy.skip_by,
            by_priority=most is not None,
            cluster_of=cluster_of,
            jobs_left_of=partial(schedds.left, queue.schedd) if schedds is not None else lambda: None,
        )

    def is_bounded(queue: SubmitterQueue) -> bool:
        return schedds is not None and schedds.left(queue.schedd) is not None

    for queue in jobs.queues:
        # A queue that a schedd bounds is that of one cycle.
        kept = None if is_bounded(queue) else scene
        found = None if kept is None else kept.queue(queue, now)
        if found is None:
            found = made_of(queue)
            if kept is not None:
                lasts = constraint is None or constraint.lasts(found.autoclusters)
                kept.keep_queue(queue, None if lasts else now, found)
        submitter = SubmitterTurn(queue.name, queue.schedd, found, _decision(queue, accountant, found.idle_jobs))
        if most is not None and isinstance(found, RequestQueue):
            submitters += split_by_priority(submitter, found, most)
        else:
            submitters.append(submitter)
    return submitters


def decision_without(queue: SubmitterQueue, accountant: Accountant) -> SubmitterDecision:
    """The record of a submitter that takes no part."""
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
    """NEGOTIATOR_JOB_CONSTRAINT on the autoclusters *kinds*, which may grow; MY is the job.

    *lasting* are the answers that are the same in cycles at other times.
    """

    def __init__(
        self,
        constraint: Expression,
        now: int,
        kinds: Sequence[Ad],
        budget: EvaluationBudget | None = None,
        lasting: dict[int, bool] | None = None,
    ) -> None:
        self._budget = budget
        self._constraint = constraint
        self._now = now
        self._kinds = kinds
        self._lasting = lasting
        self._of_now: dict[int, bool] = {}

    def admits(self, autocluster: int) -> bool:
        """Whether the constraint is true for the jobs of an autocluster."""
        known = None if self._lasting is None else self._lasting.get(autocluster)
        if known is None:
            known = self._of_now.get(autocluster)
        return self._find(autocluster) if known is None else known

    def lasts(self, autoclusters: Collection[int]) -> bool:
        """Whether the answers for these *autoclusters* are the same at other times."""
        return self._of_now.keys().isdisjoint(autoclusters)

    def _find(self, autocluster: int) -> bool:
        budget, ad = self._budget, self._kinds[autocluster]
        evaluate_for(budget, Payer(autocluster=autocluster))
        before = 0 if budget is None else budget.cut_short
        found = _is_true(self._constraint, ad, self._now, budget)
        is_cut_short = budget is not None and budget.cut_short > before
        if self._lasting is None or is_cut_short or _changes(self._constraint, ad):
            self._of_now[autocluster] = found
        else:
            self._lasting[autocluster] = found
        return found


def _changes(expression: Expression, ad: Ad) -> bool:
    """Whether the value of an expression may change, evaluated in the same ad."""
    read = closure([(Side.AD, expression.node)], UnknownAd([ad], AdColumns([{}])))
    return read.clock or read.draws or read.everything


def _is_true(expression: Expression, ad: Ad, now: int, budget: EvaluationBudget | None) -> bool:
    return bool(evaluate_in_ad(expression, ad, AdColumns([{}], now, budget)).is_true()[0])


def _submitter_ad(queue: SubmitterQueue) -> Ad:
    """The submitter ad of a schedd, as far as fairq knows it."""
    return {
        "MyType": "Submitter",
        "Name": queue.name,
        "ScheddName": queue.schedd,
        "IdleJobs": job_count(queue.idle),
        "RunningJobs": queue.running_jobs,
        "WeightedRunningJobs": queue.running_weight,
    }
