"""Queue statements: the number of jobs for each item, and the items.

Items are a list in the text, lines of a file or a command, or paths that match patterns. Grammar: the manual of
``condor_submit``, "queue"; HTCondor's ``SubmitForeachArgs::parse_queue_args``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from fairq.errors.pool import SubmitDescriptionError
from fairq.formats.submitfile.external import External, reason

_SEPARATORS = re.compile(r"[ \t]*[, \t]")
_UNIT_SEPARATOR = "\x1f"

Item = tuple[int, tuple[str, ...]]
"""An item's row (from 0, before slicing) and the value of each variable."""

Mode = Literal["in", "from", "matching"]

_KEYWORD = re.compile(r"(?:(?<=\s)|^)(in|from|matching)(?=\s|\(|\[|$)", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_.][\w.]*")
_QUALIFIER = re.compile(r"(files|dirs|any|table)(?=\s|\(|\[|$)", re.IGNORECASE)
_SLICE = re.compile(r"\[\s*(-?\d{1,18})?\s*(?::\s*(-?\d{1,18})?\s*)?(?::\s*(-?\d{1,18})?\s*)?\]")


class QueueStatement(Struct, frozen=True):
    """*count* (an integer expression, macros already expanded) jobs for every item.

    Without *mode* there are no items. *operand* is the text after keyword, qualifier and slice: a list, a file, a
    command, or patterns.
    """

    count: str = ""
    variables: tuple[str, ...] = ()
    mode: Mode | None = None
    qualifier: str = ""
    chosen: slice | None = None
    operand: str = ""


def parse_queue(arguments: str, where: str) -> QueueStatement:
    """Return the parsed *arguments* of a queue statement; raises SubmitDescriptionError, which names *where*."""
    arguments = arguments.strip()
    keyword = _KEYWORD.search(arguments)
    if keyword is None:
        return QueueStatement(count=arguments)
    count_and_variables, operand = arguments[: keyword.start()].rstrip(), arguments[keyword.end() :].strip()
    mode: Mode = keyword[1].lower()  # type: ignore[assignment]  # the pattern knows these three only
    words = count_and_variables.replace(",", " ").split()
    first_variable = len(words)
    while first_variable and _VARIABLE.fullmatch(words[first_variable - 1]):
        first_variable -= 1
    variables = tuple(words[first_variable:])
    qualifier = ""
    chosen = None
    while True:
        if match := _QUALIFIER.match(operand):
            qualifier = match[1].lower()
            operand = operand[match.end() :].strip()
            _check_qualifier(mode, qualifier, where)
        elif operand.startswith("["):
            slice_match = _SLICE.match(operand)
            if slice_match is None:
                raise SubmitDescriptionError(
                    where=where, problem=f"{operand.split(']')[0][:60]}] is not a slice; write it as [first:end:step]"
                )
            chosen = _as_slice(slice_match, where)
            operand = operand[slice_match.end() :].strip()
        else:
            break
    if not operand:
        raise SubmitDescriptionError(where=where, problem=f"nothing follows {mode!r} in the queue statement")
    return QueueStatement(" ".join(words[:first_variable]), variables or ("Item",), mode, qualifier, chosen, operand)


def _check_qualifier(mode: Mode, qualifier: str, where: str) -> None:
    if (qualifier == "table") is not (mode == "from") or mode == "in":
        raise SubmitDescriptionError(where=where, problem=f"{qualifier!r} cannot follow {mode!r}")
    if qualifier == "table":
        raise SubmitDescriptionError(
            where=where, problem="'from table' is not supported; list the variables before 'from'"
        )


def _as_slice(match: re.Match[str], where: str) -> slice:
    """Return a slice; ``[n]`` begins at item n, like ``[n:]``."""
    first, end, step = (int(part) if part else None for part in match.groups())
    if step is not None and step < 1:
        raise SubmitDescriptionError(where=where, problem=f"the step of a slice cannot be {step}; give 1 or more")
    return slice(first, end, step)


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
