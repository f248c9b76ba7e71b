"""What can be wrong with jobs, slots, dumps, accounting records and cycles: exit codes 30 to 63."""

from __future__ import annotations

from typing import Any

from fairq.common.quantities import shown_time
from fairq.errors.base import FairqError

# 30-39: jobs and submit descriptions


class UnknownJobError(FairqError):
    """there is no job {job} in the queue; {hint}"""

    exit_code = 30
    summary = "There is no job of this number"


class SubmitDescriptionError(FairqError):
    """{where}: {problem}"""

    exit_code = 31
    summary = "A submit description has an error"


class InvalidSubmitValueError(FairqError):
    """{where}: invalid {command}: {value}; {expected}"""

    exit_code = 32
    summary = "A submit command has an invalid value"


class ProtectedAttributeError(FairqError):
    """{attribute} cannot be edited: {problem}; nothing was changed"""

    exit_code = 59
    summary = "An attribute of a job cannot be edited"


class NotEndedError(FairqError):
    """no job like this has {what}; nothing was changed; {hint}"""

    exit_code = 29
    summary = "No job that has ended matches the selection"


class JobAttributeError(FairqError):
    """the job's attribute {attribute} cannot be used: {problem}; nothing was changed; give another value"""

    exit_code = 38
    summary = "An attribute of a job has a value that cannot be used"


class EmptyInputError(FairqError):
    """{source} is empty, or holds comments only; nothing was changed; {cure}"""

    exit_code = 39
    summary = "A file to import is empty"


class UnreadableDescriptionError(FairqError):
    """the submit description {source} cannot be read: {reason}; name a text file, or - for stdin"""

    exit_code = 33
    summary = "A submit description cannot be read"


class JobStateError(FairqError):
    """job {job} is {found}, not {needed}; nothing was changed; list the jobs with 'fairq queue'"""

    exit_code = 34
    summary = "The job is in the wrong state for this command"


class NoMatchingJobError(FairqError):
    """no job in the queue {condition}; nothing was changed; list the jobs and their submitters with 'fairq queue'"""

    exit_code = 35
    summary = "No job matches the selection"


class InvalidJobIdError(FairqError):
    """{value!r} is not a job; give a job (7.0, 7.0@SCHEDD), a range (7.0-99), a cluster (7) or an owner"""

    exit_code = 36
    summary = "The text names no job, cluster or owner"


class InvalidEndTimeError(FairqError):
    """job {job} cannot have ended at {end}: {reason}; give a time from its start to now"""

    exit_code = 37
    summary = "A job cannot have ended at this time"


# 40-44: slots


class UnknownSlotError(FairqError):
    """there is no slot {name!r}; {hint}"""

    exit_code = 40
    summary = "There is no slot of this name"


class SlotInUseError(FairqError):
    """slot {name} is in use by {user}{job}; drain it first, or add --force to return its job to the queue"""

    exit_code = 41
    summary = "A slot is in use"


class DuplicateSlotError(FairqError):
    """slot {name!r} {problem}; nothing was added"""

    exit_code = 42
    summary = "A slot already exists or is given twice"


class InvalidSlotError(FairqError):
    """slot {name}: {problem}; {cure}"""

    exit_code = 43
    summary = "A slot has an invalid attribute"


class AmbiguousSlotError(FairqError):
    """{count} slots have the name {name!r}; add the address of the one you mean: {names}"""

    exit_code = 44
    summary = "Several slots have this name"


# 45-52: import and export


class InvalidDocumentError(FairqError):
    """not a complete state document: {place}: {problem}; nothing was changed; export the state again \
    with 'fairq export'"""

    exit_code = 45
    summary = "A state document is incomplete or invalid"


class UnreadableDumpError(FairqError):
    """{source} cannot be read: {reason}; {cure}"""

    exit_code = 46
    summary = "A file to import cannot be read"


class InvalidDumpError(FairqError):
    """{source}, {where}: {problem}; {cure}"""

    exit_code = 47
    summary = "A file to import has an error"

    @classmethod
    def at_line(cls, source: str, line: int, problem: str, cure: str) -> InvalidDumpError:
        """Return the error of this *line* of the file *source*."""
        return cls(source=source, where=f"line {line}", problem=problem, cure=cure)


class InvalidAdError(FairqError):
    """{source}, ad {number}: {problem}; {cure}"""

    exit_code = 48
    summary = "An ad in a file to import is invalid"


class DuplicateAdError(FairqError):
    """{source}, ad {number}: duplicate {what}, first in ad {first}; remove one"""

    exit_code = 49
    summary = "A file to import has two ads for the same thing"


class UnwritableExportError(FairqError):
    """{target} cannot be written: {reason}; {cure}"""

    exit_code = 50
    summary = "The export cannot be written"


class WrongDumpError(FairqError):
    """{source} has no {wanted} ads, but {found}; {cure}"""

    exit_code = 51
    summary = "A file to import is a dump of another kind"


class UnreachablePoolError(FairqError):
    """the pool at {pool} cannot be queried: {reason}; {cure}"""

    exit_code = 52
    summary = "A live pool cannot be queried"


class IncompleteImportError(FairqError):
    """the import is incomplete: {missing}; what was imported is stored; import again when all daemons answer"""

    exit_code = 57
    summary = "A live pool was imported in part: some of its daemons did not answer"


# 53-59: userprio


class LeaseInEffectError(FairqError):
    """{name} already has a {what} lease until {until}; cancel it first with --cancel{what}lease"""

    exit_code = 53
    summary = "A lease of this kind is already in effect"

    def __init__(self, until: float, **fields: Any) -> None:
        """*until* is in seconds since 1970; the message shows the local time."""
        super().__init__(until=shown_time(until), **fields)


class NoLeaseError(FairqError):
    """{name} has no {what} lease in effect; there is nothing to cancel"""

    exit_code = 54
    summary = "There is no lease to cancel"


class SubmitterInUseError(FairqError):
    """{name} was not deleted: {slots} of its jobs hold slots; end them first, or add --force"""

    exit_code = 55
    summary = "A submitter cannot be deleted while its jobs hold slots"


class UnknownSubmitterError(FairqError):
    """no submitter or group named {name!r} has a record in {state}; {hint}"""

    exit_code = 56
    summary = "There is no accounting record of this name"


# 60-63, 97, 98: negotiation, pauses, reservations and demo


class ReservationError(FairqError):
    """{problem}; {cure}"""

    exit_code = 98
    summary = "Slots cannot be reserved, or there is no such reservation"


class PoolPausedError(FairqError):
    """the pool is paused, and no job of it runs; {idle} idle jobs wait until 'fairq pool resume'{until}"""

    exit_code = 97
    summary = "The pool is paused: 'fairq run --until-idle' ends although jobs wait"

    def __init__(self, idle: int, until: float | None) -> None:
        """*until* is in seconds since 1970; the message shows the local time."""
        super().__init__(idle=idle, until="" if until is None else f" or {shown_time(until)}")


class DemoError(FairqError):
    """the demo stopped: {reason}; {cure}"""

    exit_code = 60
    summary = "The demo stopped"


class NothingToExplainError(FairqError):
    """{name!r} is neither a group nor a submitter or batch with queued jobs; list the jobs with 'fairq queue', or \
    the groups with 'fairq config show groups'"""

    exit_code = 61
    summary = "There is no group or submitter of this name to explain"


class UnknownCycleError(FairqError):
    """there is no negotiation cycle{number}; {known}"""

    exit_code = 62
    summary = "There is no negotiation cycle of this number"
