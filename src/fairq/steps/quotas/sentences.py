"""Sentences for problems of a configured group, and for the reasons why a cycle skipped a group."""

from __future__ import annotations

from msgspec.structs import asdict

from fairq.engine.quotas.record import GroupTurn, SkipReason
from fairq.engine.quotas.tree import Problem, ProblemKind

_PROBLEMS = {
    ProblemKind.ORPHAN: "it has no parent group",
    ProblemKind.DUPLICATE: "it is configured twice; case does not matter",
    ProblemKind.RESERVED: "this name stands for everybody who is in no other group",
    ProblemKind.NO_QUOTA: "it has neither quota nor quota_dynamic, so its quota is 0",
    ProblemKind.LONG_NAME: "its name has more than 40 characters",
    ProblemKind.NESTED: "the flat model has only one level of groups",
}

_SKIPPED = {
    SkipReason.NOTHING_ALLOCATED: "skipping, zero slots allocated",
    SkipReason.QUOTA_IN_USE: "skipping, at or over quota (quota={quota:g}) (usage={used:g}) (allocation={allocated:g})",
    SkipReason.FLAT_QUOTA_IN_USE: "skipping, at or over quota (usage={used:g})",
    SkipReason.NO_SUBMITTERS: "skipping, no submitters (usage={used:g})",
}
"""The wording of the negotiator's log (GroupEntry.cpp, hgq_negotiate_with_all_groups)."""


def problem_words(problem: Problem) -> str:
    """Return the sentence for *problem*, without the group's name."""
    return f"{_PROBLEMS[problem.kind]}{'; the group is ignored' if problem.ignored else ''}"


def skip_words(turn: GroupTurn) -> str | None:
    """Return why *turn* skipped the group; None if it got a pie."""
    return None if turn.skipped is None else _SKIPPED[turn.skipped].format_map(asdict(turn))
