"""The items of a queue statement: listed in the text, read from a file or a command, or matched by patterns."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairq.errors import SubmitDescriptionError
from fairq.submitfile.queue_statement import QueueStatement

_SEPARATORS = re.compile(r"[ \t]*[, \t]")
_UNIT_SEPARATOR = "\x1f"

Item = tuple[int, tuple[str, ...]]
"""An item's row (from 0, before slicing) and the value of each variable."""


def read_items(
    statement: QueueStatement,
    listed: Sequence[str] | None,
    matching: Callable[[str], list[str]],
    where: str,
) -> list[Item]:
    """Return the items of *statement*, which has a mode.

    *listed* are the lines of a list that follows in the text. *matching* returns the paths for what follows
    the word ``matching``, as HTCondor's library finds and orders them.

    Raises SubmitDescriptionError naming *where* if a file or command cannot be read.
    """
    if listed is not None:
        lines = [first] if (first := statement.rest.lstrip("(").strip()) else []
        lines += listed
        if statement.mode != "from":
            lines = [word for line in lines for word in _words(line)]
    elif statement.rest.startswith("(") and statement.rest.endswith(")"):
        inner = statement.rest[1:-1].strip()
        lines = ([inner] if inner else []) if statement.mode == "from" else _words(inner)
    elif statement.mode == "in":
        lines = _words(statement.rest)
    elif statement.mode == "from":
        lines = _external(statement.rest, where)
    else:
        lines = []
    if statement.mode == "matching":
        patterns = " ".join(lines) or statement.rest
        lines = matching(f"{statement.qualifier} {patterns}".strip())
    rows: Sequence[int] = range(len(lines))
    if statement.chosen is not None:
        rows = rows[statement.chosen]
    width = len(statement.variables)
    return [(row, split_item(lines[row], width)) for row in rows]


def split_item(item: str, width: int) -> tuple[str, ...]:
    """Return *item* cut into *width* values; the last one takes all that is left, missing ones are empty.

    Values are apart by blanks or commas, or by the unit separator (0x1F) if there is one.
    """
    item = item.strip(" \t\r\n")
    if width == 1 and _UNIT_SEPARATOR not in item:
        return (item,)
    if _UNIT_SEPARATOR in item:
        parts = [part.strip(" \t") for part in item.split(_UNIT_SEPARATOR, width - 1)]
    else:
        parts = []
        rest = item
        while len(parts) < width - 1:
            found = _SEPARATORS.search(rest)
            if found is None:
                break
            parts.append(rest[: found.start()])
            rest = rest[found.end() :].lstrip(" \t")
        parts.append(rest)
    return (*parts, *[""] * (width - len(parts)))


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _external(rest: str, where: str) -> list[str]:
    if rest.endswith("|"):
        return _output(rest[:-1].strip(), where)
    if rest == "-":
        raise SubmitDescriptionError(where=where, problem="items cannot be read from standard input; name a file")
    try:
        text = Path(rest).read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SubmitDescriptionError(where=where, problem=f"the items' file {rest} cannot be read: {reason}") from None
    return _lines(text)


def _output(command: str, where: str) -> list[str]:
    import shlex

    try:
        done: Any = subprocess.run(
            shlex.split(command), stdout=subprocess.PIPE, check=True, encoding="utf-8", errors="surrogateescape"
        )
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SubmitDescriptionError(where=where, problem=f"the items' command {command!r} failed: {reason}") from None
    return _lines(done.stdout)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]
