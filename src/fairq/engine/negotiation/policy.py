"""The settings that a negotiation cycle follows, as the engine wants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairq.engine.classad import Expression
from fairq.engine.quotas.policy import QuotaPolicy

TieBreak = Literal["slot_name", "std_sort"]
ReportJob = Literal["job", "request"]
PartitionableSlots = Literal["carve", "whole"]


@dataclass(frozen=True, slots=True)
class NegotiationPolicy:
    """One cycle's rules; each field is the HTCondor macro of its name, or a point where the manuals and
    today's negotiator differ.

    Args:
        rules: the set of rules in force, ``documented`` or ``htcondor``; named in every result.
        consider_preemption: look at busy slots at all.
        consider_early_preemption: look at slots whose job still has retirement time, too.
        use_slot_weights: measure in slot weights; otherwise every slot counts 1.
        slot_weight: the weight of a slot whose ad has none (`SLOT_WEIGHT`).
        force_slot_weight: use *slot_weight* even where the ad has its own.
        ignore_user_priorities: no limits; the order of submitters stays.
        ignore_job_ranks: leave the jobs' Rank out of the order of candidates.
        preemption_requirements: gate of priority preemption; None is no test.
        preempt_prio_delta: by how much the holder's effective priority must be worse before a job may
            preempt by priority (the manuals' "better priority"); None is today's code, which does not ask.
        match_claimed_idle: whether a claimed slot that runs no job is a candidate.
        tie_break: the order among candidates that rank equally.
        floor_counts_usage: whether what a submitter holds already counts towards the floor.
        report_job: whether a match names the job that runs, or the request's first job as today's
            negotiator logs it.
        quotas: the accounting groups and their rules; None: there are no groups.
        jobs_per_turn: how many jobs of a submitter its schedd offers in one turn, those offered in vain
            included; None: all (`MAX_CONCURRENT_UPLOADS_PER_USER`, if limits per user are enabled).
        partitionable_slots: whether a match takes what its job requests of a partitionable slot, or the
            whole of it as today's negotiator unless it has a consumption policy.
        depth_first: fill a partitionable slot before the next one is looked at.
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
    quotas: QuotaPolicy | None = None
    jobs_per_turn: int | None = None
    partitionable_slots: PartitionableSlots = "carve"
    depth_first: bool = False
