"""``include`` in submit descriptions: files and the output of commands replace the statement.

The library would repeat the include for each queue statement, and would never return from an endless file or
command. This module reads each once. Source: the manual, "include"; HTCondor's ``Parse_macros``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairq.common.arguments import split_quoted
from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.submitfile.external import External, reason
from fairq.formats.submitfile.library import LibraryError, new_submit
from fairq.formats.submitfile.lines import Line, QueueLine, logical_lines
from fairq.formats.submitfile.macros import LARGEST, MacroGraph, hazard, references

_INCLUDE = re.compile(r"@?include\b([^:=]*):(.*)", re.IGNORECASE | re.DOTALL)
_NAME = "fairq_include"
_DEEPEST = 8
_MOST = 1000


class Includes:
    """A description with its includes: its *rows*, and for each row its position for messages.

    *included* has the numbers, from 1, of the included rows.
    """

    def __init__(self, text: str, source: str, external: External, lines_above: Sequence[str] = ()) -> None:
        """Read *text* below the lines *lines_above*.

        Raises SubmitDescriptionError if an include fails or the expansion of macros would never end.
        """
        self.rows: list[str] = []
        self.positions: list[str] = []
        self.included: set[int] = set()
        self._external = external
        self._count = 0
        self._lines_above = list(lines_above)
        self._open = 0
        self._lengths: dict[str, int] = {}
        self._add(text, source, 0)

    def _add(self, text: str, source: str, depth: int) -> None:
        rows = text.split("\n")

        def position(row: int) -> str:
            return f"{source}, line {row}"

        copied, outer_depth = 0, self._open
        for line in logical_lines(text, position):
            where = position(line.first)
            self._copy(rows, copied, line.first - 1, position)
            copied = line.last
            if isinstance(line, QueueLine) and depth:
                raise SubmitDescriptionError(where=where, problem="a queue statement cannot be in an included text")
            if line.word in ("elif", "else", "endif") and depth and self._open == outer_depth:
                raise SubmitDescriptionError(where=where, problem=f"this {line.word!r} has no 'if'")
            include = _INCLUDE.fullmatch(line.text)
            if include is not None:
                self._include(include[1].split(), include[2].strip(), where, depth)
                continue
            self._check(line, "\n".join(rows[line.first - 1 : line.last]), where)
            self._copy(rows, line.first - 1, line.last, position, is_hidden=isinstance(line, QueueLine))
            self._open += (line.word == "if") - (line.word == "endif" and self._open > 0)
        self._copy(rows, copied, len(rows), position)
        if depth and self._open != outer_depth:
            raise SubmitDescriptionError(where=source, problem="an 'if' in it has no 'endif'")
        if rows[-1].endswith("\\"):  # the line after the included text does not continue it
            self._copy([""], 0, 1, lambda _: position(len(rows)))

    def _copy(
        self, rows: list[str], first: int, last: int, position: Callable[[int], str], is_hidden: bool = False
    ) -> None:
        self.rows += rows[first:last]
        self.positions += [position(number + 1) for number in range(first, last)]
        self._lines_above += [""] * (last - first) if is_hidden else rows[first:last]

    def _check(self, line: Line, text: str, where: str) -> None:
        """Refuse a *line* whose macros the library would expand at once, without end."""
        name = line.assigned
        if line.is_directive or (name is not None and "$" in name):
            if "$" in text:
                self._parsed_above(name or text, where)
            return
        if name is not None and "$" in text:
            self_references = references(text).uses.get(name.lower(), 0)
            if self_references and (problem := hazard(text)) is not None:
                raise SubmitDescriptionError(where=where, problem=f"{problem}: {name}")
            length = len(text) + self_references * self._lengths.get(name.lower(), 0)
            if length > LARGEST:
                problem = f"{name} grows to more than {LARGEST} characters; does it double itself?"
                raise SubmitDescriptionError(where=where, problem=problem)
            self._lengths[name.lower()] = length
        elif name is not None:
            self._lengths[name.lower()] = len(text)

    def _parsed_above(self, text: str, where: str) -> Any:
        """Return the lines above, parsed by the library, with *text* to expand; None if the library refuses them."""
        try:
            submit, _ = new_submit("\n".join([*self._lines_above, f"{_NAME} = {text}", *["endif"] * self._open, ""]))
        except LibraryError:
            return None  # parsing the whole text reports the error
        raw = {name.lower(): submit[name] for name in submit}
        refuse_trouble(MacroGraph({**raw, _NAME: text}), where, start=_NAME)
        return submit

    def _include(self, words: list[str], text: str, where: str, depth: int) -> None:
        if not text:
            raise SubmitDescriptionError(where=where, problem="nothing follows the include; name a file or a command")
        submit = self._parsed_above(text, where)
        if submit is None or _NAME not in submit:
            return
        if depth == _DEEPEST or self._count == _MOST:
            problem = f"too many includes; use at most {_DEEPEST} nested ones and {_MOST} in total"
            raise SubmitDescriptionError(where=where, problem=problem)
        self._count += 1
        name = str(submit.expand(_NAME)).strip()
        try:
            content = self._read([word.lower() for word in words[:3]] + words[3:], words, name)
        except (OSError, ValueError) as problem:
            short_name = name if len(name) <= 100 else f"{name[:100]}..."
            raise SubmitDescriptionError(
                where=where, problem=f"{short_name!r} cannot be included: {reason(problem)}"
            ) from None
        if content is not None:
            first = len(self.rows) + 1
            self._add(content, name, depth + 1)
            self.included.update(range(first, len(self.rows) + 1))

    def _read(self, options: list[str], words: list[str], name: str) -> str | None:
        """Return the text that an include with *options* reads; None for an optional file that does not exist."""
        optional = options[:1] == ["ifexist"]
        options = options[optional:]
        if options[:1] != ["command"] and name.endswith("|"):
            options, name = ["command", *options], name[:-1].strip()
        elif options[:1] == ["command"]:
            name = name.removesuffix("|").strip()
        try:
            if not options:
                return self._external.file(name)
            if options == ["command"]:
                return self._output(name)
            if len(options) == 3 and options[:2] == ["command", "into"]:
                return self._cached(words[-1], name)
        except FileNotFoundError:
            if optional:
                return None
            raise
        raise ValueError("write include : FILE, include ifexist : FILE or include : COMMAND |")

    def _output(self, command: str) -> str:
        words = split_quoted(command) if command.startswith('"') else command.split()
        if not words:
            raise ValueError("there is no command before the |")
        # As for condor_submit, the exit code does not matter.
        return self._external.output(words).text

    def _cached(self, file: str, command: str) -> str:
        """Return the content of *file*; if it does not exist, first write the output of *command* to it."""
        try:
            return self._external.file(file)
        except FileNotFoundError:
            text = self._output(command)
        descriptor = os.open(Path(file), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        return text


def refuse_trouble(
    graph: MacroGraph, where: str, spellings: Mapping[str, str] | None = None, start: str | None = None
) -> None:
    """Raise SubmitDescriptionError if the library would never finish expanding *graph*'s macros (see `trouble`)."""
    if (trouble := graph.trouble(start)) is not None:
        names = " -> ".join((spellings or {}).get(name, name) for name in trouble.names if name != _NAME)
        raise SubmitDescriptionError(where=where, problem=f"{trouble.problem}: {names}" if names else trouble.problem)
