"""What can be wrong with jobs, slots, dumps, accounting records and cycles: exit codes 30 to 63."""

from __future__ import annotations

from fairq.errors.base import FairqError

# 30-39: jobs and submit descriptions


class UnknownJobError(FairqError):
    """there is no job {job} in the queue; 'fairq queue' lists the jobs"""

    exit_code = 30


class SubmitDescriptionError(FairqError):
    """{where}: {problem}"""

    exit_code = 31


class InvalidSubmitValueError(FairqError):
    """{where}: Invalid {command}: {value}; {expected}"""

    exit_code = 32


class UnreadableDescriptionError(FairqError):
    """the submit description {source} cannot be read: {reason}; name a text file, or - for the standard input"""

    exit_code = 33


class JobStateError(FairqError):
    """job {job} is {found}, not {needed}; nothing was changed"""

    exit_code = 34


class NoMatchingJobError(FairqError):
    """no job in the queue {condition}; nothing was changed; 'fairq queue' lists the jobs and their submitters"""

    exit_code = 35


class InvalidJobIdError(FairqError):
    """not a job: {value!r}; give a cluster as 7, a job as 7.0, jobs as 7.0-99, or an owner"""

    exit_code = 36


class InvalidEndTimeError(FairqError):
    """job {job} cannot have ended at {end}: {reason} (seconds since 1970); give a time from its start to now"""

    exit_code = 37


# 40-44: slots


class UnknownSlotError(FairqError):
    """there is no slot {name!r}; {hint}"""

    exit_code = 40


class SlotInUseError(FairqError):
    """slot {name} is in use by {user}{job}; add --force to return its job to the queue, or drain it first"""

    exit_code = 41


class DuplicateSlotError(FairqError):
    """slot {name!r} {problem}; nothing was added"""

    exit_code = 42


class InvalidSlotError(FairqError):
    """slot {name}: {problem}; {cure}"""

    exit_code = 43


class AmbiguousSlotError(FairqError):
    """{count} slots have the name {name!r}; add the address of the one that is meant: {names}"""

    exit_code = 44


# 45-52: import and export


class InvalidDocumentError(FairqError):
    """not a whole state document: {place}: {problem}; nothing was changed, export the state anew with \
    fairq export"""

    exit_code = 45


class UnreadableDumpError(FairqError):
    """{source} cannot be read: {reason}; {cure}"""

    exit_code = 46


class InvalidDumpError(FairqError):
    """{source}, {where}: {problem}; {cure}"""

    exit_code = 47


class InvalidAdError(FairqError):
    """{source}, ad {number}: {problem}; {cure}"""

    exit_code = 48


class DuplicateAdError(FairqError):
    """{source}, ad {number}: {what} stands there twice, first in ad {first}; leave one of the two out"""

    exit_code = 49


class UnwritableExportError(FairqError):
    """{target} cannot be written: {reason}; {cure}"""

    exit_code = 50


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


# 60-63: negotiation and demo


class DemoError(FairqError):
    """the demo stopped: {reason}; {cure}"""

    exit_code = 60


class NothingToExplainError(FairqError):
    """{name!r} is no group, and no submitter with jobs in the queue; 'fairq queue' lists the jobs, \
    'fairq config show' the groups"""

    exit_code = 61


class UnknownCycleError(FairqError):
    """there is no negotiation cycle{number}; {known}"""

    exit_code = 62
