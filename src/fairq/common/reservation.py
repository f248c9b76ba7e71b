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
"""How long a job may still run after its limit."""


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

    def meets(self, begin: int, end: int | None) -> bool:
        """Return whether a time from *begin* to *end* overlaps it."""
        return (end is None or self.begin < end) and (self.end is None or begin < self.end)

    def admits(self, submitter: str) -> bool:
        """Return whether a *submitter* (``group.user@domain``) may use the slots."""
        local = submitter.rpartition("@")[0] or submitter
        is_member = any(local.lower().startswith(f"{group.lower()}.") for group in self.groups)
        return is_member or local.rpartition(".")[2] in self.users or local in self.users

    @property
    def clause(self) -> str:
        """The expression of a slot that is true of the jobs that may start there; TARGET is the job.

        Before it begins, a job of others starts there only if its declared limit ends it by then.
        """
        if self.leaves:
            return f"time() < {self.begin}"
        ways = [_user(name) for name in self.users] + [_group(name) for name in self.groups]
        if self.job is not None:
            ways = [f"(TARGET.{JOB_ATTRIBUTE} == {self.number} && {way})" for way in ways]
        ends = " || ".join(f"((time() + TARGET.{limit} + {_VACATES} <= {self.begin}) is true)" for limit in _LIMITS)
        ways.append(f"(time() < {self.begin} && ({ends}))")
        if self.end is not None:
            ways.append(f"time() >= {self.end}")
        return " || ".join(f"({way} is true)" for way in ways)


def also(requirements: Any, clause: str) -> str:
    """Return the *requirements* of a slot, as its ad has them, and the *clause*."""
    text = "true" if requirements is None else expression_text(requirements) or json.dumps(requirements)
    return as_expression(f"({text}) && {clause}")


def _user(name: str) -> str:
    """Return whether the job counts for this user; an administrator may submit for others."""
    text = json.dumps(name)
    own = f"TARGET.AcctGroupUser is undefined && TARGET.Owner == {text}"
    return f"(TARGET.AcctGroupUser == {text} || ({own}))"


def _group(name: str) -> str:
    text, below = json.dumps(name), json.dumps(f"{name}.")
    return f"(TARGET.AcctGroup == {text} || substr(TARGET.AcctGroup, 0, {len(name) + 1}) == {below})"
