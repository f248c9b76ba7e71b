"""The errors of DIRAC's files and names: exit codes 68, 69 and 76 to 78, as `fairq.errors` has the others."""

from __future__ import annotations

from fairq.errors import FairqError


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
