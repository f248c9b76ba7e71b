"""The document in which the helper describes decided runs: every field is checked, since root acts on it."""

from __future__ import annotations

import json
import math
import re
import resource
import signal
from collections.abc import Callable
from typing import Any

from fairq.launch.supervisor.terminal import ADDRESS

LARGEST = 64 << 20
"""Bytes of the largest document."""

RUN = re.compile(r"[0-9]{1,10}\.[0-9]{1,10}-[0-9a-f]{10}")
"""The name of a run: job and random number."""

_MOST = 100_000
_LONGEST = 1 << 21
"""Most characters of all words of a command line, or of all variables: about the limit of the system."""
_ORDERS = {"remove", "hold"}
_LIMITS = {name for name in dir(resource) if name.startswith("RLIMIT_")}
_LARGEST_NUMBER = 2**63 - 1


class WrongError(Exception):
    """The document, or one of its parts, is invalid."""


def parse(content: bytes) -> dict[str, Any]:
    """Return the document; raises WrongError.

    ``runs`` and ``logs`` are lists of objects, ``lost`` and ``forget`` lists of names of runs.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise WrongError("the document is not JSON") from None
    _require(
        isinstance(document, dict) and document.keys() == {"runs", "logs", "lost", "forget"},
        "the document is not complete",
    )
    for name, member_type in (("runs", dict), ("logs", dict), ("lost", str), ("forget", str)):
        _require(_is_list(document[name], member_type), f"{name} is not a list of what it should be")
    for name in (*document["lost"], *document["forget"]):
        _require(RUN.fullmatch(name), f"{name!r} is not a run")
    for run in document["runs"]:
        _require(isinstance(run.get("run"), str) and RUN.fullmatch(run["run"]), "a run has no valid name")
        _require(isinstance(run.get("owner"), str), f"run {run['run']} has no owner")
    return dict(document)


def check_run(run: dict[str, Any]) -> None:
    """Raise WrongError unless *run* has exactly the fields of an assignment, with owner and kept output."""
    _require(run.keys() == {*FIELDS, "run", "owner"}, "its fields are not those of an assignment")
    for name, is_valid in FIELDS.items():
        _require(is_valid(run[name]), f"{name} is not valid")


def check_log(log: dict[str, Any]) -> None:
    """Raise WrongError unless *log* is an owner, an absolute path, and entries with the numbers of their events."""
    _require(log.keys() == {"owner", "path", "entries"}, "a log has other members")
    _require(_is_text(log["owner"]) and _is_path(log["path"]), "the owner or path of a log is not valid")
    _require(_is_list(log["entries"], str), "the entries of a log are not texts")


def _require(is_met: object, problem: str) -> None:
    if not is_met:
        raise WrongError(problem)


def _is_list(value: Any, member_type: type) -> bool:
    return isinstance(value, list) and len(value) <= _MOST and all(isinstance(member, member_type) for member in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST and "\0" not in value


def _is_path(value: Any) -> bool:
    return _is_text(value) and value.startswith("/")


def _is_words(value: Any) -> bool:
    return _is_list(value, str) and all(map(_is_text, value)) and sum(map(len, value)) <= _LONGEST


def _is_variables(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_words([*value, *value.values()])
        and all(name and "=" not in name for name in value)
    )


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value < 1e12


def _is_terminal(value: Any) -> bool:
    return _is_text(value) and ADDRESS.fullmatch(value) is not None


def _is_integer(minimum: int, maximum: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and minimum <= value <= maximum


def _or_none(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_valid(value)


def _is_signal(value: Any) -> bool:
    return type(value) is int and value in set(signal.valid_signals())


def _is_limits(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= _LIMITS
        and all(map(_is_integer(0, _LARGEST_NUMBER), value.values()))
    )


def _is_cores(value: Any) -> bool:
    return _is_list(value, int) and all(map(_is_integer(0, 1 << 16), value))


FIELDS: dict[str, Callable[[Any], bool]] = {
    "program": lambda value: bool(value) and _is_words(value),
    "directory": _is_path,
    "environment": _is_variables,
    "input": _or_none(_is_path),
    "output": _or_none(_is_path),
    "error": _or_none(_is_path),
    "output_directory": _or_none(_is_path),
    "output_files": _is_words,
    "append": _is_words,
    "log": _or_none(_is_path),
    "cpus": _is_integer(1, 1 << 20),
    "memory": _or_none(_is_integer(1, 1 << 40)),
    "execute_seconds": _or_none(_is_seconds),
    "job_seconds": _or_none(_is_seconds),
    "start_time": _or_none(_is_seconds),
    "start_window": _is_seconds,
    "terminal": _or_none(_is_terminal),
    "kill_signal": _is_signal,
    "signals": lambda value: (
        isinstance(value, dict) and value.keys() <= _ORDERS and all(map(_is_signal, value.values()))
    ),
    "grace": _is_seconds,
    "umask": _is_integer(0, 0o777),
    "limits": _is_limits,
    "cores": _is_cores,
    "keep_output": _is_integer(0, 1 << 50),
}
"""The fields of a run except its name and owner, each with its check."""
