"""Errors of making and removing the pool of a host: exit codes 111 and 122."""

from __future__ import annotations

from fairq.errors.base import FairqError


class HostPoolError(FairqError):
    """the pool of this host cannot be {action}: {problem}; nothing was changed; {cure}"""

    exit_code = 111
    summary = "The pool of this host cannot be created or removed as things are"


class HostStepError(FairqError):
    """step {number} failed ({step}): {reason}; {fate}; correct the cause, then run the command again"""

    exit_code = 122
    summary = "A step of creating or removing the pool of this host failed"
