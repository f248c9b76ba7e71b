"""Read configuration files: assignments, conditional blocks, and the lines that fairq does not import."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from fairq.errors.base import HTCondorConfigError
from fairq.settings.htcondor.conditions import holds
from fairq.settings.htcondor.lines import logical_lines
from fairq.settings.htcondor.macros import NAME, Macros

DEEPEST = 63
"""Most levels of ``if`` blocks, the same as in HTCondor."""

_KEYWORD = re.compile(r"@?(use|include|error|warning)\b([^=:]*):(.*)", re.IGNORECASE | re.DOTALL)
_CONDITIONAL = re.compile(r":?(if|elif|else|endif)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_ASSIGNMENT = re.compile(r"([^\s=:]+)\s*(@=|\+[,;|&*]{0,2}=|=|:)\s*(.*)", re.DOTALL)


class NotTaken(Struct, frozen=True):
    """A line of the configuration that is not imported: its place *where*, the *name* in it, and the reason *why*."""

    where: str
    name: str
    why: str


class _Block(Struct):
    """An open ``if``: whether its part is *active*, a former one was (*done*), and whether it is in ``else``."""

    where: str
    active: bool
    done: bool
    in_else: bool = False


class Reader:
    """Reads files in their order, as HTCondor does, into one set of macros.

    Args:
        environ: the environment, for ``$ENV(NAME)``.
        evaluate: returns the value of an expression that needs no ad; raises BadValueError.
    """

    def __init__(self, environ: Mapping[str, str], evaluate: Callable[[str], Any]) -> None:
        self.macros = Macros(environ, evaluate)
        self.not_taken: list[NotTaken] = []
        self._blocks: list[_Block] = []

    def read(self, text: str, file: str) -> None:
        """Read the configuration *text* of *file*. Raises HTCondorConfigError."""
        lines = ((f"{file}:{number}", line) for number, line in logical_lines(text))
        for where, line in lines:
            if conditional := _CONDITIONAL.fullmatch(line):
                self._conditional(conditional.group(1).lower(), (conditional.group(2) or "").strip(), where)
            elif all(block.active for block in self._blocks):
                self._statement(line.removeprefix(":") if self._blocks else line, where, lines)
        if self._blocks:
            raise HTCondorConfigError(where=self._blocks[-1].where, problem="this if has no endif")

    def _statement(self, line: str, where: str, lines: Iterator[tuple[str, str]]) -> None:
        if keyword := _KEYWORD.fullmatch(line):
            word, words, value = (part.strip() for part in keyword.groups())
            self._keyword(word, words, value, where)
            return
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            if line.startswith("["):  # HTCondor treats these lines as comments
                return
            raise HTCondorConfigError(where=where, problem=f"this is not NAME = value: {line[:60]!r}")
        written, operator, value = match.groups()
        name = self.macros.expand(written, where).text
        if not NAME.fullmatch(name):
            problem = f"{name[:60]!r} cannot be a macro's name; letters, digits, _ and . can"
            raise HTCondorConfigError(where=where, problem=problem)
        if operator == "@=":
            value = _here_document(value, where, lines)
        elif operator.startswith("+"):
            value = _appended(name, operator[1:-1], value, self.macros)
        former = self.macros.assign(name, value, where)
        if former is not None and not former.used:
            self.not_taken.append(NotTaken(former.where, former.name, f"set again at {where}"))

    def _keyword(self, keyword: str, words: str, value: str, where: str) -> None:
        text = f"{keyword.lower()} {words}".strip() + f" : {value}"
        match keyword.lower():
            case "error":
                message = self.macros.expand(value, where).text
                raise HTCondorConfigError(where=where, problem=f"the file stops the import here: {message}")
            case "use":
                why = "metaknobs are not expanded; set their macros directly"
            case "include":
                why = "includes are not followed; import that file as well"
            case _:
                why = "a warning of the file"
        self.not_taken.append(NotTaken(where, text, why))

    def _conditional(self, word: str, condition: str, where: str) -> None:
        if word == "if":
            if len(self._blocks) == DEEPEST:
                problem = f"this if is nested too deeply; use at most {DEEPEST} levels"
                raise HTCondorConfigError(where=where, problem=problem)
            outer = all(block.active for block in self._blocks)
            value = self._test("if", condition, where) if outer else False
            self._blocks.append(_Block(where, active=bool(value), done=value is not False))
            return
        if not self._blocks:
            raise HTCondorConfigError(where=where, problem=f"{word} without an if")
        block = self._blocks[-1]
        if word == "endif":
            self._blocks.pop()
            return
        if block.in_else:
            raise HTCondorConfigError(where=where, problem=f"{word} after else")
        block.in_else = word == "else"
        block.active = False
        if not block.done and all(outer.active for outer in self._blocks[:-1]):
            value = True if word == "else" else self._test(word, condition, where)
            block.active = bool(value)
            block.done = value is not False

    def _test(self, word: str, condition: str, where: str) -> bool | None:
        value = holds(condition, self.macros, where)
        if value is None:
            why = "condition not understood; skipped up to its endif"
            self.not_taken.append(NotTaken(where, f"{word} {condition}".strip(), why))
        return value


def _here_document(tag: str, where: str, lines: Iterator[tuple[str, str]]) -> str:
    """Return the lines up to ``@tag``."""
    value_lines: list[str] = []
    for _, line in lines:
        if line == f"@{tag}":
            return "\n".join(value_lines)
        value_lines.append(line)
    raise HTCondorConfigError(where=where, problem=f"this value has no end; add a line @{tag}")


def _appended(name: str, separator: str, value: str, macros: Macros) -> str:
    """Return the value of ``NAME += value``; a separator between + and = joins the parts."""
    former = macros.find(name)
    if former is None or not former.value:
        return value
    between = {0: " ", 1: separator, 2: f" {separator} "}[len(separator)]
    return f"$({name}){between}{value}"
