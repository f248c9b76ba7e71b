"""A submit description as HTCondor's library reads it, one queue statement at a time.

The library stops at the first queue statement. It therefore parses the text once for each statement, without the
other statements. The lines above a statement count, and a statement that an ``if`` skips queues nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.submitfile.commands import equivalent_names
from fairq.formats.submitfile.external import External
from fairq.formats.submitfile.includes import Includes, refuse_trouble
from fairq.formats.submitfile.library import LibraryError, new_submit
from fairq.formats.submitfile.lines import Line, QueueLine, logical_lines
from fairq.formats.submitfile.macros import CLUSTER_NAMES, PROC_NAMES, MacroGraph, references
from fairq.formats.submitfile.queue import Item, QueueStatement, parse_queue, read_items, read_outside

_LIVE = PROC_NAMES | CLUSTER_NAMES | {"row", "itemindex"}
_ARGUMENTS = "fairq_queue_arguments"


def time_macros(now: int) -> dict[str, str]:
    """Return the macros for the time *now* of the submission, in local time, and HTCondor's units of time in seconds.

    Source: ``setup_submit_time_defaults``; the constants of HTCondor's configuration, which condor_submit knows.
    """
    local = time.localtime(now)
    return {
        "YEAR": time.strftime("%Y", local),
        "MONTH": time.strftime("%m", local),
        "DAY": time.strftime("%d", local),
        "SUBMIT_TIME": str(now),
        "MINUTE": "60",
        "HOUR": "3600",
    }


class Statement:
    """One queue statement with the macros in force at its line."""

    def __init__(
        self,
        submit: Any,
        position: Callable[[int], str],
        line: QueueLine | None,
        lines: Sequence[Line],
        own_lines: Sequence[Line],
        literals: Mapping[str, str],
        outside: Callable[[str, str], list[str]] | None = None,
    ) -> None:
        """Use the parsed *submit*; *literals* are commands whose values have no macros to expand.

        *position* names a line in messages, 0 the whole description; *own_lines* are the lines that were not included.
        *outside* reads the file or command with the items; its second argument is the place that names it.
        """
        self._submit = submit
        self._line = line
        self._position = position
        self._read_outside = outside
        self._assigned = {name.lower(): row for row in lines if (name := row.assigned) is not None}
        self._own = {name.lower() for row in own_lines if (name := row.assigned) is not None}
        self.literals = {name.lower(): value for name, value in literals.items()}
        self.names = {name.lower(): name for name in submit if name.lower() not in _LIVE}
        self._raw = {lower: submit[name] for lower, name in self.names.items()}
        self.graph = MacroGraph(self._raw)
        self.names |= {name.lower(): name for name in literals}
        self._refuse_trouble(self.graph)

    def where(self, name: str | None = None) -> str:
        """Return the place to name in a message: the line of the command *name*, else of the queue statement."""
        line = self._assigned.get(name.lower()) if name is not None else self._line
        return self._position(line.first if line is not None else 0)

    def expand(self, name: str) -> str | None:
        """Return the value of the command *name* (in lower case) with its macros expanded; None if empty."""
        if (literal := self.literals.get(name)) is not None:
            return literal
        try:
            value: str = self._submit.expand(self.names[name])
        except KeyError:
            return None
        except UnicodeDecodeError:
            problem = f"the value of {self.names[name]} is not UTF-8 text"
            raise SubmitDescriptionError(where=self.where(name), problem=problem) from None
        return value or None

    def raw(self, name: str) -> str:
        """Return the value of the command *name* (in lower case) before expansion."""
        return self.literals.get(name) or self._submit.get(self.names[name], "")

    def declare(self, variables: Sequence[str]) -> None:
        """Declare the *variables* of the queue statement; one with the name of a command sets that command."""
        self.names = {name.lower(): name for name in variables} | self.names

    def set(self, name: str, value: str) -> None:
        """Set the macro *name* to *value*, for example a loop variable or ``Process`` for each job."""
        if "$" in value:
            self._refuse_trouble(MacroGraph({**self._raw, name.lower(): value}))
        self._submit[name] = value

    def _refuse_trouble(self, graph: MacroGraph) -> None:
        """Refuse macros that the library would never finish expanding."""
        if (trouble := graph.trouble()) is not None:
            chain = " -> ".join(self.names.get(name, name) for name in trouble.names)
            raise SubmitDescriptionError(where=self.where(trouble.names[0]), problem=f"{trouble.problem}: {chain}")

    @cached_property
    def queue(self) -> QueueStatement:
        """The parsed arguments of the statement."""
        if self._line is None:
            return QueueStatement()
        text = self._line.arguments
        if "$" in text:
            refuse_trouble(MacroGraph({**self._raw, "": text}), self.where(), self.names, start="")
            self._submit[_ARGUMENTS] = text
            try:
                text = self._submit.expand(_ARGUMENTS)
            except KeyError:
                text = ""
            except UnicodeDecodeError:
                problem = "it contains a macro that is not UTF-8 text"
                raise SubmitDescriptionError(where=self.where(), problem=problem) from None
        return parse_queue(text, self.where())

    def count(self) -> int:
        """Return the number of jobs for each item."""
        text = self.queue.count
        if not text:
            return 1
        value: Any = int(text[:20]) if text.isascii() and text.isdigit() else _evaluate(text)
        if type(value) is not int:
            raise SubmitDescriptionError(
                where=self.where(), problem=f"{text!r} is not a number of jobs; write queue N, or queue NAME in (...)"
            )
        if not 0 <= value < 2**31:
            raise SubmitDescriptionError(
                where=self.where(), problem=f"{text} jobs cannot be queued; give 0 to 2147483647"
            )
        return value

    def items(self) -> list[Item] | None:
        """Return the items to queue jobs for; None if the statement has none."""
        if self.queue.mode is None:
            return None
        listed = self._line.listed if self._line is not None else None
        return read_items(self.queue, listed, self._matching, self._external)

    def _external(self, operand: str) -> list[str]:
        return [] if self._read_outside is None else self._read_outside(operand, self.where())

    def _matching(self, patterns: str) -> list[str]:
        self._submit.setQArgs(f"fairq_item matching {patterns}")
        try:
            rows = self._submit.itemdata()
            return [] if rows is None else [row["fairq_item"] for row in rows]
        except UnicodeDecodeError:
            problem = "the name of a matching file is not UTF-8; rename the file or change the pattern"
            raise SubmitDescriptionError(where=self.where(), problem=problem) from None

    def referenced(self) -> frozenset[str]:
        """Return the names, in lower case, that any line refers to."""
        return self.graph.referenced() | references(self._line.arguments if self._line else "").names

    def unused(self, is_command: Callable[[str], object]) -> Iterator[str]:
        """Yield ``condor_submit``'s warning for each line that is neither a command nor used anywhere."""
        referenced = self.referenced()
        for lower, name in self.names.items():
            if lower in referenced or "." in name or lower in self.literals or lower not in self._own:
                continue
            if is_command(lower):
                continue
            yield f"the line '{name} = {self.raw(lower)}' was unused by fairq. Is it a typo?"


class Description:
    """The text of a submit description; *source* names it in messages.

    *external* reads the included texts and the sources of items, each only once. *macros* apply from the first line,
    the lines *appended* at each queue statement. *queue* has the arguments of a queue statement to add at the end.
    """

    def __init__(
        self,
        text: str,
        source: str,
        external: External,
        macros: Mapping[str, str] | None = None,
        *,
        appended: Sequence[str] = (),
        queue: str | None = None,
        defaults: Mapping[str, str] | None = None,
    ) -> None:
        """Read the includes of *text* and split it into lines; raises SubmitDescriptionError if that fails.

        *defaults* are commands that apply if the text does not set them; those that apply are in `filled`.
        """
        if "\0" in text:
            raise SubmitDescriptionError(where=source, problem="it is not text: it contains a zero byte")
        self.source = source
        self._external = external
        self._items: dict[int, list[str]] = {}
        self._macro_lines = [f"{name} = {value}" for name, value in (macros or {}).items()]
        self._appended = list(appended)
        includes = Includes(text, source, external, self._macro_lines)
        self._rows, self._positions, self._included = includes.rows, includes.positions, includes.included
        self._lines = list(logical_lines("\n".join(self._rows), self._position))
        assigned = {name.lower() for line in self._lines if (name := line.assigned) is not None}
        self.filled = {
            name: value for name, value in (defaults or {}).items() if assigned.isdisjoint(equivalent_names(name))
        }
        self._macro_lines[:0] = [f"{name} = {value}" for name, value in self.filled.items()]
        if queue is not None:
            self._add_queue(queue)
        self.warnings: list[str] = []
        for line in self._lines:
            if not isinstance(line, QueueLine) and not line.is_directive and line.assigned is None:
                problem = f"{_quoted(line.text)} is neither NAME = VALUE nor a queue statement{self._unless_program()}"
                raise SubmitDescriptionError(where=self._position(line.first), problem=problem)
        self._refuse_open_conditions()

    def is_plain(self, name: str) -> bool:
        """Return whether only values of commands use the macro *name*, which is set above the text."""
        lower = name.lower()
        for line in self._lines:
            if (line.assigned or "").lower() == lower:
                return False
            listed = " ".join(line.listed or ()) if isinstance(line, QueueLine) else ""
            if (line.is_directive or isinstance(line, QueueLine)) and lower in f"{line.text} {listed}".lower():
                return False
        return True

    def _add_queue(self, arguments: str) -> None:
        """Add a queue statement, which the text must not have (manual of condor_submit, ``-queue``)."""
        if any(isinstance(line, QueueLine) for line in self._lines):
            problem = "there is a queue statement; leave out --queue, or take the statement out"
            raise SubmitDescriptionError(where=self.source, problem=problem)
        # A blank line ends the last line even if it is continued.
        self._rows += ["", f"queue {arguments}"]
        self._positions += [self.source, "--queue"]
        self._lines = list(logical_lines("\n".join(self._rows), self._position))

    def _position(self, row: int) -> str:
        """Return the name of the line *row*, from 1, for messages; 0 is the whole description."""
        return self._positions[row - 1] if row else self.source

    def _read_outside(self, line: QueueLine, operand: str, where: str) -> list[str]:
        if line.first not in self._items:
            self._items[line.first] = read_outside(operand, self._external, where)
        return self._items[line.first]

    def statements(self) -> Iterator[Statement]:
        """Yield the queue statements that are in force, in order.

        Raises SubmitDescriptionError if there is none, or for a line that the library does not accept.
        """
        has_statement = False
        for line in self._lines:
            if not isinstance(line, QueueLine):
                continue
            marker = f"fairq:{line.first}"
            submit = self._parse(self._text(line, marker))
            if submit.getQArgs() == marker:
                has_statement = True
                above = [earlier for earlier in self._lines if earlier.first < line.first]
                own = [earlier for earlier in above if earlier.first not in self._included]
                yield Statement(submit, self._position, line, above, own, {}, partial(self._read_outside, line))
        if not has_statement:
            self._parse(self._text(None, ""))
            is_script = self._rows[0].startswith("#!") if self._rows else False
            cure = self._unless_program() if is_script else "; end the description with a line 'queue'"
            raise SubmitDescriptionError(where=self.source, problem=f"there is no queue statement{cure}")

    def _unless_program(self) -> str:
        """Return the cure for a program that was taken for a description; empty if there is a queue statement."""
        is_description = any(isinstance(line, QueueLine) for line in self._lines)
        return "" if is_description else "; if it is a program, run it with 'fairq submit -- PROGRAM'"

    def _refuse_open_conditions(self) -> None:
        """Refuse an ``if`` without ``endif``: the library stops at a queue statement and may not notice it."""
        open_ifs: list[Line] = []
        for line in self._lines:
            if line.word == "if":
                open_ifs.append(line)
            elif line.word == "endif" and open_ifs:
                open_ifs.pop()
        if open_ifs:
            raise SubmitDescriptionError(where=self._position(open_ifs[-1].first), problem="this 'if' has no 'endif'")

    def _text(self, statement: QueueLine | None, marker: str) -> str:
        rows = list(self._rows)
        for line in self._lines:
            if isinstance(line, QueueLine):
                rows[line.first - 1 : line.last] = [""] * (line.last - line.first + 1)
        if statement is not None:
            rows[statement.first - 1] = "\n".join([*self._appended, f"queue {marker}"])
        return "\n".join([*self._macro_lines, *rows]) + "\n"

    def _parse(self, text: str) -> Any:
        try:
            submit, warnings = new_submit(text)
        except LibraryError as error:
            raise self._error_of(str(error)) from None
        self.warnings += [line for line in warnings if line not in self.warnings]
        return submit

    def _error_of(self, message: str) -> SubmitDescriptionError:
        """Return an error that names the first line that the library refuses."""
        lines = [line for line in self._lines if not isinstance(line, QueueLine)]
        accepted, refused = 0, len(lines) + 1
        while refused - accepted > 1:
            middle = (accepted + refused) // 2
            try:
                new_submit(self._closed_text(lines[:middle]))
            except LibraryError as error:
                message = str(error) or message
                refused = middle
            else:
                accepted = middle
        line = lines[min(refused, len(lines)) - 1]
        problem = f"{_quoted(line.text)} cannot be read" + (f": {message[:200]}" if message else "")
        return SubmitDescriptionError(where=self._position(line.first), problem=problem)

    def _closed_text(self, lines: Sequence[Line]) -> str:
        """Return *lines* as a text in which every ``if`` is closed."""
        rows = list(self._macro_lines)
        depth = 0
        for line in lines:
            depth += (line.word == "if") - (line.word == "endif")
            rows += self._rows[line.first - 1 : line.last]
        return "\n".join([*rows, *["endif"] * max(depth, 0), ""])


def _quoted(text: str) -> str:
    """Return a line of the description for a message."""
    return repr(text if len(text) <= 100 else f"{text[:100]}...")


def _evaluate(text: str) -> Any:
    from fairq.engine.classad import evaluate_alone, parse
    from fairq.errors.base import ExpressionError

    try:
        return evaluate_alone(parse(text))
    except ExpressionError:
        return None
