"""Read configuration files: assignments, conditional blocks, and the lines that fairq does not import."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from fairq.errors.base import HTCondorConfigError
from fairq.settings.htcondor.macros import NAME, Macros

DEEPEST = 63
"""Most levels of ``if`` blocks, the same as in HTCondor."""

_KEYWORD = re.compile(r"@?(use|include|error|warning)\b([^=:]*):(.*)", re.IGNORECASE | re.DOTALL)
_CONDITIONAL = re.compile(r":?(if|elif|else|endif)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_ASSIGNMENT = re.compile(r"([^\s=:]+)\s*(@=|\+[,;|&*]{0,2}=|=|:)\s*(.*)", re.DOTALL)

VERSION = (25, 14, 1)
"""The version of HTCondor that fairq assumes in ``if version >= ...``."""

_WORDS = {"true": True, "yes": True, "t": True, "false": False, "no": False, "f": False}
_COMPARISONS = {"<": (-1,), "<=": (-1, 0), "=": (0,), "==": (0,), ">=": (0, 1), ">": (1,), "!=": (-1, 1)}


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
        lines = ((f"{file}:{number}", line) for number, line in _logical_lines(text))
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
        value = _holds(condition, self.macros, where)
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


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the trimmed lines that are neither blank nor comments, each with the number of its first physical line.

    A backslash at the end continues a line, but not a comment. A comment among continued lines is dropped; it ends
    the logical line unless it also ends with a backslash. Source: HTCondor's ``getline_implementation``.
    """
    first: int | None = None
    parts: list[str] = []
    for number, physical in enumerate(text.split("\n"), 1):
        stripped = physical.strip()
        if stripped.startswith("#"):
            if first is None:
                continue
            stripped = "\\" if stripped.endswith("\\") else ""
        if stripped.endswith("\\"):
            first = first or number
            parts.append(stripped[:-1])
            continue
        if line := "".join([*parts, stripped]).strip():
            yield first or number, line
        first, parts = None, []
    if line := "".join(parts).strip():
        yield first or 1, line


def _holds(condition: str, macros: Macros, where: str) -> bool | None:
    """Return whether *condition* is true; None if it is not one of HTCondor's simple conditions.

    The simple conditions are a number, a boolean word, ``defined NAME`` and ``version OP NUMBER``, each optionally
    after ``!``. Macros are expanded first. Source: the manual's "Conditionals in Configuration".
    """
    text = macros.expand(condition, where).text.strip()
    negated = text.startswith("!")
    text = text.removeprefix("!").strip()
    if not text and "$" in condition:  # an undefined macro counts as false
        return negated
    value = _simple(text, macros, where)
    return None if value is None else value != negated


def _simple(text: str, macros: Macros, where: str) -> bool | None:
    if re.fullmatch(r"-?(\d+\.?\d*|\.\d+)", text, re.ASCII):
        return float(text) != 0
    word, _, argument = text.partition(" ")
    if word.lower() == "defined":
        return _defined(argument.strip(), macros, where)
    if version := re.fullmatch(r"version\s*([<>=!]+)\s*[vV]?(\d+)\.(\d+)(?:\.(\d+))?", text, re.I | re.ASCII):
        operator, *numbers = version.groups()
        required = tuple(int(number) for number in numbers if number is not None)
        assumed = VERSION[: len(required)]
        accepted = _COMPARISONS.get(operator)
        return None if accepted is None else ((assumed > required) - (assumed < required)) in accepted
    return _WORDS.get(text.lower())


def _defined(name: str, macros: Macros, where: str) -> bool | None:
    if re.fullmatch(r"\d+(\.\d+)?", name, re.ASCII) or name.lower() in _WORDS:
        return True
    if name and not re.fullmatch(r"[A-Za-z0-9_./]+", name):
        return None
    return bool(name) and bool(macros.expand(f"$({name})", where).text)
