"""The weight of a job's UserPriority (docs/dirac.md 2; DIRAC JobManifest, TaskQueueDB.insertJob)."""

from __future__ import annotations

import struct
from typing import Any

from fairq.engine.shares.rules import Rules
from fairq.errors.shares import JobRequirement, JobRequirementError

BACKGROUND = 1e-5
FIRST = 1e6
"""DIRAC's weights of UserPriorities of 0 and less, and of 10 and more."""

LEAST, MOST = 1e-30, 1e30
"""The range of given weights, in which sums and quotients remain finite even in four bytes."""


def read_priority(value: Any, default: float, rules: Rules) -> float:
    """Return the UserPriority of a job, *default* if it has none (None).

    Under the rules dirac, decimals are truncated. Raises JobRequirementError if it is not a number; under the rules
    dirac, also for a text that is not an integer.
    """
    if value is None:
        return default
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
        integer = int(number)
    except (TypeError, ValueError, OverflowError):
        raise JobRequirementError(JobRequirement.PRIORITY_NO_NUMBER, what="UserPriority", value=value) from None
    if rules.user_priority_weight != "mapped":
        return integer if integer == number else number
    if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
        raise JobRequirementError(JobRequirement.NOT_WHOLE, what="UserPriority", value=value)
    return integer


def inserted_priority(user_priority: float, rules: Rules) -> float:
    """Return the UserPriority that a task queue stores for a job.

    Raises JobRequirementError, only under the rules dirac, if it is negative: DIRAC's column is unsigned.
    """
    if user_priority < 0 and rules.user_priority_weight == "mapped":
        raise JobRequirementError(JobRequirement.PRIORITY_NEGATIVE, what="UserPriority", value=user_priority)
    return user_priority


def check_submitted(value: Any, rules: Rules) -> None:
    """Raise JobRequirementError for a UserPriority of a new job that is not above 0, unless priorities are mapped."""
    if rules.user_priority_weight == "as_given" and read_priority(value, 1, rules) <= 0:
        raise JobRequirementError(JobRequirement.PRIORITY_NOT_POSITIVE, what="UserPriority", value=value)


def real_priority(user_priority: float, rules: Rules) -> float:
    """Return the weight of a job.

    With as_given, it is the UserPriority, bounded to LEAST and MOST. With mapped, 1 to 9 are unchanged, 0 and less
    become 0.00001, and 10 and more a million.
    """
    if rules.user_priority_weight == "as_given":
        return min(max(float(user_priority), LEAST), MOST)
    priority = int(user_priority)
    if priority <= 0:
        return BACKGROUND
    return FIRST if priority >= 10 else float(priority)


def in_sum(user_priority: float, rules: Rules) -> float:
    """Return the contribution of a job to its queue's sum; DIRAC stores it in a 4-byte column."""
    weight = real_priority(user_priority, rules)
    stored: float = struct.unpack("f", struct.pack("f", weight))[0]
    return stored if rules.decimals is not None else weight
