"""Task queues, groups and histories for the tests of shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.engine.shares.choice import chance
from fairq.engine.shares.corrector import Corrections, Reports, UsageRequest
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.queues import Requirements, TaskQueue
from fairq.engine.shares.rules import Rules, Selection
from fairq.engine.shares.user_priority import in_sum
from fairq.steps.taskqueues.policy import preset

__all__ = ["preset"]

DOCUMENTED, DIRAC = preset("documented"), preset("dirac")

WEEK, HOUR = 604800, 3600

SCHEMA = {
    "ShareCorrectorsToStart": "WMSHistory",
    "WMSHistory": {
        "GroupsInstance": {
            "MaxGlobalCorrectionFactor": 3,
            "WeekSlice": {"TimeSpan": WEEK, "Weight": 80, "MaxCorrection": 2},
            "HourSlice": {"TimeSpan": HOUR, "Weight": 20, "MaxCorrection": 5},
        },
        "lhcb_userInstance": {
            "Group": "lhcb_user",
            "MaxGlobalCorrectionFactor": 3,
            "WeekSlice": {"TimeSpan": WEEK, "Weight": 80, "MaxCorrection": 2},
            "HourSlice": {"TimeSpan": HOUR, "Weight": 20, "MaxCorrection": 5},
        },
    },
}
"""The example of the priority schema of 2009, as it stands there."""


def chances(weights: list[float], selection: Selection) -> list[float]:
    """Return the chance of each weight to come first."""
    return [chance(weights, index, selection) for index in range(len(weights))]


def queue(number: int, owner: str, group: str, priorities: list[int], rules: Rules, **fields: Any) -> TaskQueue:
    """Return a queue with jobs of these UserPriorities; its CPU time is its number unless *fields* have another."""
    requirements = Requirements(owner, group, **{"cpu_time": number, **fields})
    return TaskQueue(number, requirements, len(priorities), sum(in_sum(priority, rules) for priority in priorities))


def registry(*groups: OwnerGroup) -> dict[str, OwnerGroup]:
    """The groups by name."""
    return {group.name: group for group in groups}


def history(by_group: Mapping[str, Mapping[int, Mapping[str, float] | None]]) -> Reports:
    """Reports by group ("" for the use of groups) and span."""

    def report(request: UsageRequest) -> Mapping[str, float] | None:
        return by_group.get(request.group, {}).get(int(request.span), {})

    return report


def corrected(rules: Rules, block: Mapping[str, Any], reports: Reports) -> Corrections:
    """Correctors with their history."""
    corrections = Corrections(rules, built_in())
    corrections.update(block, reports)
    return corrections


def instance(*, maximum: Any = 10, **slices: Any) -> dict[str, Any]:
    """Settings with one instance between groups."""
    return {
        "ShareCorrectorsToStart": "WMSHistory",
        "WMSHistory": {"I": {"MaxGlobalCorrection": maximum, **slices}},
    }
