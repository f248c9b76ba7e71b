"""The queue's fair share policy: CRIC's ``fairsharepolicy``, which excludes tasks (docs/panda.md, Fair share policies).

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

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.rules import Rules

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

    def applies(self, request: PolicyRequest, rules: Rules) -> bool:
        """Return whether every condition holds for *request*; the priority of a merge is ignored.

        A task without a share meets every condition on shares. Raises re.error for an invalid pattern.
        """
        if rules.evgensimul and self.process_group == EVGENSIMUL:
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


def deciding_part(policy: str | None, request: PolicyRequest, rules: Rules) -> SubPolicy | None:
    """Return the part of *policy* that decides for *request*: the first that applies; None if none does.

    Under the rules panda, test jobs are always accepted. Raises re.error for an invalid pattern.
    """
    if rules.tests_have_shares and request.process_group == TEST:
        return None
    return next((part for part in read_policy(policy) if part.applies(request, rules)), None)


def has_zero_share(policy: str | None, request: PolicyRequest, rules: Rules) -> bool:
    """Return whether a queue with this policy refuses *request* (PanDA hasZeroShare, reason ``zeroshare``).

    A task that no part names has no share if some part gives a share to others; the rules panda accept it. From the
    first invalid pattern on, every task is accepted.
    """
    if rules.tests_have_shares and request.process_group == TEST:
        return False
    try:
        part = deciding_part(policy, request, rules)
    except re.error:
        return False
    if part is not None:
        return part.is_zero
    return rules.unnamed_have_no_share and any(not sub_policy.is_zero for sub_policy in read_policy(policy))


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


ZERO = Reason("zeroshare")


def _reads_request(ask: Ask) -> Values:
    task = ask.task
    group = process_group(task.processing_type)
    return (PolicyRequest(group, task.working_group, task.gshare, task.current_priority, ask.chunk.is_merging),)


def _reads_share(ask: Ask) -> Values | None:
    alone = ask.preassigned == "single" and ask.task.label != "managed"
    if ask.rules.tests_have_shares and not alone and ask.task.gshare in {"test", "validation"}:
        return None
    return _reads_request(ask)


@refuses("zeroshare", "zero share check", ZERO, reads=_reads_share)
def zero_share(pool: Pool, request: PolicyRequest) -> Refusals:
    """Refuse queues whose fair share policy gives the task no share; under the rules panda, tests always have one."""
    policies, policy_of = pool.different("policies", lambda queue: queue.fairsharepolicy)
    refusing = np.array([has_zero_share(policy, request, pool.rules) for policy in policies], np.bool_)

    def figures(row: int) -> Details:
        policy = pool.queues[row].fairsharepolicy
        part = deciding_part(policy, request, pool.rules)
        decided = {"decided_by": part.text} if part else {"type": request.process_group, "decided_by_none": True}
        return {"fairsharepolicy": policy, **decided}

    yield Refusal(ZERO, refusing[policy_of], figures)


def _reads_analysis_share(ask: Ask) -> Values | None:
    return _reads_request(ask) if ask.rules.analysis_zero_share and ask.preassigned != "single" else None


analysis_zero_share = zero_share._replace(name="analysis zeroshare", reads=_reads_analysis_share)
