"""What can go wrong when fairq looks ahead: exit codes 96, and 108 to 110."""

from __future__ import annotations

from fairq.errors.base import FairqError


class NothingToSimulateError(FairqError):
    """there is nothing to simulate: {reason}; {cure}"""

    exit_code = 108
    summary = "A simulation has no jobs or no slots"


class EndlessPreemptionError(FairqError):
    """under the policy {policy!r}, jobs preempt each other without end: {jobs}; {cure}"""

    exit_code = 96
    summary = "Jobs of a simulation preempt each other without end"


class UnreachableShareError(FairqError):
    """{name} cannot get {share}: {reason}; at most {reachable} can be reached"""

    exit_code = 109
    summary = "No factors give these shares"


class InvalidChangeError(FairqError):
    """{option} {value!r}: {problem}; {cure}"""

    exit_code = 110
    summary = "A change to try out is invalid"
