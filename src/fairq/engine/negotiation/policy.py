"""The settings that a negotiation cycle follows, as the engine wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairq.engine.classad import Expression
from fairq.engine.negotiation.budgets import TimeBudgets
from fairq.engine.negotiation.requests import JobOrder, SkipBy
from fairq.engine.negotiation.significant import SignificantAttributes
from fairq.engine.quotas.policy import QuotaPolicy

TieBreak = Literal["slot_name", "std_sort", "listed"]
ReportJob = Literal["job", "request"]
PartitionableSlots = Literal["carve", "whole"]
ResourcesInUse = Literal["slots", "weight"]
PieSlices = Literal["max_min", "pool_share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiationPolicy:
    """One cycle's rules; each field is the HTCondor macro of its name, or a point where the manuals and
    today's negotiator differ. The settings have the defaults, and the values of a point under both sets of rules.

    Args:
        rules: the set of rules in force, ``documented`` or ``htcondor``; named in every result.
        consider_preemption: look at busy slots at all.
        consider_early_preemption: look at slots whose job still has retirement time, too.
        use_slot_weights: measure in slot weights; otherwise every slot counts 1.
        slot_weight: the weight of a slot whose ad has none (`SLOT_WEIGHT`).
        force_slot_weight: use *slot_weight* even where the ad has its own.
        ignore_user_priorities: no limits; the order of submitters stays.
        ignore_job_ranks: leave the jobs' Rank out of the order of candidates.
        static_ranks: rank every slot once for all jobs, by what its own ad says.
        preemption_requirements: gate of priority preemption; None is no test.
        preempt_prio_delta: by how much the holder's effective priority must be worse before a job may preempt by
            priority, 0: by any amount (the manuals' "better"); None is today's code, which does not ask.
        match_claimed_idle: whether a claimed slot that runs no job is a candidate.
        tie_break: the order among candidates that rank equally: by name, as the negotiator's sort leaves
            them, or as listed, which is what it does without a list.
        floor_counts_usage: whether what a submitter holds already counts towards the floor.
        report_job: whether a match names the job that runs, or the request's first job as today's
            negotiator logs it.
        quotas: the accounting groups and their rules; None: there are no groups.
        jobs_per_turn: how many jobs of a submitter its schedd offers in one turn, those offered in vain
            included; None: all (`MAX_CONCURRENT_UPLOADS_PER_USER`, if limits per user are enabled).
        partitionable_slots: whether a match takes what its job requests of a partitionable slot, or the
            whole of it as today's negotiator unless it has a consumption policy.
        depth_first: fill a partitionable slot before the next one is looked at.
        limits: the most of each concurrency limit that may be in use, by lower-case name (see
            `concurrency.ConcurrencyLimits`).
        slot_constraint, submitter_constraint, job_constraint: only slots, submitters and jobs for which it is
            true take part; None: all.
        count_slots_outside: count what runs on slots that *slot_constraint* keeps out, too.
        shutdown_threshold: leave out slots whose machine shuts down within so many seconds; None: none.
        discount_suspended: do not charge slots whose job is suspended.
        budgets: how long the cycle and its turns may take; None: as long as they need.
        skip_by: what is passed over for the rest of a turn once a job found no slot.
        job_order: the order of a submitter's jobs of equal job priority.
        request_counts: whether alike jobs are one request, which its first job names.
        significant: what tells kinds of jobs apart.
        global_job_prios: among equal submitters their jobs' priorities decide, at most so many of each; None:
            they do not.
        requirements_stable, preemption_rank_stable: whether *preemption_requirements* and *preemption_rank* keep
            their values while one request is matched; else the next slot that would be preempted is tested again.
        limit_reasons_add_up: a job refused for a concurrency limit is told those of the jobs refused just before
            it, too.
        limits_of_slots_stay: a job without concurrency limits that takes a slot whose ad has some counts for those.
        pool_size: which slots count towards the size of the pool, and so of the pie; None: all.
        known_groups: accounting groups (lower-case names) of whom the slots' ads may tell, since an earlier cycle
            has settled their quotas; None: all of them.
        allow_pslot_preemption: preempt dynamic slots to make room on a partitionable one.
        match_working_cm_slots: consider claimed partitionable slots that another pool works on.
        matchlist_caching: keep the list of candidates while alike jobs are matched.
        preempt_only_to_share: preempt by priority for nothing but the slice of the first spin, and by machine rank
            without regard to it, so that another cycle finds nothing more to preempt; today's negotiator goes
            on, by a slot in every cycle, with what it rounds up and what others leave over.
        resources_in_use: what expressions are told of use and quotas: whole slots, or weight.
        pie_slices: what slices are cut from: what is free and what users in want have (weighted max-min, existing
            use counted), or the whole pool less what each has.
        last_dealing: what is free after the last spin is dealt one match at a time; otherwise the first match of a
            turn may go beyond its slice, and what is left then stays free.
        cross_slot_prios: tell every slot of who has the other slots of its machine, too.
    """

    rules: str
    consider_preemption: bool
    consider_early_preemption: bool
    use_slot_weights: bool
    slot_weight: Expression
    force_slot_weight: bool
    ignore_user_priorities: bool
    ignore_job_ranks: bool
    pre_job_rank: Expression
    post_job_rank: Expression
    preemption_rank: Expression
    preemption_requirements: Expression | None
    preempt_prio_delta: float | None
    match_claimed_idle: bool
    tie_break: TieBreak
    floor_counts_usage: bool
    report_job: ReportJob
    quotas: QuotaPolicy | None
    jobs_per_turn: int | None
    partitionable_slots: PartitionableSlots
    depth_first: bool
    limits: Mapping[str, float]
    slot_constraint: Expression | None
    count_slots_outside: bool
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
    static_ranks: bool
    resources_in_use: ResourcesInUse
    pie_slices: PieSlices
    last_dealing: bool

    @property
    def expressions_on_jobs(self) -> list[Expression]:
        """The negotiator's own expressions that read the job."""
        expressions = [self.pre_job_rank, self.post_job_rank, self.preemption_rank]
        if self.preemption_requirements is not None:
            expressions.append(self.preemption_requirements)
        return expressions
