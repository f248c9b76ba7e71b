"""The parts of a queue statement: the number of jobs for each item, and the items.

Grammar: the manual of ``condor_submit``, "queue"; HTCondor's ``SubmitForeachArgs::parse_queue_args``.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from fairq.errors.pool import SubmitDescriptionError

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
