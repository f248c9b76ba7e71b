"""Every way in which fairq refuses: class name, exit code and message are one thing.

The docstring of a class is the template of its message, filled from the keyword arguments it is raised
with; `exit_code` is what the process ends with. The manual's table of exit codes is generated from here.
"""

from __future__ import annotations

from typing import Any, ClassVar


class FairqError(Exception):
    """{message}"""

    exit_code: ClassVar[int] = 1

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__(" ".join((type(self).__doc__ or "").split()).format(**fields))


# 2: wrong use of the command line


class UsageError(FairqError):
    """{message}"""

    exit_code = 2


# 3-12: the state file

# 13-20: settings

# 21-23: expressions

# 24-29: names, numbers, times


class InvalidTimeError(FairqError):
    """{what} is not a time: {value!r}; give seconds since 1970 or ISO 8601, as 2026-11-20T14:00"""

    exit_code = 24


class InvalidNumberError(FairqError):
    """{what} is not a valid number: {value!r}; {expected}"""

    exit_code = 25


class InvalidNameError(FairqError):
    """{what} is not a valid name: {value!r}; {expected}"""

    exit_code = 26


# 30-39: jobs and submit descriptions

# 40-44: slots

# 45-52: import and export

# 53-59: userprio


class LeaseInEffectError(FairqError):
    """a {what} lease of {name} is already in effect until {until} (seconds since 1970);
    cancel it before setting another"""

    exit_code = 53


class NoLeaseError(FairqError):
    """no {what} lease of {name} is in effect; there is nothing to cancel"""

    exit_code = 54


class SubmitterInUseError(FairqError):
    """{name} was not deleted: {slots} of its jobs still hold slots; end them first, or add --force"""

    exit_code = 55


class UnknownSubmitterError(FairqError):
    """no submitter or group named {name!r} has a record in {state}; {hint}"""

    exit_code = 56


# 60-63: negotiation

# 75: try again later


class CycleUnderWayError(FairqError):
    """another negotiation cycle is under way on {state}; nothing was done, try again later"""

    exit_code = 75
