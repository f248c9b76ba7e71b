"""The base of all errors, and the errors of the command line, the state file, the settings and the output.

The docstring of a class is the template of its message, filled from the keyword arguments that it is raised with.
`exit_code` is the exit code of the process; `summary` is its meaning in one line, without a full stop. The manual's
table of exit codes is generated from the classes of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

_SENTENCES = frozenset(
    {"cure", "expected", "fate", "found", "hint", "known", "message", "others", "problem", "reason", "refused"}
)
"""Fields of templates that hold sentences, not values."""


def sentences(**by_field: str) -> Mapping[str, str]:
    """Return the sentences of an `ErrorCase`, by the field of the template that each one fills."""
    return MappingProxyType(by_field)


class ErrorCase(Enum):
    """The cases of an error class that has several sentences.

    A value is made by `sentences`; names in braces in a sentence stand for the facts that the error is
    raised with. Code without sentences, such as the engine, names the case and gives the facts.
    """


class FairqError(Exception):
    """{message}"""

    exit_code: ClassVar[int] = 1
    summary: ClassVar[str] = "An error without a code of its own; the message explains it"

    def __init__(self, case: ErrorCase | None = None, /, **fields: Any) -> None:
        """Fill the template from *fields*, and from the sentences of the *case* if there is one.

        The message quotes the beginning and the end of a long value in *fields*.
        """
        from fairq.errors.template import filled

        if case is not None:
            fields |= {name: filled(sentence, fields, _SENTENCES) for name, sentence in case.value.items()}
        self.case = case
        self.fields = fields
        super().__init__(filled(" ".join((type(self).__doc__ or "").split()), fields, _SENTENCES))


# 2: wrong use of the command line


class UsageError(FairqError):
    """{message}"""

    exit_code = 2
    summary = "Wrong use of the command line"


# 3-12: the state file


class StateError(FairqError):
    """the state file {state} cannot be used: {reason}"""

    exit_code = 3
    summary = "The state file cannot be used"


class StateLockedError(FairqError):
    """another process has held the lock on {what} for over {wait:g} s; nothing was done; find that process with \
    'fuser {place}', or try again later"""

    exit_code = 4
    summary = "Another process holds the lock on the state or settings file"


class StateForeignError(FairqError):
    """{state} is not a fairq state file: {found}; name another file with --state or FAIRQ_STATE"""

    exit_code = 5
    summary = "The file is not a fairq state file"


class StateNewerError(FairqError):
    """the state file {state} has schema {found}, but this fairq knows schemas up to {known} only; nothing was \
    changed; use the newer fairq"""

    exit_code = 6
    summary = "The state file was written by a newer fairq"


class StateDamagedError(FairqError):
    """the state file {state} is damaged: {reason}; restore a backup with 'fairq state restore'; if the file \
    can be read, 'fairq state check' lists all damage"""

    exit_code = 7
    summary = "The state file is damaged"


class StatePermissionError(FairqError):
    """no permission to {action} the state file {state}: {reason}; fix its owner or mode, or name \
    another file with --state"""

    exit_code = 8
    summary = "No permission to read or write the state file"


class StateReadOnlyError(FairqError):
    """the state file {state} cannot be changed: {reason}; nothing was done; make it writable, or name another file \
    with --state"""

    exit_code = 9
    summary = "The state file is read-only"


class StateFullError(FairqError):
    """no space left to write the state file {state}; nothing was changed; free some space and try again"""

    exit_code = 10
    summary = "No space is left to write the state file"


class BackupError(FairqError):
    """the backup {target} was not written: {reason}"""

    exit_code = 11
    summary = "The backup was not written"


class StateOlderError(FairqError):
    """the state file {state} has schema {found}, but this fairq reads schemas from {oldest} on only; nothing was \
    changed; export it with the fairq that wrote it ('fairq export -o FILE'), move it away, and import FILE with this \
    one ('fairq import FILE')"""

    exit_code = 12
    summary = "The state file was written by a fairq that is too old"


# 13-20: settings


class SettingsFileError(FairqError):
    """settings file {file}: {problem}"""

    exit_code = 13
    summary = "A settings file cannot be read or written"


class SettingsSyntaxError(FairqError):
    """{file}:{line}:{column}: not valid TOML: {problem}"""

    exit_code = 14
    summary = "A settings file is not valid TOML"


class UnknownSettingError(FairqError):
    """{where}: {key} is not a setting; {hint}"""

    exit_code = 15
    summary = "There is no setting of this name"


class SettingValueError(FairqError):
    """{where}: {key} = {value} is not valid; give {expected} (default {default})"""

    exit_code = 16
    summary = "A setting has an invalid value"


class SettingsGroupError(FairqError):
    """{where}: group {group!r} {problem}"""

    exit_code = 17
    summary = "An accounting group is configured wrongly"


class HTCondorConfigError(FairqError):
    """{where}: {problem}"""

    exit_code = 18
    summary = "An HTCondor configuration file has an error"


# 21-23: expressions


class ExpressionError(FairqError):
    """{text!r} is not a ClassAd expression; check quotes, brackets and operators near {near!r}"""

    exit_code = 21
    summary = "An expression is not a valid ClassAd expression"


class EvaluationBudgetError(FairqError):
    """evaluating {expression!r} takes more than {limit}; simplify it, or raise negotiator.evaluation_budget"""

    exit_code = 22
    summary = "An expression takes too long to evaluate"


class ExpressionDepthError(ExpressionError):
    """this ClassAd expression is nested too deeply: {text!r}; use at most 150 levels of brackets and 5000 operators \
    in a row"""

    exit_code = 23
    summary = "A ClassAd expression is nested too deeply"


# 24-29: names, numbers, times


class InvalidTimeError(FairqError):
    """{value!r} is not a valid time for {what}; give a time such as 2026-11-20T14:00, 10:30, yesterday or -1h"""

    exit_code = 24
    summary = "A time is invalid"


class InvalidNumberError(FairqError):
    """{value!r} is not a valid number for {what}; {expected}"""

    exit_code = 25
    summary = "A number is invalid"


class SubmitterName(ErrorCase):
    """Why a job cannot be charged to anybody."""

    MISSING = sentences(what="the owner of a job", expected="add AccountingGroup, Owner or User to the ad")
    WHITE_SPACE = sentences(what="a submitter", expected="remove the white space")
    NOT_UTF8 = sentences(what="a submitter", expected="give it in UTF-8")


class InvalidNameError(FairqError):
    """{value!r} is not a valid name for {what}; {expected}"""

    exit_code = 26
    summary = "A name is invalid"


class TimeRangeError(InvalidTimeError):
    """{value!r} is out of range for {what}; give a time from 1970 to 2200"""

    exit_code = 27
    summary = "A time is out of range"


# 72-73: the output


class OutputError(FairqError):
    """the output cannot be written: {reason}; it is incomplete"""

    exit_code = 72
    summary = "The output cannot be written"


class DoneNotShownError(FairqError):
    """the change is stored, but its report was not shown: {reason}; do not repeat the command"""

    exit_code = 73
    summary = "The change is stored, but its report could not be written"


# 75: try again later


class CycleUnderWayError(FairqError):
    """another {what} is running on {state}; nothing was done; try again later"""

    exit_code = 75
    summary = "Another cycle is running on this state file"
