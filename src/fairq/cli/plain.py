"""Command lines of names, options and arguments, which are understood without Typer.

To load it takes as long as a third of what a command needs. Whatever is not plain, and every mistake, is left to Typer:
what is understood here means the same there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from msgspec import Struct

from fairq.cli.command import LARGEST_INTEGER, App, Entry, annotated, call, output_options
from fairq.cli.global_options import CONFIG, QUIET, STATE, count_leading
from fairq.cli.invocation import Invocation
from fairq.cli.options import Argument
from fairq.cli.output.selection import Output, Report
from fairq.cli.registry import REGISTRY
from fairq.errors.base import FairqError


class _NotPlainError(Exception):
    """The line needs Typer."""


class _Taken(Struct, frozen=True):
    """The *parameter* that gets a value, which is read by *read*; a flag has none."""

    parameter: str
    read: Callable[[str], Any] | None = None
    is_list: bool = False


class _Accepted(Struct, frozen=True):
    """What a command accepts: its options by spelling, its arguments in order, and the parameters that it needs."""

    options: dict[str, _Taken]
    arguments: list[_Taken]
    required: set[str]


_GLOBAL = {
    spelling: _Taken(option.name, str if option.metavar else None)
    for option in (STATE, CONFIG, QUIET)
    for spelling in option.spellings
}
"""The spellings of the global options but for those that are rare."""

_NOT_PLAIN = frozenset({"--af"})
"""Options that take several words."""

_SETTINGS = frozenset({"help", "metavar", "hidden", "parser", "min", "max"})
"""Settings of options and arguments that are plain."""


def plain_call(words: Sequence[str], invocation: Invocation) -> Callable[[], None] | None:
    """Return what runs the command of a plain line, after noting its global options; None: it is not plain."""
    try:
        before, rest = _parted(words)
        path, entry, among, own = _found(rest)
        accepted = _accepted(entry)
        of_all, _ = _read([*before, *among], _GLOBAL)
        values, named = _read(entry.rewrite(own), {**_GLOBAL, **accepted.options})
        _assign(values, accepted.arguments, named)
        if not accepted.required <= values.keys():
            return None
    except (_NotPlainError, FairqError):
        return None
    invocation.arguments = rest  # as Typer leaves them: the history has no options from before the command
    for taken in _GLOBAL.values():
        for found in (of_all, values):
            if taken.parameter in found:
                setattr(invocation, taken.parameter, found.pop(taken.parameter))
    return partial(call, entry.function, values, invocation, path)


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the global options at the beginning, and the other words."""
    count = count_leading(words)
    return list(words[:count]), list(words[count:])


def _found(words: list[str]) -> tuple[str, Entry, list[str], list[str]]:
    """Return the names of a command, the command, the global options among its names, and the words after them."""
    if not words or words[0] not in REGISTRY:
        raise _NotPlainError
    path, rest = f"fairq {words[0]}", words[1:]
    try:
        place = import_module(REGISTRY[words[0]].module).app
    except ModuleNotFoundError:
        raise _NotPlainError from None
    among: list[str] = []
    while not (isinstance(place, App) and not place.is_group):
        more, rest = _parted(rest)
        among += more
        if place.default is not None and (not rest or rest[0].startswith("-")):
            rest = [place.default, *rest]
        inner = place.find(rest[0]) if rest else None
        if inner is None:
            raise _NotPlainError
        path, rest = f"{path} {rest[0]}", rest[1:]
        if isinstance(inner, Entry):
            return path, inner, among, rest
        place = inner
    return path, place.entries[0], among, rest


def _accepted(entry: Entry) -> _Accepted:
    if entry.value_last:
        raise _NotPlainError
    accepted = _Accepted({}, [], set())
    parameters = annotated(entry.function)
    values = entry.function.__defaults__ or ()
    defaults = dict(zip(list(parameters)[len(parameters) - len(values) :], values, strict=True))
    for parameter, annotation in parameters.items():
        if annotation in (Output, Report):
            for name, option in output_options(annotation).items():
                accepted.options.update(_spellings(name, option))
        elif annotation is not Invocation:
            declared = get_args(annotation)[1]
            if parameter not in defaults:
                accepted.required.add(parameter)
            elif isinstance(defaults[parameter], str) and "parser" in declared.settings:
                raise _NotPlainError  # Typer reads the default, too
            if isinstance(declared, Argument):
                accepted.arguments.append(_argument(parameter, annotation))
            else:
                accepted.options.update(_spellings(parameter, annotation))
    return accepted


def _spellings(parameter: str, annotation: Any) -> Iterator[tuple[str, _Taken]]:
    """Yield the spellings of an option; one that is not plain has none."""
    taken = _taken(parameter, annotation)
    if taken is not None:
        for spelling in get_args(annotation)[1].spellings:
            if spelling not in _NOT_PLAIN:
                yield spelling, taken


def _argument(parameter: str, annotation: Any) -> _Taken:
    taken = _taken(parameter, annotation)
    if taken is None:
        raise _NotPlainError
    return taken


def _taken(parameter: str, annotation: Any) -> _Taken | None:
    """Return how an option or an argument is taken, or None if that is not plain."""
    kind, declared = get_args(annotation)
    if not declared.settings.keys() <= _SETTINGS:
        return None
    if get_origin(kind) is UnionType:
        kind = next(of for of in get_args(kind) if of is not NoneType)
    is_list = get_origin(kind) is list
    (kind,) = get_args(kind) if is_list else (kind,)
    if "parser" in declared.settings:
        return _Taken(parameter, declared.settings["parser"], is_list)
    if kind is int:
        return _Taken(parameter, partial(_whole_number, declared.settings), is_list)
    return _Taken(parameter, {bool: None, str: str}[kind], is_list) if kind in (bool, str) else None


def _whole_number(settings: Mapping[str, Any], text: str) -> int:
    """Return *text* as a number from the ``min`` to the ``max`` of the *settings*."""
    number = int(text)
    if not settings.get("min", number) <= number <= settings.get("max", number):
        raise _NotPlainError
    return number


def _read(words: Sequence[str], options: Mapping[str, _Taken]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the options, by parameter, and the other words."""
    found: dict[str, Any] = {}
    others: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        spelling, equals, value = word.partition("=")
        taken = options.get(spelling)
        if taken is None or (equals and (taken.read is None or not spelling.startswith("--"))):
            raise _NotPlainError
        if taken.read is None:
            found[taken.parameter] = True
            continue
        if not equals:
            value = waiting.pop() if waiting else "--"
        # Words that are options, too, have rules of their own.
        if value.startswith("-") and value != "-":
            raise _NotPlainError
        _note(found, taken, taken.read, value)
    return found, others


def _assign(found: dict[str, Any], arguments: Sequence[_Taken], words: Sequence[str]) -> None:
    """Add the values of the arguments to *found*: one word each, and to a list, which is the last one, all others."""
    if any(taken.is_list for taken in arguments[:-1]):
        raise _NotPlainError
    left = list(words)
    for taken in arguments:
        count = len(left) if taken.is_list else 1
        for word in left[:count]:
            _note(found, taken, taken.read or str, word)
        left = left[count:]
    if left:
        raise _NotPlainError


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
