"""The values that a job's owner gave, read and checked in one place for all steps of the pool.

Source of the attributes: the manual of condor_submit. A value that cannot be used concerns its own job only: see
`fairq.steps.launch.faults`.
"""

from __future__ import annotations

import math
import re
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from fairq.common.arguments import split_arguments, split_environment, split_quoted
from fairq.common.cron import FIELDS, numbers
from fairq.common.expression_form import attribute, expression_text, is_expression
from fairq.common.interactive import TERMINAL
from fairq.common.records import PROC_PLACEHOLDER
from fairq.launch.supervisor.terminal import ADDRESS
from fairq.steps.mail import is_address

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LARGEST = 2**63 - 1
_LARGEST_CODE = 2**31 - 1
_LONGEST_TIME = 10**10
_LONGEST_WORD = (1 << 17) - 1
"""Bytes of one argument or variable that Linux passes to a program."""
_LONGEST_WORDS = 1 << 20
"""Bytes of all arguments, or of all variables."""
_LONGEST_REASON = 1000

_TRANSFER = "transfer"
"""The beginning, in lower case, of the attributes that an engine gets as they are."""


class UnusableValueError(Exception):
    """The value of the job's attribute *attribute* cannot be used, because of *problem*."""

    def __init__(self, attribute: str, problem: str) -> None:
        """Store the arguments."""
        super().__init__(f"its attribute {attribute} cannot be used: {problem}")
        self.attribute = attribute
        self.problem = problem


def read(ad: Mapping[str, Any], name: str, now: int, target: Mapping[str, Any] | None = None) -> Any:
    """Return the value of the owner's attribute *name* at *now*; None if it is missing or undefined.

    An expression is evaluated, with the slot's ad *target* as TARGET. The names are those of `KINDS`, and those that
    begin with Transfer. Raises UnusableValueError.
    """
    value = _raw(ad, name)
    if is_expression(value):
        value = _evaluated(ad, name, value, now, target)
    return None if value is None else _checked(name, value)


def read_if_usable(ad: Mapping[str, Any], name: str, now: int) -> Any:
    """Return the same as `read`, and None for a value at which it fails: for records of what happens to a job.

    The step that uses the value reports the failure.
    """
    try:
        return read(ad, name, now)
    except (OSError, MemoryError):
        raise
    except Exception:
        return None


def requests_of(ad: Mapping[str, Any], now: int) -> tuple[Any, Any, Any]:
    """Return the cores, the memory (MB) and the GPUs that a job requests; None where it requests none."""
    cpus, memory, gpus = (read_if_usable(ad, name, now) for name in ("RequestCpus", "RequestMemory", "RequestGPUs"))
    return cpus, memory, gpus


def is_given(ad: Mapping[str, Any], name: str) -> bool:
    """Return whether the owner gave the attribute *name*, whatever its value."""
    return _raw(ad, name) is not None


def read_literal(ad: Mapping[str, Any], name: str) -> Any:
    """Return the value of an attribute that is no expression; None for an expression."""
    value = _raw(ad, name)
    return None if value is None or is_expression(value) else _checked(name, value)


def program_of(ad: Mapping[str, Any], now: int) -> list[str]:
    """Return the command of a job with its arguments; raises UnusableValueError."""
    words = read(ad, "Arguments", now)
    if words is None:
        words = read(ad, "Args", now)
    program = read(ad, "Cmd", now)
    if not program:
        raise UnusableValueError("Cmd", "it names no program")
    return [program, *(words or ())]


def variables_of(ad: Mapping[str, Any], now: int) -> Mapping[str, str]:
    """Return the environment that a job asks for; raises UnusableValueError."""
    variables: Mapping[str, str] | None = read(ad, "Environment", now)
    return (read(ad, "Env", now) or {}) if variables is None else variables


def transfers_of(ad: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return the attributes of a job for the transfer of files; raises UnusableValueError."""
    attributes = {name: read(ad, name, now) for name in ad if name.lower().startswith(_TRANSFER)}
    return {name: value for name, value in attributes.items() if value is not None}


def unusable_literals(ad: Mapping[str, Any]) -> Iterator[UnusableValueError]:
    """Yield an error for each unusable attribute of a new job that needs no evaluation."""
    for name, value in ad.items():
        kind = KINDS.get(_SPELLED.get(name.lower(), ""))
        literal = None if kind is None else _literal(value)
        if literal is None:
            continue
        try:
            _checked(name, literal)
        except UnusableValueError as error:
            yield error


def _literal(value: Any) -> Any:
    """Return the value of a new job's attribute; None for an expression, which needs an evaluation."""
    if not is_expression(value):
        return _typical(value)
    # A number that JSON cannot express, such as 1e400, is an expression in the ad.
    number = _NUMBER.fullmatch((expression_text(value) or "").strip())
    return float(number[0]) if number else None


def _typical(value: Any) -> Any:
    """Return *value* with the number of a first job; file names are checked for UTF-8 only when their job starts."""
    if not isinstance(value, str):
        return value
    return "".join("?" if "\udc80" <= letter <= "\udcff" else letter for letter in value.replace(PROC_PLACEHOLDER, "0"))


def one_line(text: str) -> str:
    """Return a text of an owner as one printable line that any file can hold, cut where it is too long."""
    shown = "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "?" for letter in text[:_LONGEST_REASON]
    )
    return " ".join(shown.split())


def _raw(ad: Mapping[str, Any], name: str) -> Any:
    return ad[name] if name in ad else attribute(ad, name.lower())


def _evaluated(ad: Mapping[str, Any], name: str, value: str, now: int, target: Mapping[str, Any] | None) -> Any:
    from fairq.engine.classad import ERROR, UNDEFINED, evaluate_scalar, expression_of
    from fairq.engine.classad.costs import UNGUARDED
    from fairq.engine.classad.scalar import nodes_of
    from fairq.errors.base import ExpressionError

    try:
        expression = expression_of(value)
        if nodes_of(expression, ad, target) > UNGUARDED:
            raise UnusableValueError(name, "it may take too long to evaluate")
        result = evaluate_scalar(expression, ad, target, now)
    except ExpressionError:
        raise UnusableValueError(name, "it is not an expression") from None
    if result is ERROR:
        raise UnusableValueError(name, "its value is an error")
    return None if result is UNDEFINED else result


def _checked(name: str, value: Any) -> Any:
    convert = KINDS.get(_SPELLED.get(name.lower(), ""), _plain)
    try:
        return convert(value)
    except ValueError as error:
        raise UnusableValueError(name, str(error)) from None


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    return _AMOUNT(value) if isinstance(value, int | float) else _text(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not a text")
    if "\0" in value:
        raise ValueError("it contains a NUL character")
    _bytes(value)
    return value


def _bytes(text: str) -> bytes:
    """Return a text as the system gets it; bytes that are not UTF-8 are as they were given."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError("it is not valid Unicode") from None


def _text(value: Any) -> str:
    text = _string(value)
    if len(_bytes(text)) > _LONGEST_WORD:
        raise ValueError(f"it is longer than {_LONGEST_WORD} bytes")
    return text


def _file(value: Any) -> str:
    """Return the name of a file that the state records: it holds Unicode only."""
    text = _text(value)
    if any("\udc80" <= letter <= "\udcff" for letter in text):
        raise ValueError("it is not UTF-8")
    return text


def _terminal(value: Any) -> str:
    text = _text(value)
    if not ADDRESS.fullmatch(text):
        raise ValueError("it is no address of a terminal; run fairq shell")
    return text


def _address(value: Any) -> str:
    text = _text(value)
    if text and not is_address(text):
        raise ValueError("it is not an address of mail")
    return text


def _command(value: Any) -> str:
    text = _text(value)
    shlex.split(text)
    return text


def _schedule(name: str, value: Any) -> str:
    """Return the field *name* of a cron schedule."""
    text = _text(value)
    numbers(name, text)
    return text


def _line(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value)
    return one_line(_text(value))


def _truth(value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it is not a finite number")
    if not isinstance(value, bool | int | float):
        raise ValueError("it is neither true nor false")
    return bool(value)


def _condition(value: Any) -> bool | int:
    """Return a Boolean or a whole number (RetryUntil)."""
    return value if isinstance(value, bool) else _integer(-_LARGEST_CODE, _LARGEST_CODE)(value)


def _number(least: float, most: float) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("it is not a number")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("it is not a finite number")
        if not least <= value <= most:
            raise ValueError(f"it is not a number from {least:g} to {most:g}")
        return value

    return convert


def _integer(least: int, most: int) -> Callable[[Any], int]:
    number = _number(least, most)
    return lambda value: int(number(value))


def _devices(value: Any) -> float:
    """Return a number of devices: a job has a GPU or it has none."""
    if not float(_REQUEST(value)).is_integer():
        raise ValueError("it is not a whole number")
    return _AMOUNT(value)


def _signal(value: Any) -> int:
    """Return the number of a signal given by name or number."""
    text = str(value).strip().upper() if isinstance(value, str | int) else ""
    if text.isascii() and text.isdecimal() and len(text) < 4 and int(text) in signal.valid_signals():
        return int(text)
    name = text if text.startswith("SIG") else f"SIG{text}"
    if name not in signal.Signals.__members__:
        raise ValueError("it is not a signal")
    return int(signal.Signals[name])


@lru_cache(maxsize=1000)
def _new_arguments(text: str) -> Sequence[str]:
    return _checked_sizes(split_quoted(_in_quotes(text)))


@lru_cache(maxsize=1000)
def _old_arguments(text: str) -> Sequence[str]:
    return _checked_sizes(split_arguments(text)[0])


@lru_cache(maxsize=1000)
def _variables(text: str) -> Mapping[str, str]:
    variables = split_environment(text)
    _checked_sizes([f"{name}={value}" for name, value in variables.items()])
    return variables


def _checked_sizes(words: list[str]) -> Sequence[str]:
    sizes = [len(_bytes(word)) for word in words]
    if max(sizes, default=0) > _LONGEST_WORD or sum(sizes) > _LONGEST_WORDS:
        raise ValueError("it is longer than the system permits")
    return tuple(words)


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


_TIME = _number(-_LARGEST, _LONGEST_TIME)
_MOMENT = _number(0, _LONGEST_TIME)
_CODE = _integer(-_LARGEST_CODE - 1, _LARGEST_CODE)
_COUNT = _integer(-_LARGEST_CODE, _LARGEST_CODE)
_AMOUNT = _number(-_LARGEST, _LARGEST)
_REQUEST = _number(0, _LARGEST)

KINDS: Mapping[str, Callable[[Any], Any]] = {
    "Cmd": _text,
    "Iwd": _file,
    "In": _file,
    "Out": _file,
    "Err": _file,
    "OutputDirectory": _file,
    "AppendFiles": _text,
    "UserLog": _file,
    TERMINAL: _terminal,
    "Arguments": lambda value: _new_arguments(_string(value)),
    "Args": lambda value: _old_arguments(_string(value)),
    "Environment": lambda value: _variables(_in_quotes(_string(value))),
    "Env": lambda value: _variables(_string(value)),
    "x509userproxy": _text,
    "KillSig": _signal,
    "RemoveKillSig": _signal,
    "HoldKillSig": _signal,
    "KillSigTimeout": _TIME,
    "JobMaxVacateTime": _TIME,
    "AllowedJobDuration": _TIME,
    "AllowedExecuteDuration": _TIME,
    "CoreSize": _AMOUNT,
    "StackSize": _AMOUNT,
    "RequestCpus": _REQUEST,
    "RequestMemory": _REQUEST,
    "RequestDisk": _REQUEST,
    "RequestGPUs": _devices,
    "WantContainer": _truth,
    "WantDocker": _truth,
    "JobNotification": _COUNT,
    "NotifyUser": _address,
    "NotifyCommand": _command,
    "JobMaxRetries": _COUNT,
    "JobSuccessExitCode": _CODE,
    "RetryUntil": _condition,
    "OnExitHold": _truth,
    "OnExitHoldReason": _line,
    "OnExitHoldSubCode": _CODE,
    "OnExitRemove": _truth,
    "PeriodicHold": _truth,
    "PeriodicHoldReason": _line,
    "PeriodicHoldSubCode": _CODE,
    "PeriodicRelease": _truth,
    "PeriodicRemove": _truth,
    "LeaveJobInQueue": _truth,
    "After": _text,
    "AfterOk": _text,
    "AfterFailed": _text,
    "BeginTime": _MOMENT,
    "DeferralTime": _MOMENT,
    "DeferralWindow": _MOMENT,
    "DeferralPrepTime": _MOMENT,
    **{name: partial(_schedule, name) for name in FIELDS},
    "MaxRunning": _integer(1, _LARGEST_CODE),
    "JobMaterializeMaxIdle": _integer(1, _LARGEST_CODE),
    "JobMaterializeLimit": _integer(1, _LARGEST_CODE),
}
"""The attributes that these steps read, each with the function that checks and converts its value."""

_SPELLED = {name.lower(): name for name in KINDS}
