"""What can be wrong with names of people, their rights, and second thoughts: exit codes 100 to 107."""

from __future__ import annotations

from fairq.errors.base import FairqError


class AmbiguousNameError(FairqError):
    """{name!r} can be any of {found}; give the full name"""

    exit_code = 100
    summary = "A name without its domain or group fits several submitters"


class NotAllowedError(FairqError):
    """{user} may not {action}; {who} may"""

    exit_code = 101
    summary = "The user may not do this"


class MissingStateError(FairqError):
    """there is no state file {state}, which {named_by} names; correct the path, or create it with a command that \
    changes something, such as 'fairq slots add'"""

    exit_code = 102
    summary = "The state file that --state or FAIRQ_STATE names does not exist"


class UndoError(FairqError):
    """{change} cannot be undone: {reason}; nothing was changed"""

    exit_code = 103
    summary = "A change cannot be undone"
