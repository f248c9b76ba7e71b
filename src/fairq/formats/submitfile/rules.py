"""The common parts of the rules that make a job's ad: their input, and the commands that each rule reads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from fairq.common.expression_form import as_expression
from fairq.common.records import PROC_PLACEHOLDER, Ad
from fairq.errors.base import ExpressionDepthError, ExpressionError
from fairq.errors.pool import InvalidSubmitValueError
from fairq.formats.submitfile.commands import spellings
from fairq.formats.submitfile.description import Statement

SENTINEL = "\x02"
"""Stands for the job's number during the expansion of macros, which would also expand the placeholder itself."""

_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_INTEGER = re.compile(r"[-+]?\d{1,30}")
_REAL = re.compile(r"[-+]?(?:\d+\.\d*|\.?\d+[eE][-+]?\d+|\d+\.\d*[eE][-+]?\d+|\.\d+)")
_STRING = re.compile(r'"((?:[^"\\]|\\(?!$).)*)"', re.DOTALL)
_LONE_BACKSLASH = re.compile(r'\\(?!")')
_KEYWORDS = {"true": True, "false": False}


class Context(Struct, frozen=True):
    """The context of a submission: the data that a job inherits from the submitting process.

    *machine* and *system* are HTCondor's names (``Arch``, ``OpSys``) of the platform for the jobs. *now* is the time of
    the submission, in seconds since 1970.
    """

    owner: str
    directory: Path
    machine: str
    system: str
    environment: Mapping[str, str] = field(default_factory=dict)
    now: int = 0


def value_of(text: str) -> Any:
    """Return the value of *text*, the right-hand side of ``Name = value`` in HTCondor's files.

    That is the literal, or ``/Expr(...)/`` for any other expression. Text follows the old ClassAd rule of these files:
    a backslash stands for itself, unless a double quote follows. Raises ExpressionError if *text* is not an expression.
    """
    text = text.strip()
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if _REAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    if (keyword := _KEYWORDS.get(text.lower())) is not None:
        return keyword
    if (string := _STRING.fullmatch(text)) and '"' not in string[1].replace('\\"', ""):
        return string[1].replace('\\"', '"')
    from fairq.engine.classad import parse

    escaped = _LONE_BACKSLASH.sub(r"\\\\", text)
    parse(escaped.replace(PROC_PLACEHOLDER, "0"))
    return as_expression(escaped)


class Commands:
    """The commands of one queue statement for the rules, with macros expanded."""

    def __init__(self, statement: Statement, context: Context) -> None:
        """Read from *statement*; the caller sets its loop variables."""
        self._statement = statement
        self.context = context
        self.warnings: list[str] = []

    def spelling(self, command: str) -> str | None:
        """Return the spelling of *command* in the description, in lower case; None if it is missing."""
        names = self._statement.names
        return next((name for name in spellings(command) if name in names), None)

    def named(self) -> Iterable[tuple[str, str]]:
        """Return the names of all commands and macros, in lower case and as written."""
        return self._statement.names.items()

    def referenced(self) -> frozenset[str]:
        """Return the names, in lower case, that other lines or the queue statement refer to."""
        return self._statement.referenced()

    def text(self, command: str) -> str | None:
        """Return the value of *command*; None if it is missing or empty."""
        name = self.spelling(command)
        return None if name is None else self.raw_text(name)

    def raw_text(self, name: str) -> str | None:
        """Return the value of the command with exactly this *name*, in lower case."""
        value = self._statement.expand(name)
        return value.replace(SENTINEL, PROC_PLACEHOLDER) if value is not None else None

    def image(self, command: str) -> str | None:
        """Return the name of the container's image that *command* gives, with or without quotes."""
        text = self.text(command)
        return text.strip('"') if text is not None else None

    def boolean(self, command: str, default: bool = False) -> bool:
        """Return the boolean value of *command*."""
        value = self.text(command)
        if value is None:
            return default
        if value.lower() not in _TRUE | _FALSE:
            raise self.wrong(command, value, "give true or false")
        return value.lower() in _TRUE

    def integer(self, command: str) -> int | None:
        """Return the whole number that *command* gives."""
        value = self.text(command)
        if value is None:
            return None
        number = self.expression(command, value)
        if isinstance(number, str):
            from fairq.engine.classad import evaluate_alone, expression_of

            number = evaluate_alone(expression_of(number)) if PROC_PLACEHOLDER not in number else None
        if type(number) is not int:
            raise self.wrong(command, value, "give a whole number")
        return number

    def expression(self, command: str, text: str) -> Any:
        """Return *text*, the value of *command*, as an ad's value; the lines of a block become one."""
        try:
            return value_of(text.replace("\n", " "))
        except ExpressionDepthError:
            cure = "nested too deeply; use at most 150 levels of brackets and 5000 operators in a row"
            raise self.wrong(command, text, cure) from None
        except ExpressionError as error:
            near = error.fields.get("near", text)
            raise self.wrong(
                command, text, f"it is not a ClassAd expression (near {near!r}); a text needs double quotes"
            ) from None

    def wrong(self, command: str, value: str, expected: str) -> InvalidSubmitValueError:
        """Return the error for an invalid *value* of *command*."""
        name = self.spelling(command) or command
        return InvalidSubmitValueError(
            where=self._statement.where(name), command=command, value=value, expected=expected
        )

    def path(self, text: str, base: Path | str) -> str:
        """Return *text* as an absolute path; a relative path starts at *base*."""
        import os.path

        # HTCondor does not resolve symbolic links: the file system is not read.
        return os.path.normpath(os.path.join(base, text))  # noqa: PTH118 - Path would not resolve '..'

    def directory(self) -> str:
        """Return the job's initial working directory."""
        value = self.text("initialdir")
        return self.path(value, self.context.directory) if value else str(self.context.directory)

    def warn(self, text: str) -> None:
        """Record the warning *text*, once."""
        if text not in self.warnings:
            self.warnings.append(text)


class Rule(NamedTuple):
    """A rule: the commands that it *reads*, in all spellings, and the function that makes attributes from them."""

    reads: frozenset[str]
    build: Callable[[Commands], Ad]


def rule(build: Callable[[Commands], Ad], *commands: str) -> Rule:
    """Return the rule *build*, which reads *commands*."""
    return Rule(frozenset(name for command in commands for name in spellings(command)), build)
