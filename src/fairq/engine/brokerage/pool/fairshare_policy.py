"""Fair share policies, which exclude tasks from queues: CRIC's ``fairsharepolicy`` (docs/panda.md).

::

    policy := sub ("," sub)*
    sub    := field (":" field)* ":" value
    field  := "type=" T | "group=" G | "gshare=" S | "priority" operator number

The first sub-policy that applies decides; a value of ``0`` or ``0%`` means that the queue refuses.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from msgspec import Struct

ANY = "any"
OTHERS = "others"
TEST = "test"
EVGENSIMUL = "evgensimul"
EVGENSIMUL_GROUPS = frozenset({"evgen", "simul"})
"""Types of policies that stand for several process groups."""

PROCESS_GROUPS = {
    **{name: name for name in ("evgen", "simul", "reprocessing", "mcore", "group", "deriv", "pile", "merge")},
    **dict.fromkeys(("prod_test", "validation", "ptest", "rc_test", "rc_test2", "rc_alrb"), TEST),
}
"""The group of each processing type that has one (PanDA ProcessGroups)."""

_ZERO = {"0", "0%"}
_PATTERNS = {"type", "group", "gshare"}
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_NOT_UNDERSTOOD = ("==", None)
_PRIORITY = re.compile(r"priority\s*(>=|<=|==|!=|>|<)\s*(.*)")


def process_group(processing_type: str | None) -> str:
    """Return the process group of a processing type; ``others`` if it has none."""
    return PROCESS_GROUPS.get(processing_type or "", OTHERS)


class PolicyRequest(Struct, frozen=True):
    """The properties of a task that a policy reads: process group, working group, share and current priority."""

    process_group: str
    working_group: str | None = None
    gshare: str | None = None
    priority: float | None = None
    merging: bool = False


class PolicyReading(NamedTuple):
    """Rules for reading policies; the fields are rule points of the same names."""

    unnamed_have_no_share: bool
    evgensimul: bool
    tests_have_shares: bool


class SubPolicy(Struct, frozen=True):
    """One part of a policy: its conditions, all of which must hold, and whether it refuses (*is_zero*).

    Args:
        text: as written.
        process_group, working_group, share: patterns; None is no condition.
        priority: operator and number; None is an invalid number, which every task meets.
        unknown: invalid fields, which set no condition.
    """

    text: str
    is_zero: bool
    process_group: str | None = None
    working_group: str | None = None
    share: str | None = None
    priority: tuple[str, float | None] | None = None
    unknown: tuple[str, ...] = ()

    def applies(self, request: PolicyRequest, reading: PolicyReading) -> bool:
        """Return whether every condition holds for *request*; the priority of a merge is ignored.

        A task without a share meets every condition on shares. Raises re.error for an invalid pattern.
        """
        if reading.evgensimul and self.process_group == EVGENSIMUL:
            if request.process_group not in EVGENSIMUL_GROUPS:
                return False
        elif not _matches(self.process_group, request.process_group):
            return False
        if not _matches(self.working_group, request.working_group or ""):
            return False
        if request.gshare is not None and not _matches(self.share, request.gshare):
            return False
        if self.priority is None or request.merging or request.priority is None:
            return True
        sign, number = self.priority
        return number is None or _OPERATORS[sign](request.priority, number)


@cache
def read_policy(text: str | None) -> tuple[SubPolicy, ...]:
    """Return the parts of a policy in order; empty for no policy."""
    return tuple(_sub_policy(part) for part in text.split(",")) if text else ()


def deciding_part(policy: str | None, request: PolicyRequest, reading: PolicyReading) -> SubPolicy | None:
    """Return the part of *policy* that decides for *request*: the first that applies; None if none does.

    Under the rules panda, test jobs are always accepted. Raises re.error for an invalid pattern.
    """
    if reading.tests_have_shares and request.process_group == TEST:
        return None
    return next((part for part in read_policy(policy) if part.applies(request, reading)), None)


def has_zero_share(policy: str | None, request: PolicyRequest, reading: PolicyReading) -> bool:
    """Return whether a queue with this policy refuses *request* (PanDA hasZeroShare, reason ``zeroshare``).

    A task that no part names has no share if some part gives a share to others; the rules panda accept it. From the
    first invalid pattern on, every task is accepted.
    """
    if reading.tests_have_shares and request.process_group == TEST:
        return False
    try:
        part = deciding_part(policy, request, reading)
    except re.error:
        return False
    if part is not None:
        return part.is_zero
    return reading.unnamed_have_no_share and any(not sub_policy.is_zero for sub_policy in read_policy(policy))


def _sub_policy(text: str) -> SubPolicy:
    fields = text.split(":")
    patterns: dict[str, str] = {}
    priority: tuple[str, float | None] | None = None
    unknown = []
    for field in fields:
        name, separator, _ = field.partition("=")
        if separator and name in _PATTERNS:
            patterns[name] = field.rpartition("=")[2]
        elif field.startswith("priority"):
            match = _PRIORITY.match(field)
            priority = (match[1], _number(match[2])) if match else _NOT_UNDERSTOOD
        elif field is not fields[-1]:
            unknown.append(field)
    return SubPolicy(
        text,
        fields[-1] in _ZERO,
        patterns.get("type"),
        patterns.get("group"),
        patterns.get("gshare"),
        priority,
        tuple(unknown),
    )


def _matches(pattern: str | None, value: str) -> bool:
    return pattern is None or pattern == ANY or _compiled(pattern).search(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(f"^{pattern.replace('*', '.*')}$")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
