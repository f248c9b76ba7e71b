"""What can be wrong with shares, task queues and pilots: exit codes 64 to 69 and 76 to 79."""

from __future__ import annotations

from fairq.errors.base import FairqError


class UnknownShareGroupError(FairqError):
    """{where}: there is no group {group!r}; {hint}"""

    exit_code = 68
    summary = "There is no share group of this name"


class UnknownTaskQueueError(FairqError):
    """there is no task queue {number}; list the queues with 'fairq taskqueues list'"""

    exit_code = 69
    summary = "There is no task queue of this number"


class ShareCorrectorError(FairqError):
    """the share corrector {name!r} {problem}; {cure}"""

    exit_code = 76
    summary = "A share corrector cannot be used"


class DiracConfigError(FairqError):
    """{where}: {problem}"""

    exit_code = 77
    summary = "A DIRAC configuration file has an error"


class TaskQueueDumpError(FairqError):
    """{source}, {where}: {problem}; {cure}"""

    exit_code = 78
    summary = "A dump of task queues has an error"


# 64-69, 76-79: DIRAC's scheme


class ShareCorrectionError(FairqError):
    """share corrections, {where}: {reason}; {cure}"""

    exit_code = 64
    summary = "The share corrections are configured wrongly"


class DiracStopsError(FairqError):
    """{reason}: DIRAC fails at this point, and so do the rules dirac; {cure}, or use the rules documented"""

    exit_code = 65
    summary = "The rules dirac fail at a point where DIRAC itself fails"


class JobRequirementError(FairqError):
    """the {what} of the job, {value!r}, is {problem}; {cure}"""

    exit_code = 66
    summary = "A job has an invalid requirement"


class PilotDescriptionError(FairqError):
    """the pilot's {what} cannot be used: {reason}; {cure}"""

    exit_code = 67
    summary = "The description of a pilot is invalid"
