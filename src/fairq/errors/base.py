"""What every error is, and the errors of the command line, the state file, the settings and the output.

Class name, exit code and message are one thing: the docstring of a class is the template of its message, filled from
the keyword arguments it is raised with; `exit_code` is what the process ends with. The manual's table of exit codes
is generated from the classes of this package.
"""

from __future__ import annotations

from typing import Any, ClassVar

from fairq.quoting import filled

_SENTENCES = frozenset(
    {"cure", "expected", "fate", "found", "hint", "known", "message", "others", "problem", "reason", "refused"}
)
"""Fields of templates that hold sentences, not values."""


class FairqError(Exception):
    """{message}"""

    exit_code: ClassVar[int] = 1

    def __init__(self, **fields: Any) -> None:
        """Fill the template; of a long value in *fields* the message quotes the beginning and the end."""
        self.fields = fields
        super().__init__(filled(" ".join((type(self).__doc__ or "").split()), fields, _SENTENCES))


# 2: wrong use of the command line


class UsageError(FairqError):
    """{message}"""

    exit_code = 2


# 3-12: the state file


class StateError(FairqError):
    """the state file {state} cannot be used: {reason}"""

    exit_code = 3


class StateLockedError(FairqError):
    """{what} is locked by another process, still so after {wait:g} seconds; nothing was done; try again when \
    that process has ended (to find it: fuser {place})"""

    exit_code = 4


class StateForeignError(FairqError):
    """{state} is not a fairq state file: {found}; name another file with --state or FAIRQ_STATE"""

    exit_code = 5


class StateNewerError(FairqError):
    """the state file {state} has schema {found}, written by a newer fairq; this one knows schemas up to \
    {known}; nothing was changed, use the newer fairq"""

    exit_code = 6


class StateDamagedError(FairqError):
    """the state file {state} is damaged: {reason}; 'fairq state check' lists the damage; replace the file by a \
    backup"""

    exit_code = 7


class StatePermissionError(FairqError):
    """no permission to {action} the state file {state}: {reason}; correct its owner or mode, or name \
    another file with --state"""

    exit_code = 8


class StateReadOnlyError(FairqError):
    """the state file {state} cannot be changed: {reason}; nothing was done"""

    exit_code = 9


class StateFullError(FairqError):
    """no space left to write the state file {state}; nothing was changed; free some space and try again"""

    exit_code = 10


class BackupError(FairqError):
    """no backup was written to {target}: {reason}"""

    exit_code = 11


# 13-20: settings


class SettingsFileError(FairqError):
    """settings file {file}: {problem}"""

    exit_code = 13


class SettingsSyntaxError(FairqError):
    """{file}:{line}:{column}: not valid TOML: {problem}"""

    exit_code = 14


class UnknownSettingError(FairqError):
    """{where}: {key} is not a setting; {hint}"""

    exit_code = 15


class SettingValueError(FairqError):
    """{where}: {key} = {value} is not valid; give {expected} (default {default})"""

    exit_code = 16


class SettingsGroupError(FairqError):
    """{where}: group {group!r} {problem}"""

    exit_code = 17


class HTCondorConfigError(FairqError):
    """{where}: {problem}"""

    exit_code = 18


# 21-23: expressions


class ExpressionError(FairqError):
    """not a ClassAd expression: {text!r}; check quotes, brackets and operators near {near!r}"""

    exit_code = 21


class EvaluationBudgetError(FairqError):
    """evaluating {expression!r} takes more than {limit}; simplify it, or raise negotiator.evaluation_budget"""

    exit_code = 22


class ExpressionDepthError(ExpressionError):
    """this ClassAd expression is nested too deeply: {text!r}; use at most 150 levels of brackets and 5000 operators \
    in a row"""

    exit_code = 23


# 24-29: names, numbers, times


class InvalidTimeError(FairqError):
    """{what} is not a time: {value!r}; give seconds since 1970 or ISO 8601, as 2026-11-20T14:00"""

    exit_code = 24


class InvalidNumberError(FairqError):
    """{what} is not a valid number: {value!r}; {expected}"""

    exit_code = 25


class InvalidNameError(FairqError):
    """{what} is not a valid name: {value!r}; {expected}"""

    exit_code = 26


class TimeRangeError(InvalidTimeError):
    """{what} is out of range: {value!r}; give a time from 1970 to 2200"""

    exit_code = 27


# 72-73: the output


class OutputError(FairqError):
    """the output cannot be written: {reason}; what was written of it is incomplete"""

    exit_code = 72


class DoneNotShownError(FairqError):
    """the change is stored, but its report was not shown: {reason}; do not repeat the command"""

    exit_code = 73


# 75: try again later


class CycleUnderWayError(FairqError):
    """another {what} is under way on {state}; nothing was done, try again later"""

    exit_code = 75
