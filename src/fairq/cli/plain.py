"""Command lines of a command's name and a few options, which are understood without Typer.

To load it takes as long as a third of what a command needs. Whatever is not plain, and every mistake, is left to Typer:
what is understood here means the same there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

from msgspec import Struct

from fairq.cli.command import LARGEST_INTEGER, App, annotated, call, output_options
from fairq.cli.global_options import CONFIG, QUIET, STATE
from fairq.cli.invocation import Invocation
from fairq.cli.options import Option
from fairq.cli.output.selection import Output, Report
from fairq.cli.registry import REGISTRY


class _NotPlainError(Exception):
    """The line needs Typer."""


class _Taken(Struct, frozen=True):
    """What an option's spelling stands for: the *parameter* that gets the value, read by *read*; a flag has none."""

    parameter: str
    read: Callable[[str], Any] | None = None
    is_list: bool = False


_GLOBAL = {
    spelling: _Taken(option.name, str if option.metavar else None)
    for option in (STATE, CONFIG, QUIET)
    for spelling in option.spellings
}
"""The spellings of the global options but for those that are rare."""

_NOT_PLAIN = frozenset({"--af"})
"""Options that take several words."""

_KINDS: dict[Any, dict[str, Any]] = {bool: {}, str: {"read": str}, list[str]: {"read": str, "is_list": True}}
"""How the options of a type are read."""


def plain_call(words: Sequence[str], invocation: Invocation) -> Callable[[], None] | None:
    """Return what runs the command of a plain line, after noting its global options; None: it is not plain."""
    try:
        of_all, rest = _read(words, _GLOBAL)
        if not rest or rest[0] not in REGISTRY:
            return None
        name = rest[0]
        function = _function(name)
        values, others = _read(rest[1:], {**_GLOBAL, **dict(_options(function))})
        if others:
            return None
    except _NotPlainError:
        return None
    invocation.arguments = rest  # as Typer leaves them: the history has no options from before the command
    for taken in _GLOBAL.values():
        for found in (of_all, values):
            if taken.parameter in found:
                setattr(invocation, taken.parameter, found.pop(taken.parameter))
    return lambda: call(function, values, invocation, f"fairq {name}")


def _function(name: str) -> Callable[..., None]:
    """Return the function of a command that has no subcommands and no parser of its own."""
    try:
        app = import_module(REGISTRY[name].module).app
    except ModuleNotFoundError:
        raise _NotPlainError from None
    entries = app.entries if isinstance(app, App) and not app.is_group else []
    if len(entries) != 1 or entries[0].cls is not None or entries[0].settings:
        raise _NotPlainError
    return entries[0].function


def _options(function: Callable[..., None]) -> Iterator[tuple[str, _Taken]]:
    """Yield the spellings of a command's options."""
    parameters = annotated(function)
    optional = list(parameters)[len(parameters) - len(function.__defaults__ or ()) :]
    for parameter, annotation in parameters.items():
        if annotation in (Output, Report):
            for name, option in output_options(annotation).items():
                yield from _spellings(name, option)
        elif annotation is not Invocation:
            if parameter not in optional:
                raise _NotPlainError
            yield from _spellings(parameter, annotation)


def _spellings(parameter: str, annotation: Any) -> Iterator[tuple[str, _Taken]]:
    if get_origin(annotation) is not Annotated:
        raise _NotPlainError
    kind, option = get_args(annotation)
    if not isinstance(option, Option) or not option.settings.keys() <= {"help", "metavar", "parser"}:
        raise _NotPlainError
    of_kind = {"read": option.settings["parser"]} if "parser" in option.settings else _of_kind(kind)
    for spelling in option.spellings:
        if "/" in spelling:
            raise _NotPlainError
        if spelling not in _NOT_PLAIN:
            yield spelling, _Taken(parameter, **of_kind)


def _of_kind(kind: Any) -> dict[str, Any]:
    for of, read in _KINDS.items():
        if kind in (of, of | None):
            return read
    raise _NotPlainError


def _read(words: Sequence[str], options: Mapping[str, _Taken]) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the values of the options at the beginning, by parameter, and the other words."""
    found: dict[str, Any] = {}
    waiting = list(reversed(words))
    while waiting and waiting[-1].startswith("-"):
        spelling, equals, value = waiting.pop().partition("=")
        taken = options.get(spelling)
        if taken is None or (equals and (taken.read is None or not spelling.startswith("--"))):
            raise _NotPlainError
        if taken.read is None:
            found[taken.parameter] = True
            continue
        if not equals:
            value = waiting.pop() if waiting else "-"
        # Words that are options, too, have rules of their own.
        if value.startswith("-"):
            raise _NotPlainError
        _note(found, taken, taken.read, value)
    return found, waiting[::-1]


def _note(found: dict[str, Any], taken: _Taken, read: Callable[[str], Any], text: str) -> None:
    try:
        value = read(text)
    except Exception:  # Typer tells what is wrong with it
        raise _NotPlainError from None
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise _NotPlainError
    if taken.is_list:
        found.setdefault(taken.parameter, []).append(value)
    else:
        found[taken.parameter] = value
