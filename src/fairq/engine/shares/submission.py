"""What a job's Priority and CPUTime become when it is submitted (DIRAC JobManifest; reference dirac 1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairq.engine.shares.rules import Rules
from fairq.errors import JobRequirementError


@dataclass(frozen=True)
class Limits:
    """What stands for a value that is not given, and the least and the most of it."""

    default: int
    least: int
    most: int


PRIORITY = Limits(1, 0, 10)
CPU_TIME = Limits(86400, 100, 500000)


def submitted(given: Mapping[str, Any], job_description: Mapping[str, Any], rules: Rules) -> dict[str, int]:
    """Return Priority and CPUTime of a job.

    Args:
        given: what the job says of them.
        job_description: the options DefaultPriority, MinPriority, MaxPriority, DefaultCPUTime, ...
        rules: DIRAC bounds only what the job does not give.

    Raises JobRequirementError for what is no whole number.
    """
    return {
        name: _value(name, given, job_description, limits, rules)
        for name, limits in (("Priority", PRIORITY), ("CPUTime", CPU_TIME))
    }


def _value(
    name: str, given: Mapping[str, Any], job_description: Mapping[str, Any], limits: Limits, rules: Rules
) -> int:
    def option(which: str, default: int) -> int:
        try:
            return int(str(job_description[which + name]))
        except (KeyError, ValueError):
            return default

    value = given.get(name, option("Default", limits.default))
    try:
        number = int(str(value))
    except ValueError:
        raise JobRequirementError(what=name, value=value, problem="no number", cure="give a whole number") from None
    if name in given and not rules.clamp_submitted:
        return number
    return max(option("Min", limits.least), min(number, option("Max", limits.most)))
