"""The logical lines of a submit description, with their physical lines, and the queue statements among them.

As in HTCondor's reader, a logical line includes continuation lines and comments between them. It also includes a
``name @=tag`` block, or the items that a queue statement lists over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from fairq.errors.pool import SubmitDescriptionError

_QUEUE = re.compile(r"queue(?=\s|$)|iter(?:ate?|at)?(?=\s|$)", re.IGNORECASE)
_LIST_WORD = re.compile(r"(?<!\S)(?:in|from|matching)\b", re.IGNORECASE)
_BLOCK = re.compile(r"\+?[\w.]+\s*@=\s*(\S*)\s*$")
_ASSIGNMENT = re.compile(r"(\+?[\w.$()]+)\s*(?:@?=|:)")
_DIRECTIVE = re.compile(r"(?:if|elif|else|endif|@?include|@?use|error|warning)(?=\s|:|$)", re.IGNORECASE)


class Line(Struct, frozen=True):
    """One logical line: its *text* without continuations, and its physical lines *first* to *last* (from 1)."""

    first: int
    last: int
    text: str

    @property
    def is_directive(self) -> bool:
        """Whether it controls the reader (``if``, ``include``, …) and assigns nothing."""
        return _DIRECTIVE.match(self.text) is not None

    @property
    def word(self) -> str:
        """The first word, in lower case."""
        return self.text.split(None, 1)[0].lower() if self.text.strip() else ""

    @property
    def assigned(self) -> str | None:
        """The name that the line assigns, with ``+Name`` as ``MY.Name``; None if it assigns nothing."""
        assignment = None if self.is_directive else _ASSIGNMENT.match(self.text)
        if assignment is None:
            return None
        return "MY." + assignment[1][1:] if assignment[1].startswith("+") else assignment[1]


class QueueLine(Line, frozen=True):
    """A queue statement: its *arguments*, and the lines of its list if the list follows in the text."""

    arguments: str = ""
    listed: tuple[str, ...] | None = None


def logical_lines(text: str, position: Callable[[int], str]) -> Iterator[Line]:
    """Yield the logical lines of *text* except blank lines and comments; *position* names a line (from 1) in messages.

    Raises SubmitDescriptionError for a list or block without an end.
    """
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        first = index
        joined_line, index = _join(lines, index)
        if not joined_line or joined_line.startswith("#"):
            continue
        queue = _QUEUE.match(joined_line)
        if queue is not None:
            arguments = joined_line[queue.end() :].strip()
            list_lines = None
            if _opens_list(arguments):
                list_lines, index = _read_list(lines, index, position(first + 1))
            yield QueueLine(first + 1, index, joined_line, arguments, list_lines)
            continue
        block = _BLOCK.match(joined_line)
        if block is not None:
            end = f"@{block[1]}"
            while index < len(lines) and lines[index].strip() != end:
                index += 1
            if index == len(lines):
                raise SubmitDescriptionError(
                    where=position(first + 1), problem=f"the block is not closed; end it with {end}"
                )
            index += 1
        yield Line(first + 1, index, joined_line)


def _opens_list(arguments: str) -> bool:
    """Return whether the list of a queue statement begins in *arguments* and continues on the next line."""
    start = arguments.rfind("(")
    if start <= arguments.rfind(")"):
        return False
    keyword_start = max(arguments.rfind("(", 0, start), arguments.rfind(")", 0, start)) + 1
    return _LIST_WORD.search(arguments, keyword_start, start) is not None


def _join(lines: list[str], index: int) -> tuple[str, int]:
    """Return the logical line that begins at index *index*, and the index after it."""
    text = lines[index].strip()
    index += 1
    while text.endswith("\\") and not text.startswith("#"):
        text = text[:-1]
        if index == len(lines):
            break
        following = lines[index].strip()
        index += 1
        # The last character of a comment between continuation lines decides whether the line continues.
        text += following[-1:] if following.startswith("#") else following
    return text, index


def _read_list(lines: list[str], index: int, where: str) -> tuple[tuple[str, ...], int]:
    items: list[str] = []
    while index < len(lines):
        item, index = _join(lines, index)
        if item.startswith(")"):
            return tuple(items), index
        if not item.startswith("#"):
            items.append(item)
    raise SubmitDescriptionError(where=where, problem="the list of the queue statement is not closed; end it with ')'")
