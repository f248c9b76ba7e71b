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
        found = None if self.is_directive else _ASSIGNMENT.match(self.text)
        if found is None:
            return None
        return "MY." + found[1][1:] if found[1].startswith("+") else found[1]


class QueueLine(Line, frozen=True):
    """A queue statement: its *arguments*, and the lines of its list if the list follows in the text."""

    arguments: str = ""
    listed: tuple[str, ...] | None = None


def logical_lines(text: str, place: Callable[[int], str]) -> Iterator[Line]:
    """Yield the logical lines of *text* that are neither blank nor comments; *place* names a line (from 1) in messages.

    Raises SubmitDescriptionError for a list or block without an end.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        first = at
        joined, at = _joined(lines, at)
        if not joined or joined.startswith("#"):
            continue
        queue = _QUEUE.match(joined)
        if queue is not None:
            arguments = joined[queue.end() :].strip()
            listed = None
            if _opens_list(arguments):
                listed, at = _listed(lines, at, place(first + 1))
            yield QueueLine(first + 1, at, joined, arguments, listed)
            continue
        block = _BLOCK.match(joined)
        if block is not None:
            end = f"@{block[1]}"
            while at < len(lines) and lines[at].strip() != end:
                at += 1
            if at == len(lines):
                raise SubmitDescriptionError(
                    where=place(first + 1), problem=f"the block is not closed; end it with {end}"
                )
            at += 1
        yield Line(first + 1, at, joined)


def _opens_list(arguments: str) -> bool:
    """Return whether the list of a queue statement begins in *arguments* and continues on the next line."""
    start = arguments.rfind("(")
    if start <= arguments.rfind(")"):
        return False
    before = max(arguments.rfind("(", 0, start), arguments.rfind(")", 0, start)) + 1
    return _LIST_WORD.search(arguments, before, start) is not None


def _joined(lines: list[str], at: int) -> tuple[str, int]:
    """Return the logical line that begins at index *at*, and the index after it."""
    text = lines[at].strip()
    at += 1
    while text.endswith("\\") and not text.startswith("#"):
        text = text[:-1]
        if at == len(lines):
            break
        following = lines[at].strip()
        at += 1
        # The last character of a comment between continuation lines decides whether the line continues.
        text += following[-1:] if following.startswith("#") else following
    return text, at


def _listed(lines: list[str], at: int, where: str) -> tuple[tuple[str, ...], int]:
    items: list[str] = []
    while at < len(lines):
        item, at = _joined(lines, at)
        if item.startswith(")"):
            return tuple(items), at
        if not item.startswith("#"):
            items.append(item)
    raise SubmitDescriptionError(where=where, problem="the list of the queue statement is not closed; end it with ')'")
