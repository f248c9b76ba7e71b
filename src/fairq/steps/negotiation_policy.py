"""The negotiation settings as the engine wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.engine.classad import Expression, parse
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.errors import ExpressionError

if TYPE_CHECKING:
    from fairq.settings import Settings


def negotiation_policy(settings: Settings) -> NegotiationPolicy:
    """Return the negotiation policy that *settings* describe.

    Raises:
        SettingValueError: an expression does not parse.
    """

    def expression(key: str) -> Expression:
        name = f"negotiator.{key}"
        try:
            return parse(settings[name])
        except ExpressionError:
            raise settings.refusal(name) from None

    gated = settings["negotiator.preemption_requirements"] is not None
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
        preemption_requirements=expression("preemption_requirements") if gated else None,
        preempt_prio_delta=settings["negotiator.preempt_prio_delta"],
        match_claimed_idle=settings["negotiator.match_claimed_idle"],
        tie_break=settings["negotiator.tie_break"],
        floor_counts_usage=settings["negotiator.floor_counts_usage"],
        report_job=settings["negotiator.report_job"],
    )
