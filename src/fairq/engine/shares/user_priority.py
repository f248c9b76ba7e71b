"""What a job's UserPriority means in the arithmetic (reference dirac 1.3, DIRAC TaskQueueDB.insertJob)."""

from __future__ import annotations

import struct

from fairq.engine.shares.rules import Rules
from fairq.errors import JobRequirementError

BACKGROUND = 1e-5
FIRST = 1e6


def whole_priority(user_priority: float | str) -> int:
    """Return the integer that is kept of *user_priority*: decimals are cut off.

    Raises ValueError if it is no number.
    """
    return int(user_priority)


def inserted_priority(user_priority: float | str, rules: Rules) -> int:
    """Return the integer that a task queue keeps of a job's *user_priority*.

    Raises JobRequirementError, under DIRAC's rules alone, if it is negative: its table has no room for the sign.
    """
    priority = whole_priority(user_priority)
    if priority < 0 and not rules.clamp_submitted:
        raise JobRequirementError(
            what="UserPriority", value=priority, problem="negative; DIRAC refuses such a job", cure="give it 0"
        )
    return priority


def real_priority(user_priority: float | str) -> float:
    """Return the weight of a job: 1 to 9 as they are, 0 and less "background", 10 and more "before all of mine"."""
    priority = whole_priority(user_priority)
    if priority <= 0:
        return BACKGROUND
    return FIRST if priority >= 10 else float(priority)


def in_sum(user_priority: float | str, rules: Rules) -> float:
    """Return what a job adds to its queue's sum; DIRAC's is kept in a 4-byte column."""
    weight = real_priority(user_priority)
    stored: float = struct.unpack("f", struct.pack("f", weight))[0]
    return stored if rules.decimals is not None else weight
