"""What can be wrong with shares, task queues and pilots: exit codes 64 to 69 and 76 to 79."""

from __future__ import annotations

from fairq.errors.base import FairqError


class UnknownShareGroupError(FairqError):
    """{where}: no group is called {group!r}; {hint}"""

    exit_code = 68


class UnknownTaskQueueError(FairqError):
    """there is no task queue {number}; 'fairq taskqueues list' shows all there are"""

    exit_code = 69


class ShareCorrectorError(FairqError):
    """the share corrector {name!r} {problem}; {cure}"""

    exit_code = 76


class DiracConfigError(FairqError):
    """{where}: {problem}"""

    exit_code = 77


class TaskQueueDumpError(FairqError):
    """{source}, {where}: {problem}; {cure}"""

    exit_code = 78


# 64-69, 76-79: DIRAC's scheme


class ShareCorrectionError(FairqError):
    """share corrections, {where}: {reason}; {cure}"""

    exit_code = 64


class DiracStopsError(FairqError):
    """{reason}: DIRAC itself ends with an error here, and so do its rules; {cure}, or use the documented rules"""

    exit_code = 65


class JobRequirementError(FairqError):
    """{what} of the job is {value!r}, which is {problem}; {cure}"""

    exit_code = 66


class PilotDescriptionError(FairqError):
    """the pilot's {what} cannot be used: {reason}; {cure}"""

    exit_code = 67
