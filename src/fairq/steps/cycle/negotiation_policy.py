"""The negotiation settings as input of the engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fairq.engine.classad import Expression, parse
from fairq.engine.dominance import Dominance, Price
from fairq.engine.negotiation.autoclusters import SignificantAttributes
from fairq.engine.negotiation.budgets import TimeBudgets
from fairq.engine.negotiation.policy import NegotiationPolicy, SkipBy, TieBreak
from fairq.errors.base import ExpressionError
from fairq.settings.rule_points.htcondor import NEGOTIATOR_POINTS, SCHEDD_POINTS
from fairq.settings.values import BadValueError
from fairq.steps.cycle.accounting_policy import is_dominant
from fairq.steps.cycle.quota_policy import parsed, parsed_if_set, quota_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairq.settings import Settings


_LOWEST_PRICE, _HIGHEST_PRICE = 1e-9, 1e9

_NO_PREFERENCE = parse("0")
"""The rank of every slot, where the setting is unset."""


def negotiation_policy(settings: Settings) -> NegotiationPolicy:
    """Return the negotiation policy in *settings*.

    Raises:
        SettingValueError: an expression does not parse.
    """

    def expression(key: str) -> Expression:
        return parsed(settings, f"negotiator.{key}")

    def rank(key: str) -> Expression:
        return parsed_if_set(settings, f"negotiator.{key}") or _NO_PREFERENCE

    return NegotiationPolicy(
        rules=settings["negotiator.rules"],
        consider_preemption=settings["negotiator.negotiator_consider_preemption"],
        consider_early_preemption=settings["negotiator.negotiator_consider_early_preemption"],
        use_slot_weights=settings["negotiator.negotiator_use_slot_weights"],
        slot_weight=expression("slot_weight"),
        force_slot_weight=settings["negotiator.force_negotiator_slot_weight"],
        dominant=dominance(settings),
        ignore_user_priorities=settings["negotiator.negotiator_ignore_user_priorities"],
        ignore_job_ranks=settings["negotiator.negotiator_ignore_job_ranks"],
        static_ranks=settings["negotiator.negotiator_ignore_job_ranks"] and settings["negotiator.static_ranks"],
        pre_job_rank=rank("negotiator_pre_job_rank"),
        post_job_rank=rank("negotiator_post_job_rank"),
        preemption_rank=rank("preemption_rank"),
        preemption_requirements=parsed_if_set(settings, "negotiator.preemption_requirements"),
        tie_break=_tie_break(settings),
        quotas=quota_policy(settings),
        jobs_per_turn=_jobs_per_turn(settings),
        allow_pslot_preemption=settings["negotiator.allow_pslot_preemption"],
        match_working_cm_slots=settings["negotiator.match_working_cm_slots"],
        depth_first=settings["negotiator.negotiator_depth_first"],
        limits=settings.limits,
        slot_constraint=parsed_if_set(settings, "negotiator.negotiator_slot_constraint"),
        submitter_constraint=parsed_if_set(settings, "negotiator.negotiator_submitter_constraint"),
        job_constraint=parsed_if_set(settings, "negotiator.negotiator_job_constraint"),
        shutdown_threshold=expression("negotiator_trim_shutdown_threshold"),
        discount_suspended=settings["accounting.negotiator_discount_suspended_resources"],
        budgets=TimeBudgets(
            cycle=settings["negotiator.negotiator_max_time_per_cycle"],
            submitter=settings["negotiator.negotiator_max_time_per_submitter"],
            schedd=settings["negotiator.negotiator_max_time_per_schedd"],
            spin=settings["negotiator.negotiator_max_time_per_piespin"],
        ),
        skip_by=_skip_by(settings),
        request_counts=_request_counts(settings),
        significant=_significant(settings),
        global_job_prios=_global_job_prios(settings),
        requirements_stable=settings["negotiator.preemption_requirements_stable"],
        preemption_rank_stable=settings["negotiator.preemption_rank_stable"],
        pool_size=parsed_if_set(settings, "negotiator.negotiator_slot_poolsize_constraint"),
        matchlist_caching=settings["negotiator.negotiator_matchlist_caching"],
        large_job_patience=settings["negotiator.large_job_patience"],
        large_job_machines=settings["negotiator.large_job_machines"],
        max_preemptions_per_cycle=settings["negotiator.max_preemptions_per_cycle"],
        max_preemptions_per_hour=settings["negotiator.max_preemptions_per_hour"],
        max_preemptions_per_submitter=settings["negotiator.max_preemptions_per_submitter"],
        cross_slot_prios=settings["negotiator.negotiator_cross_slot_prios"],
        modify_requests={
            "cpus": expression("modify_request_expr_requestcpus"),
            "memory": expression("modify_request_expr_requestmemory"),
            "disk": expression("modify_request_expr_requestdisk"),
        },
        **_rule_points(settings),
    )


_PRICE = re.compile(r"\s*(\w+)\s*=\s*([0-9.eE+-]+)(?:\s+if\s+(.+))?\s*", re.DOTALL)


def dominance(settings: Settings) -> Dominance | None:
    """Return the weights of resources; None unless a match weighs as much as its largest share of a resource.

    Raises:
        SettingValueError: a name or price is invalid.
    """

    def converted(name: str, read: Callable[[str], Any]) -> tuple[Any, ...]:
        try:
            return tuple(map(read, settings[name]))
        except BadValueError:
            raise settings.refusal(name) from None

    resources, prices = (
        converted("negotiator.dominant_resources", resource_of),
        converted("negotiator.resource_prices", price_of),
    )
    return Dominance(resources, prices) if is_dominant(settings) else None


def resource_of(text: str) -> str:
    """Return the name of a resource; raises BadValueError."""
    if not text.isidentifier():
        raise BadValueError
    return text


def price_of(text: str) -> Price:
    """Return the price in *text*, such as ``GPUs = 8 if GPUs_DeviceName == "A100"``; raises BadValueError."""
    parts = _PRICE.fullmatch(text)
    try:
        if parts is None or not _LOWEST_PRICE <= (price := float(parts[2])) <= _HIGHEST_PRICE:
            raise ValueError(text)
        return Price(parts[1], price, None if parts[3] is None else parse(parts[3]))
    except (ValueError, ExpressionError):
        raise BadValueError from None


_DERIVED_POINTS = {"tie_break", "skip_by", "static_ranks"}
"""Rule points that also depend on other settings."""


def _rule_points(settings: Settings) -> dict[str, Any]:
    """Return the rule points that have the names of fields of the policy."""
    names = set(NegotiationPolicy.__struct_fields__) - _DERIVED_POINTS
    points = (key for key in (*NEGOTIATOR_POINTS, *SCHEDD_POINTS) if key.name in names)
    return {key.name: settings[key.full_name] for key in points}


def _tie_break(settings: Settings) -> TieBreak:
    tie_break: TieBreak = settings["negotiator.tie_break"]
    sorts = settings["negotiator.negotiator_matchlist_caching"]
    return "listed" if tie_break == "std_sort" and not sorts else tie_break


def _skip_by(settings: Settings) -> SkipBy:
    return "nothing" if settings["schedd.negotiate_all_jobs_in_cluster"] else settings["negotiator.skip_by"]


def _request_counts(settings: Settings) -> bool:
    """Return whether requests have counts; never if a schedd negotiates for all jobs of a cluster."""
    counts: bool = settings["negotiator.use_resource_request_counts"]
    return counts and not settings["schedd.negotiate_all_jobs_in_cluster"]


def _global_job_prios(settings: Settings) -> int | None:
    return settings["schedd.max_global_job_prios"] if settings["negotiator.use_global_job_prios"] else None


def _significant(settings: Settings) -> SignificantAttributes:
    name = "schedd.remove_significant_attributes_regex"
    text = settings[name]
    try:
        pattern = None if text is None else re.compile(text, re.IGNORECASE)
    except re.error:
        raise settings.refusal(name) from None

    def names(key: str) -> frozenset[str]:
        return frozenset(attribute.lower() for attribute in settings[f"schedd.{key}"])

    return SignificantAttributes(
        chosen=names("significant_attributes"),
        added=names("add_significant_attributes"),
        removed=names("remove_significant_attributes"),
        removed_pattern=pattern,
    )


def _jobs_per_turn(settings: Settings) -> int | None:
    if not settings["schedd.schedd_enable_per_user_match_limits"]:
        return None
    return settings["schedd.max_concurrent_uploads_per_user"] or None
