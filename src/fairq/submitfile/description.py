"""A submit description as HTCondor's library reads it, one queue statement at a time.

The library stops at the first queue statement. So every statement gets the text anew without the other
ones: what stands above it counts, and what an ``if`` leaves out is not queued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from fairq.errors import SubmitDescriptionError
from fairq.submitfile.items import Item, read_items
from fairq.submitfile.library import LibraryError, new_submit
from fairq.submitfile.lines import Line, QueueLine, logical_lines
from fairq.submitfile.macros import CLUSTER_NAMES, PROC_NAMES, MacroGraph, references
from fairq.submitfile.queue_statement import QueueStatement, parse_queue

_LIVE = PROC_NAMES | CLUSTER_NAMES | {"row", "itemindex"}
_ARGUMENTS = "fairq_queue_arguments"


class Statement:
    """One queue statement with the macros in force at its line."""

    def __init__(
        self, submit: Any, source: str, line: QueueLine | None, lines: Sequence[Line], literals: Mapping[str, str]
    ) -> None:
        """Take the parsed *submit* of *source*; *literals* are commands whose values stand as they are."""
        self._submit = submit
        self._line = line
        self._source = source
        self._assigned = {name.lower(): row for row in lines if (name := row.assigned) is not None}
        self.literals = {name.lower(): value for name, value in literals.items()}
        self.names = {name.lower(): name for name in submit if name.lower() not in _LIVE}
        self._raw = {lower: submit[name] for lower, name in self.names.items()}
        self.graph = MacroGraph(self._raw)
        self.names |= {name.lower(): name for name in literals}
        self._refuse_circle(self.graph)

    def where(self, name: str | None = None) -> str:
        """Return the place to name in a message: where the command *name* stands, else the queue statement."""
        row = self._assigned.get(name.lower()) if name is not None else self._line
        return f"{self._source}, line {row.first}" if row is not None and row.first else self._source

    def expand(self, name: str) -> str | None:
        """Return the value of the command *name* (in lower case) with its macros expanded, None if empty."""
        if (literal := self.literals.get(name)) is not None:
            return literal
        try:
            value: str = self._submit.expand(self.names[name])
        except KeyError:
            return None
        return value or None

    def raw(self, name: str) -> str:
        """Return the value of the command *name* (in lower case) before expansion."""
        return self.literals.get(name) or self._submit.get(self.names[name], "")

    def set(self, name: str, value: str) -> None:
        """Give the macro *name* a value, as a loop variable or ``Process`` gets one for each job."""
        if "$" in value:
            self._refuse_circle(MacroGraph({**self._raw, name.lower(): value}))
        self._submit[name] = value

    def _refuse_circle(self, graph: MacroGraph) -> None:
        """Refuse macros that refer to each other in a circle: the library would never return."""
        if circle := graph.circle():
            shown = " -> ".join(self.names.get(name, name) for name in circle)
            raise SubmitDescriptionError(where=self.where(circle[0]), problem=f"macros refer to each other: {shown}")

    @cached_property
    def queue(self) -> QueueStatement:
        """What the statement's arguments mean."""
        if self._line is None:
            return QueueStatement()
        text = self._line.arguments
        if "$" in text:
            self._submit[_ARGUMENTS] = text
            try:
                text = self._submit.expand(_ARGUMENTS)
            except KeyError:
                text = ""
        return parse_queue(text, self.where())

    def count(self) -> int:
        """Return how many jobs each item gets."""
        text = self.queue.count
        if not text:
            return 1
        value: Any = int(text[:20]) if text.isascii() and text.isdigit() else _evaluated(text)
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
        """Return the items that jobs are queued for; None if the statement has none."""
        if self.queue.mode is None:
            return None
        listed = self._line.listed if self._line is not None else None
        return read_items(self.queue, listed, self._matching, self.where())

    def _matching(self, patterns: str) -> list[str]:
        self._submit.setQArgs(f"fairq_item matching {patterns}")
        found = self._submit.itemdata()
        return [] if found is None else [row["fairq_item"] for row in found]

    def unused(self, known: frozenset[str]) -> Iterator[str]:
        """Yield ``condor_submit``'s complaint about each line that is neither a command nor mentioned."""
        mentioned = self.graph.mentioned() | references(self._line.arguments if self._line else "").names
        for lower, name in self.names.items():
            if lower in known or lower in mentioned or "." in name or lower in self.literals:
                continue
            if lower.startswith("request_") or lower not in self._assigned:
                continue
            yield f"the line '{name} = {self.raw(lower)}' was unused by fairq. Is it a typo?"


class Description:
    """The text of a submit description; *source* names it in messages."""

    def __init__(self, text: str, source: str) -> None:
        """Split *text* into logical lines; raises SubmitDescriptionError if one is none."""
        if "\0" in text:
            raise SubmitDescriptionError(where=source, problem="it is not a text: it holds a zero byte")
        self.source = source
        self._rows = text.split("\n")
        self._lines = list(logical_lines(text, source))
        self.warnings: list[str] = []
        for line in self._lines:
            if not isinstance(line, QueueLine) and not line.is_directive and line.assigned is None:
                raise SubmitDescriptionError(
                    where=f"{source}, line {line.first}",
                    problem=f"{line.text!r} is neither NAME = VALUE nor a queue statement",
                )
        self._refuse_open_conditions()
        self._refuse_circles()

    def statements(self) -> Iterator[Statement]:
        """Yield the queue statements that are in force, in order.

        Raises SubmitDescriptionError if there is none, or for a line the library does not take.
        """
        found = False
        for line in self._lines:
            if not isinstance(line, QueueLine):
                continue
            marker = f"fairq:{line.first}"
            submit = self._parsed(self._text(line, marker))
            if submit.getQArgs() == marker:
                found = True
                above = [other for other in self._lines if other.first < line.first]
                yield Statement(submit, self.source, line, above, {})
        if not found:
            self._parsed(self._text(None, ""))
            raise SubmitDescriptionError(
                where=self.source, problem="there is no queue statement; end the description with a line 'queue'"
            )

    def _refuse_open_conditions(self) -> None:
        """Refuse an ``if`` without its end: the library, which stops at a queue statement, may not see it."""
        waiting: list[Line] = []
        for line in self._lines:
            if line.word == "if":
                waiting.append(line)
            elif line.word == "endif" and waiting:
                waiting.pop()
        if waiting:
            raise SubmitDescriptionError(
                where=f"{self.source}, line {waiting[-1].first}", problem="this 'if' has no 'endif'"
            )

    def _refuse_circles(self) -> None:
        """Refuse a directive whose macros refer to each other in a circle: the library would never return."""
        values: dict[str, str] = {}
        for line in self._lines:
            if line.is_directive and "$" in line.text:
                circle = MacroGraph({**values, "": line.text}).circle()
                if circle and len(circle) > 2:
                    raise SubmitDescriptionError(
                        where=f"{self.source}, line {line.first}",
                        problem=f"macros refer to each other: {' -> '.join(circle)}",
                    )
            elif line.assigned is not None:
                values[line.assigned.lower()] = line.text.partition("=")[2]

    def _text(self, kept: QueueLine | None, marker: str) -> str:
        rows = list(self._rows)
        for line in self._lines:
            if isinstance(line, QueueLine):
                rows[line.first - 1 : line.last] = [""] * (line.last - line.first + 1)
        if kept is not None:
            rows[kept.first - 1] = f"queue {marker}"
        return "\n".join(rows) + "\n"

    def _parsed(self, text: str) -> Any:
        try:
            submit, said = new_submit(text)
        except LibraryError as error:
            raise self._explained(str(error)) from None
        self.warnings += [line for line in said if line not in self.warnings]
        return submit

    def _explained(self, said: str) -> SubmitDescriptionError:
        """Return an error that names the first line which the library refuses."""
        lines = [line for line in self._lines if not isinstance(line, QueueLine)]
        good, bad = 0, len(lines) + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                new_submit(self._beginning(lines[:middle]))
            except LibraryError as error:
                said = str(error) or said
                bad = middle
            else:
                good = middle
        line = lines[min(bad, len(lines)) - 1]
        problem = f"{line.text!r} cannot be read" + (f": {said}" if said else "")
        return SubmitDescriptionError(where=f"{self.source}, line {line.first}", problem=problem)

    def _beginning(self, lines: Sequence[Line]) -> str:
        """Return *lines* as a text in which every ``if`` is closed."""
        rows: list[str] = []
        depth = 0
        for line in lines:
            depth += (line.word == "if") - (line.word == "endif")
            rows += self._rows[line.first - 1 : line.last]
        return "\n".join([*rows, *["endif"] * max(depth, 0), ""])


class Program:
    """One command line to queue *count* times.

    *words* are the program and its arguments, taken as they are. *commands* are submit commands, whose
    values may hold macros.
    """

    warnings: Sequence[str] = ()
    source = "the command line"

    def __init__(self, words: Sequence[str], commands: Mapping[str, str], count: int = 1) -> None:
        """Take the program's *words*; the first one is the executable."""
        self._words = list(words)
        self._commands = commands
        self._count = count

    def statements(self) -> Iterator[Statement]:
        """Yield the one statement."""
        from fairq.submitfile.arguments import quoted

        submit, _ = new_submit("")
        for name, value in self._commands.items():
            submit[name] = value
        literals = {"executable": self._words[0]}
        if len(self._words) > 1:
            literals["arguments"] = quoted(self._words[1:])
        line = QueueLine(0, 0, "", str(self._count))
        yield Statement(submit, self.source, line, [], literals)


def _evaluated(text: str) -> Any:
    from fairq.engine.classad import evaluate_alone, parse
    from fairq.errors import ExpressionError

    try:
        return evaluate_alone(parse(text))
    except ExpressionError:
        return None
