"""The settings of a negotiation cycle, as input of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from fairq.engine.classad import Expression
from fairq.engine.dominance import Dominance
from fairq.engine.negotiation.autoclusters import SignificantAttributes
from fairq.engine.negotiation.budgets import TimeBudgets
from fairq.engine.negotiation.requests import default_modifications
from fairq.engine.quotas.policy import QuotaPolicy

JobOrder = Literal["submission_time", "job_id"]
"""The order of jobs of equal priority: by the time of submission, or by cluster and proc alone."""

SkipBy = Literal["autocluster", "cluster", "nothing"]
"""The jobs to skip for the rest of a turn after a job found no slot: its autocluster, its cluster, or none."""

TieBreak = Literal["slot_name", "std_sort", "listed"]

ReportJob = Literal["job", "request"]

PartitionableSlots = Literal["carve", "whole"]

ResourcesInUse = Literal["slots", "weight"]

PieSlices = Literal["max_min", "pool_share"]


class NegotiationPolicy(Struct, frozen=True, kw_only=True):
    """One cycle's rules; each field is the HTCondor macro of its name, or a point where the manuals and
    today's negotiator differ. The settings have the defaults, and the values of a point under both sets of rules.

    Args:
        rules: the set of rules in force, ``documented`` or ``htcondor``; named in every result.
        consider_preemption: consider busy slots.
        consider_early_preemption: also consider slots whose job has retirement time left.
        use_slot_weights: measure in slot weights; otherwise every slot counts 1.
        slot_weight: the weight of a slot whose ad has none (`SLOT_WEIGHT`).
        force_slot_weight: use *slot_weight* even where the ad has its own.
        dominant: the weight of a match is its largest share of a resource, whatever the ads say; None: off.
        ignore_user_priorities: no limits; the order of submitters stays.
        ignore_job_ranks: leave the jobs' Rank out of the order of candidates.
        static_ranks: rank every slot once for all jobs, by what its own ad says.
        preemption_requirements: condition for preemption by priority; None is no condition.
        preempt_prio_delta: how much worse the holder's effective priority must be for preemption by priority; 0: any
            amount (the manuals' "better"); None: priorities are not compared, as in today's code.
        match_claimed_idle: whether a claimed slot that runs no job is a candidate.
        tie_break: the order among candidates that rank equally: by name, in the order of the negotiator's sort, or as
            listed, as the negotiator does without a list.
        borrowed_first: among slots in use that rank equally, those used above the quota of their group come first.
        floor_counts_usage: whether the use of a submitter counts towards its floor.
        report_job: whether a match names the job that runs, or the request's first job as today's
            negotiator logs it.
        quotas: the accounting groups and their rules; None: there are no groups.
        max_jobs_running: the maximum number of running jobs by schedd, from its ad; others have no maximum.
        jobs_per_turn: maximum number of jobs that a schedd offers for a submitter in one turn, rejected ones included;
            None: all (`MAX_CONCURRENT_UPLOADS_PER_USER`, if limits per user are enabled).
        partitionable_slots: whether a match takes the requested part of a partitionable slot, or the whole slot, as in
            today's negotiator without a consumption policy.
        depth_first: fill a partitionable slot before using the next one.
        limits: the maximum of each concurrency limit, by lower-case name (see
            `concurrency.ConcurrencyLimits`).
        slot_constraint, submitter_constraint, job_constraint: only slots, submitters and jobs for which it is
            true take part; None: all.
        count_slots_outside: also count the use of slots that *slot_constraint* excludes.
        count_unusable_slots: slots that are drained, draining without a job, offline or absent are part of the pool.
        shutdown_threshold: leave out slots whose machine shuts down within these seconds; None: no slots.
        discount_suspended: do not charge slots whose job is suspended.
        budgets: maximum times of the cycle and its turns; None: no maximum.
        skip_by: the jobs skipped for the rest of a turn after a job finds no slot.
        job_order: the order of a submitter's jobs of equal job priority.
        request_counts: whether identical jobs are one request, named by its first job.
        significant: the attributes that define autoclusters.
        global_job_prios: maximum number of job priorities of a submitter that are compared among submitters of equal
            priority; None: job priorities are not compared.
        requirements_stable, preemption_rank_stable: whether *preemption_requirements* and *preemption_rank* keep their
            values while one request is matched; otherwise each slot to be preempted is tested again.
        limit_reasons_add_up: a rejection for a concurrency limit also names the limits of the jobs rejected just
            before.
        limits_of_slots_stay: a job without concurrency limits counts towards the limits in the ad of its slot.
        pool_size: the slots that count in the size of the pool and of the pie; None: all.
        known_groups: accounting groups (lower-case names) that the slots' ads may name because an earlier cycle has
            computed their quotas; None: all groups.
        allow_pslot_preemption: preempt dynamic slots to make room on a partitionable one.
        match_working_cm_slots: consider claimed partitionable slots that another central manager uses.
        matchlist_caching: keep the list of candidates while identical jobs are matched.
        preempt_only_to_share: preempt by priority only up to the entitlement, and by machine rank without that limit,
            so that the next cycle finds no more to preempt. Today's negotiator goes on to preempt a slot in every
            cycle, because it rounds up and uses what others leave.
        resources_in_use: the unit of use and quotas in expressions: whole slots, or weight.
        pie_slices: the base of slices: free weight plus the use of wanting users (weighted max-min, existing use
            counted), or the whole pool less the use of each.
        last_dealing: deal the free weight after the last spin one match at a time; otherwise the first match of a turn
            may exceed its slice, and what is left stays free.
        modify_requests: the expressions that raise what a job requests of a partitionable slot, by resource in lower
            case (`MODIFY_REQUEST_EXPR_REQUESTCPUS` and others).
        cross_slot_prios: also give every slot the attributes of its machine's other slots.
        large_job_patience: seconds that a large job waits until a machine is promised to it; None: no promises.
        large_job_machines: maximum number of machines promised at a time.
        max_preemptions_per_cycle, max_preemptions_per_hour, max_preemptions_per_submitter: maximum number of jobs
            preempted in a cycle, in an hour, and in a cycle for one submitter; None: no maximum.
        preempted_lately: number of jobs that were preempted in the hour before the cycle.
    """

    rules: str
    consider_preemption: bool
    consider_early_preemption: bool
    use_slot_weights: bool
    slot_weight: Expression
    force_slot_weight: bool
    dominant: Dominance | None = None
    ignore_user_priorities: bool
    ignore_job_ranks: bool
    pre_job_rank: Expression
    post_job_rank: Expression
    preemption_rank: Expression
    preemption_requirements: Expression | None
    preempt_prio_delta: float | None
    match_claimed_idle: bool
    tie_break: TieBreak
    borrowed_first: bool
    floor_counts_usage: bool
    report_job: ReportJob
    quotas: QuotaPolicy | None
    jobs_per_turn: int | None
    partitionable_slots: PartitionableSlots
    depth_first: bool
    limits: Mapping[str, float]
    slot_constraint: Expression | None
    count_slots_outside: bool
    count_unusable_slots: bool
    submitter_constraint: Expression | None
    job_constraint: Expression | None
    shutdown_threshold: Expression | None
    discount_suspended: bool
    budgets: TimeBudgets | None
    skip_by: SkipBy
    job_order: JobOrder
    request_counts: bool
    significant: SignificantAttributes
    global_job_prios: int | None
    ads_per_job_priority: bool
    requirements_stable: bool
    preemption_rank_stable: bool
    matchlist_caching: bool
    match_working_cm_slots: bool
    cross_slot_prios: bool
    allow_pslot_preemption: bool
    preempt_only_to_share: bool
    limit_reasons_add_up: bool
    limits_of_slots_stay: bool
    pool_size: Expression | None
    known_groups: frozenset[str] | None = None
    max_jobs_running: Mapping[str, int] = {}
    static_ranks: bool
    resources_in_use: ResourcesInUse
    pie_slices: PieSlices
    last_dealing: bool
    large_job_patience: float | None = None
    large_job_machines: int = 1
    max_preemptions_per_cycle: int | None = None
    max_preemptions_per_hour: int | None = None
    max_preemptions_per_submitter: int | None = None
    preempted_lately: int = 0
    modify_requests: Mapping[str, Expression] = field(default_factory=default_modifications)

    @property
    def expressions_on_jobs(self) -> list[Expression]:
        """The negotiator's own expressions that read the job."""
        expressions = [self.pre_job_rank, self.post_job_rank, self.preemption_rank]
        if self.preemption_requirements is not None:
            expressions.append(self.preemption_requirements)
        return expressions
