"""The command that the history of a host's pool shows: composed of the applied values, never the asker's text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from fairq.common.expression_form import expression_text
from fairq.errors.people import RequestError
from fairq.host.verb.document import Request
from fairq.steps.launch.values import UnusableValueError, one_line, program_of

_LONGEST = 1000
_MOST = 20
"""Most names that are shown; the history has a line for each name."""


def command_of(request: Request) -> str:
    """Return the command line that makes the same change; only the verb if its arguments are invalid."""
    compose = _COMPOSERS.get(request.verb, _names)
    try:
        words = compose(request.arguments)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RequestError):
        words = []
    text = one_line(shlex.join(["fairq", *request.verb.split(), *map(str, words)]))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _abbreviated(names: list[Any]) -> list[Any]:
    return names if len(names) <= _MOST else [*names[:_MOST], f"... ({len(names)} names)"]


def _names(arguments: Mapping[str, Any]) -> list[Any]:
    """Return the named jobs or slots; without names, ``--all``."""
    names = arguments.get("jobs", arguments.get("names"))
    return ["--all"] if names is None and "jobs" in arguments else _abbreviated(list(names or ()))


def _prio(arguments: Mapping[str, Any]) -> list[Any]:
    sign = "+" if arguments["relative"] and arguments["value"] >= 0 else ""
    return ["-p", f"{sign}{arguments['value']}", *_names(arguments)]


def _edit(arguments: Mapping[str, Any]) -> list[Any]:
    values = [f"{name}={expression_text(value) or value}" for name, value in arguments["attributes"].items()]
    return [*_names(arguments), *(word for value in _abbreviated(values) for word in ("--attribute", value))]


def _rerun(arguments: Mapping[str, Any]) -> list[Any]:
    return [*_names(arguments), *(["--failed"] if arguments["failed"] else [])]


def _finish(arguments: Mapping[str, Any]) -> list[Any]:
    options = (("--at", arguments["end"]), ("--exit-code", arguments["exit_code"]))
    return [*_names(arguments), *(word for name, value in options if value is not None for word in (name, value))]


def _undo(arguments: Mapping[str, Any]) -> list[Any]:
    return [] if arguments["number"] is None else [arguments["number"]]


def _submit(arguments: Mapping[str, Any]) -> list[Any]:
    jobs = arguments["groups"][-1]["last"] + 1
    try:
        program = program_of(arguments["ads"][0], 0)
    except UnusableValueError:
        program = []
    return [*(["--count", jobs] if jobs > 1 else []), "--", *program]


def _userprio(arguments: Mapping[str, Any]) -> list[Any]:
    words: list[Any] = []
    for edit in arguments["edits"][:_MOST]:
        values = (edit["name"], edit["value"], edit["seconds"])
        words += [
            f"--{edit['kind']}",
            *(value for value in values if value is not None and value != "" and value is not False),
        ]
    return words


def _drain(arguments: Mapping[str, Any]) -> list[Any]:
    return [f"--{arguments['schedule']}", *_names(arguments)]


def _pause(arguments: Mapping[str, Any]) -> list[Any]:
    return [] if arguments["until"] is None else ["--until", arguments["until"]]


def _add(arguments: Mapping[str, Any]) -> list[Any]:
    until = [] if arguments["until"] is None else ["--until", arguments["until"]]
    return [*_abbreviated([slot["name"] for slot in arguments["slots"]]), *until]


_COMPOSERS = {
    "submit": _submit,
    "prio": _prio,
    "edit": _edit,
    "rerun": _rerun,
    "finish": _finish,
    "undo": _undo,
    "userprio": _userprio,
    "slots drain": _drain,
    "slots add": _add,
    "pool pause": _pause,
}
