"""What can be wrong with shares, task queues and pilots: exit codes 64 to 69 and 76 to 79."""

from __future__ import annotations

from fairq.errors.base import ErrorCase, FairqError, sentences


class UnknownShareGroupError(FairqError):
    """{where}: there is no group {group!r}; {hint}"""

    exit_code = 68
    summary = "There is no share group of this name"


class UnknownTaskQueueError(FairqError):
    """there is no task queue {number}; list the queues with 'fairq taskqueues list'; a job is written as {number}.0"""

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


class ShareSetting(ErrorCase):
    """What is wrong with settings of shares, corrections, limits or delays."""

    UNKNOWN_CORRECTOR = sentences(reason="ShareCorrectorsToStart names {where}", cure="known are: {known}")
    GROUP_TWICE = sentences(reason="another instance is for {group} already", cure="remove one of them")
    GROUPS_TWICE = sentences(reason="another instance is for all groups already", cure="remove one of them")
    BOUND_TWICE = sentences(reason="{first} and {second} are two names of one bound", cure="keep one of them")
    BOUND_BELOW_ONE = sentences(
        reason="{option} is {value:g}",
        cure="a bound is 1 or more: corrections stay between 1/bound and bound",
    )
    NO_TIME_SPAN = sentences(reason="it has no TimeSpan", cure="set it in seconds, such as TimeSpan = 604800")
    TIME_SPAN = sentences(reason="TimeSpan is {value:g}", cure="it must be positive")
    WEIGHT = sentences(reason="Weight is {value:g}", cure="it must be 0 or more")
    NO_WEIGHT = sentences(reason="the weights of all slices are 0", cure="give at least one slice a Weight above 0")
    NUMBER = sentences(reason="{name} = {text!r} is not a number", cure="the default is {default}")
    SHARE = sentences(reason="JobShare = {text!r} is not a number of 0 or more", cure="give it a weight such as 1000")
    LIMIT = sentences(reason="the limit of {attribute} is not an integer", cure="give a number of jobs")
    DELAY = sentences(
        reason="{attribute}/{value} = {text!r} is not a delay",
        cure="give seconds of 0 or more, and a Burst of 1 or more",
    )


class ShareCorrectionError(FairqError):
    """share corrections, {where}: {reason}; {cure}"""

    exit_code = 64
    summary = "The share corrections are configured wrongly"


class DiracFailure(ErrorCase):
    """Where DIRAC divides by zero, or finds something that it cannot use."""

    CORRECTOR_REMOVED = sentences(
        reason="the corrector {corrector} was removed from ShareCorrectorsToStart while it ran",
        cure="restart",
    )
    NO_SHARES = sentences(
        reason="share corrections, {where}: the shares add up to 0",
        cure="give one of them a share",
    )
    NO_GLOBAL_BOUND = sentences(
        reason="share corrections, {where}: MaxGlobalCorrection is 0",
        cure="set it to 1 or more",
    )
    NO_BOUND = sentences(
        reason="share corrections, {where}: MaxCorrection of slice {slice} is 0",
        cure="set it to 1 or more",
    )
    NO_USE = sentences(
        reason="share corrections, {where}: slice {slice} reports a use of 0",
        cure="leave unused entries out of the report",
    )
    NO_WEIGHT = sentences(
        reason="share corrections, {where}: the weights of the slices add up to 0",
        cure="change a Weight",
    )
    NO_PRIORITY = sentences(
        reason="the priorities of all jobs of a pool of task queues add up to 0",
        cure="give one of them a priority",
    )
    NO_INTERVALS = sentences(reason="the list of CPU time intervals is empty", cure="leave them out")
    UNKNOWN_LIMIT = sentences(
        reason="a limit on {fields} cannot be applied, since task queues do not have it",
        cure="limit one of {known}",
    )
    LIMIT_ON_NOTHING = sentences(
        reason="a limit on nothing cannot be applied, since task queues do not have it",
        cure="limit one of {known}",
    )


class DiracStopsError(FairqError):
    """{reason}: DIRAC fails at this point, and so do the rules dirac; {cure}, or use the rules documented"""

    exit_code = 65
    summary = "The rules dirac fail at a point where DIRAC itself fails"


class JobRequirement(ErrorCase):
    """What is wrong with a requirement of a job."""

    BLANK = sentences(problem="blank; DIRAC refuses such a job", cure="leave {what} out")
    NOT_WHOLE = sentences(problem="not a whole number of 0 or more", cure="give one, or leave it out")
    RAM_ABOVE_MAXIMUM = sentences(problem="more than its MaxRAM {maximum}", cure="swap MinRAM and MaxRAM")
    NOT_NAMES = sentences(problem="not a list of names", cure='write it as "A, B" or {{ "A", "B" }}')
    PRIORITY_NO_NUMBER = sentences(problem="not a number", cure="give a number above 0")
    PRIORITY_NEGATIVE = sentences(problem="negative; DIRAC refuses such a job", cure="give it 0")
    PRIORITY_NOT_POSITIVE = sentences(problem="not above 0", cure="give a number above 0, such as 0.01")


class JobRequirementError(FairqError):
    """the {what} of the job, {value!r}, is {problem}; {cure}"""

    exit_code = 66
    summary = "A job has an invalid requirement"


class PilotDescription(ErrorCase):
    """What is wrong with the description of a pilot."""

    NO_SITE = sentences(reason="it is missing", cure="name the site that the pilot runs at")
    NO_CPU_TIME = sentences(reason="it is missing", cure="give its remaining HS06 seconds")
    EMPTY_CPU_TIME = sentences(reason="the list is empty", cure="leave it out, or give whole HS06 seconds")
    CPU_TIME = sentences(reason="it is {value!r}", cure="give whole HS06 seconds")
    RAM = sentences(reason="it is {value!r}", cure="give whole MB")
    SEVERAL_RAM = sentences(reason="it is {value!r}", cure="give one number of MB")
    EMPTY_NAMES = sentences(reason="the list is empty", cure="leave it out, or give a name or a list of names")
    NAMES = sentences(reason="it is {value!r}", cure="give a name or a list of names")
    PROCESSORS = sentences(reason="{value!r} is not a number", cure="give a whole number")
    SEVERAL_OWNERS = sentences(reason="DIRAC cannot combine several owners with groups", cure="name one owner")
    TAGS_NOT_OFFERED = sentences(
        reason="{tags} is required, but not offered in Tag",
        cure="offer every tag that is required",
    )
    NO_GROUP_OF_VO = sentences(
        reason="no group belongs to the VO {vo!r}",
        cure="set the VO of its groups, or name the groups whose jobs the pilot takes",
    )


class PilotDescriptionError(FairqError):
    """the pilot's {what} cannot be used: {reason}; {cure}"""

    exit_code = 67
    summary = "The description of a pilot is invalid"
