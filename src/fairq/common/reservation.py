"""A reservation of slots for some users and groups, for one job, or for nobody."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct, field

from fairq.common.expression_form import as_expression, expression_text

JOB_ATTRIBUTE = "Reservation"
"""The attribute of a job that a slot is promised to: the number of the reservation."""

_LIMITS = ("AllowedExecuteDuration", "AllowedJobDuration")
_VACATES = "(TARGET.JobMaxVacateTime ?: 0)"
"""Time that a job may run after its limit."""


class Reservation(Struct, frozen=True):
    """Slots that are reserved from *begin* to *end* (seconds since 1970; None: without end).

    Args:
        number: of the reservation; numbers are not used again.
        slots: names of the slots.
        users, groups: who may use them; if both are empty, nobody may.
        by: who made the reservation, at *time*, for this *reason*.
        leaves: the slots take jobs until *begin*; from then on, each leaves the pool as soon as it is free.
        job: the name of the job that the slots are promised to; *users* is then its user alone.
    """

    number: int
    slots: list[str]
    begin: int
    end: int | None
    by: str
    time: int
    users: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    reason: str | None = None
    leaves: bool = False
    job: str | None = None

    def is_over(self, now: int) -> bool:
        """Return whether the reservation has ended."""
        return self.end is not None and self.end <= now

    def overlaps(self, begin: int, end: int | None) -> bool:
        """Return whether the time from *begin* to *end* overlaps the reservation."""
        return (end is None or self.begin < end) and (self.end is None or begin < self.end)

    def admits(self, submitter: str) -> bool:
        """Return whether a *submitter* (``group.user@domain``) may use the slots."""
        local = submitter.rpartition("@")[0] or submitter
        is_member = any(local.lower().startswith(f"{group.lower()}.") for group in self.groups)
        return is_member or local.rpartition(".")[2] in self.users or local in self.users

    @property
    def clause(self) -> str:
        """The expression of a slot that is true for jobs that may start there; TARGET is the job.

        Before the reservation begins, others' jobs start there only if their declared limits end them by then.
        """
        if self.leaves:
            return f"time() < {self.begin}"
        conditions = [_user_condition(name) for name in self.users] + [_group_condition(name) for name in self.groups]
        if self.job is not None:
            conditions = [f"(TARGET.{JOB_ATTRIBUTE} == {self.number} && {condition})" for condition in conditions]
        ends = " || ".join(f"((time() + TARGET.{limit} + {_VACATES} <= {self.begin}) is true)" for limit in _LIMITS)
        conditions.append(f"(time() < {self.begin} && ({ends}))")
        if self.end is not None:
            conditions.append(f"time() >= {self.end}")
        return " || ".join(f"({condition} is true)" for condition in conditions)


def with_clause(requirements: Any, clause: str) -> str:
    """Return the *requirements* of a slot's ad with the additional *clause*."""
    text = "true" if requirements is None else expression_text(requirements) or json.dumps(requirements)
    return as_expression(f"({text}) && {clause}")


def _user_condition(name: str) -> str:
    """Return the condition that the job counts for this user; an administrator may submit for others."""
    text = json.dumps(name)
    own = f"TARGET.AcctGroupUser is undefined && TARGET.Owner == {text}"
    return f"(TARGET.AcctGroupUser == {text} || ({own}))"


def _group_condition(name: str) -> str:
    text, prefix = json.dumps(name), json.dumps(f"{name}.")
    return f"(TARGET.AcctGroup == {text} || substr(TARGET.AcctGroup, 0, {len(name) + 1}) == {prefix})"
