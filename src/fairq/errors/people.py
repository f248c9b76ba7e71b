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


class TooManyJobsError(FairqError):
    """{new} more jobs are too many: {who} {there}, and schedd.{name} is {most}; submit fewer, or wait until some end"""

    exit_code = 104
    summary = "The queue would have more jobs than its limits allow"


class SurroundingsError(FairqError):
    """the program of the pool does not start: {problem}; {cure}"""

    exit_code = 105
    summary = "The program of a host's pool was started in an unsafe way"


class RequestError(FairqError):
    """the request to the pool is refused: {problem}; nothing was changed"""

    exit_code = 106
    summary = "A request to a host's pool is invalid"


class RepeatedError(FairqError):
    """the pool has already fulfilled this request; nothing was changed again"""

    exit_code = 107
    summary = "A request to a host's pool is a repeat"


class NoAnswerError(FairqError):
    """the pool of this host does not answer ({problem}); whether the change was made is not known: look with \
    'fairq state history' before you repeat it"""

    exit_code = 99
    summary = "The program of a host's pool does not answer"
