"""What is wrong with a configured group, in words."""

from __future__ import annotations

from fairq.engine.quotas.tree import Problem, ProblemKind

_PROBLEMS = {
    ProblemKind.ORPHAN: "it has no parent group",
    ProblemKind.DUPLICATE: "it is configured twice; case does not matter",
    ProblemKind.RESERVED: "this name stands for everybody who is in no other group",
    ProblemKind.NO_QUOTA: "it has neither quota nor quota_dynamic, so its quota is 0",
    ProblemKind.LONG_NAME: "its name has more than 40 characters",
    ProblemKind.NESTED: "the flat model has only one level of groups",
}


def problem_words(problem: Problem) -> str:
    """Return what is wrong, without the group's name."""
    return f"{_PROBLEMS[problem.kind]}{'; the group is ignored' if problem.ignored else ''}"
