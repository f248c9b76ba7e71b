"""The rules of the brokerage that settings choose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairq.engine.brokerage.rules import RULES, Rules

if TYPE_CHECKING:
    from fairq.settings import Settings

POINTS = (
    "exclude_test_queues",
    "urgent_needs_nucleus",
    "disk_io_per_core",
    "throughput",
    "network_weight_always",
    "base_memory_always",
    "plain_minimum_walltime",
    "gpu_lists",
    "infer_cpu",
    "analysis_weight",
    "fast_rebrokerage_all",
    "analysis_queue_ratio",
    "failures_everywhere",
    "pauses_stop_timeouts",
    "holding_from_800",
    "transferring_heartbeat_of_all",
    "retry_by_activity",
)
"""The fields of `Rules` that have a setting of the same name."""


def rules_in_force(settings: Settings, chosen: str | None = None) -> Rules:
    """Return the rules called *chosen*, else those of ``broker.rules``.

    A single point that the settings name themselves wins.
    """
    by_rules = f"rules {settings['broker.rules']}"
    own: dict[str, Any] = {
        point: settings[f"broker.{point}"]
        for point in POINTS
        if str(settings.origin(f"broker.{point}")) != by_rules
    }
    return replace(RULES[chosen or settings["broker.rules"]], **own)
