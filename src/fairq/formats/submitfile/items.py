"""The items of a queue statement: a list in the text, lines of a file or a command, or paths that match patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.submitfile.external import External, reason
from fairq.formats.submitfile.queue_statement import QueueStatement

_SEPARATORS = re.compile(r"[ \t]*[, \t]")
_UNIT_SEPARATOR = "\x1f"

Item = tuple[int, tuple[str, ...]]
"""An item's row (from 0, before slicing) and the value of each variable."""


def read_items(
    statement: QueueStatement,
    list_lines: Sequence[str] | None,
    matching: Callable[[str], list[str]],
    outside: Callable[[str], list[str]],
) -> list[Item]:
    """Return the items of *statement*, which has a mode.

    *list_lines* are the lines of a list that follows in the text. *matching* returns the paths for the patterns after
    the word ``matching``, as HTCondor's library finds and orders them. *outside* returns the lines of the file or
    command after the word ``from``.
    """
    if list_lines is not None:
        lines = [first] if (first := statement.operand.lstrip("(").strip()) else []
        lines += list_lines
        if statement.mode != "from":
            lines = [word for line in lines for word in _words(line)]
    elif statement.operand.startswith("(") and statement.operand.endswith(")"):
        inner = statement.operand[1:-1].strip()
        lines = ([inner] if inner else []) if statement.mode == "from" else _words(inner)
    elif statement.mode == "in":
        lines = _words(statement.operand)
    elif statement.mode == "from":
        lines = outside(statement.operand)
    else:
        lines = []
    if statement.mode == "matching":
        patterns = " ".join(lines) or statement.operand
        lines = matching(f"{statement.qualifier} {patterns}".strip())
    rows: Sequence[int] = range(len(lines))
    if statement.chosen is not None:
        rows = rows[statement.chosen]
    width = len(statement.variables)
    return [(row, split_item(lines[row], width)) for row in rows]


def split_item(item: str, width: int) -> tuple[str, ...]:
    """Return *item* split into *width* values; the last value takes all remaining text, missing values are empty.

    Blanks or commas separate the values, or the unit separator (0x1F) if there is one.
    """
    item = item.strip(" \t\r\n")
    if width == 1 and _UNIT_SEPARATOR not in item:
        return (item,)
    if _UNIT_SEPARATOR in item:
        parts = [part.strip(" \t") for part in item.split(_UNIT_SEPARATOR, width - 1)]
    else:
        parts = []
        remainder = item
        while len(parts) < width - 1:
            separator = _SEPARATORS.search(remainder)
            if separator is None:
                break
            parts.append(remainder[: separator.start()])
            remainder = remainder[separator.end() :].lstrip(" \t")
        parts.append(remainder)
    return (*parts, *[""] * (width - len(parts)))


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def read_outside(operand: str, external: External, where: str) -> list[str]:
    """Return the lines of the *operand* of ``from``: a file, or a command followed by ``|``.

    Raises SubmitDescriptionError, which names *where*.
    """
    import shlex

    if operand == "-":
        raise SubmitDescriptionError(where=where, problem="items cannot be read from standard input; name a file")
    command = operand[:-1].strip() if operand.endswith("|") else None
    if command == "":
        raise SubmitDescriptionError(where=where, problem="there is no command before the |; write from COMMAND |")
    failure = f"the items' file {_shortened(operand)} cannot be read"
    try:
        if command is None:
            return _lines(external.file(operand))
        failure = f"the items' command {_shortened(command)!r} failed"
        output = external.output(shlex.split(command))
    except (OSError, ValueError) as error:
        raise SubmitDescriptionError(where=where, problem=f"{failure}: {reason(error)}") from None
    if output.code:
        ending = f"it returned {output.code}" if output.code > 0 else f"it was ended by signal {-output.code}"
        raise SubmitDescriptionError(where=where, problem=f"{failure}: {ending}")
    return _lines(output.text)


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}..."


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]
