"""What can go wrong with jobs that run: exit codes 58, 63, 88 to 95, and 119 to 121 with engines that run them."""

from __future__ import annotations

from fairq.errors.base import FairqError


class UnknownLauncherError(FairqError):
    """there is no launcher {name!r}; give one of {known}, or install the package that provides it"""

    exit_code = 88
    summary = "There is no launcher of this name"


class NoRunError(FairqError):
    """job {job} has not run yet; 'fairq why {job}' shows why it waits"""

    exit_code = 89
    summary = "The job has not run yet"


class NoOutputError(FairqError):
    """the {what} of job {job} cannot be read: {path}: {reason}"""

    exit_code = 90
    summary = "The output of a job cannot be read"


class JobHeldError(FairqError):
    """job {job} is held: {reason}; release it with 'fairq release {job}'"""

    exit_code = 91
    summary = "A job that 'fairq wait' waited for is held"


class JobRemovedError(FairqError):
    """job {job} was removed; 'fairq log {job}' shows why"""

    exit_code = 92
    summary = "A job that 'fairq wait' waited for was removed"


class WaitTimeoutError(FairqError):
    """after {time}, {jobs}; give a longer --timeout"""

    exit_code = 93
    summary = "Jobs have not ended within the time of 'fairq wait --timeout'"


class NoShellError(FairqError):
    """no slot of this pool is one of this machine that fairq starts jobs in; {cure}"""

    exit_code = 58
    summary = "There is no slot for 'fairq shell'"


class ShellEndedError(FairqError):
    """job {job} has ended: {reason}"""

    exit_code = 63
    summary = "The job of 'fairq shell' was preempted, removed or held"


class StarterError(FairqError):
    """the root part of the pool has a problem: {problem}"""

    exit_code = 94
    summary = "The program that starts jobs as their owners met a problem"


class ThirdFaultError(FairqError):
    """internal error in the part of a third job of this cycle, {job}: {reason}; please report it"""

    exit_code = 95
    summary = "Internal errors met three jobs in one cycle"


class EngineError(FairqError):
    """{engine} does not answer: {reason}; {cure}"""

    exit_code = 119
    summary = "Slurm or HTCondor does not answer"


class EngineAccessError(EngineError):
    """{engine} does not accept jobs of this user: {reason}; {cure}"""

    exit_code = 121
    summary = "Slurm or HTCondor does not accept jobs of this user"


class NoEngineError(FairqError):
    """{name} is not an engine with nodes of its own; give slurm or htcondor"""

    exit_code = 120
    summary = "The launcher has no nodes to make slots of"
