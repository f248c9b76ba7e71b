"""The negotiation settings as the engine wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.engine.classad import Expression
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.steps.quota_policy import parsed, parsed_if_set, quota_policy

if TYPE_CHECKING:
    from fairq.settings import Settings


def negotiation_policy(settings: Settings) -> NegotiationPolicy:
    """Return the negotiation policy that *settings* describe.

    Raises:
        SettingValueError: an expression does not parse.
    """

    def expression(key: str) -> Expression:
        return parsed(settings, f"negotiator.{key}")

    return NegotiationPolicy(
        rules=settings["negotiator.rules"],
        consider_preemption=settings["negotiator.negotiator_consider_preemption"],
        consider_early_preemption=settings["negotiator.negotiator_consider_early_preemption"],
        use_slot_weights=settings["negotiator.negotiator_use_slot_weights"],
        slot_weight=expression("slot_weight"),
        force_slot_weight=settings["negotiator.force_negotiator_slot_weight"],
        ignore_user_priorities=settings["negotiator.negotiator_ignore_user_priorities"],
        ignore_job_ranks=settings["negotiator.negotiator_ignore_job_ranks"],
        pre_job_rank=expression("negotiator_pre_job_rank"),
        post_job_rank=expression("negotiator_post_job_rank"),
        preemption_rank=expression("preemption_rank"),
        preemption_requirements=parsed_if_set(settings, "negotiator.preemption_requirements"),
        preempt_prio_delta=settings["negotiator.preempt_prio_delta"],
        match_claimed_idle=settings["negotiator.match_claimed_idle"],
        tie_break=settings["negotiator.tie_break"],
        floor_counts_usage=settings["negotiator.floor_counts_usage"],
        report_job=settings["negotiator.report_job"],
        quotas=quota_policy(settings),
        jobs_per_turn=_jobs_per_turn(settings),
        partitionable_slots=settings["negotiator.partitionable_slots"],
        depth_first=settings["negotiator.negotiator_depth_first"],
    )


def _jobs_per_turn(settings: Settings) -> int | None:
    if not settings["schedd.schedd_enable_per_user_match_limits"]:
        return None
    return settings["schedd.max_concurrent_uploads_per_user"] or None
