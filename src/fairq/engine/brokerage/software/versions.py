"""Version numbers of GPU software and hardware, and the constraints of tasks.

Source: docs/panda.md, Software.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

Version = tuple[tuple[int, ...], int, int]
"""Release numbers without zeros at the end, the stage (0: released), the number of the stage."""

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[._-]?(a|b|rc|dev|post)[._-]?(\d*))?", re.IGNORECASE)
_CONSTRAINT = re.compile(r"\s*([=!<>]+)\s*(.+)")
_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}
_OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def read_version(text: str) -> Version | None:
    """Return a comparable version; ``12.9`` equals ``12.9.0``. None: *text* is not a version."""
    found = _VERSION.fullmatch(text.strip())
    if not found:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), _STAGES[(found[2] or "").lower()], int(found[3] or 0)


def satisfies(version: str, constraint: str) -> bool | None:
    """Return whether *version* meets a constraint such as ``>=12.0``; None if either cannot be read.

    Operators are ``= == != >= <= > <`` (PanDA compare_version_string).
    """
    found = _CONSTRAINT.fullmatch(constraint)
    compare = _OPERATORS.get(found[1]) if found else None
    if found is None or compare is None:
        return None
    have, want = read_version(version), read_version(found[2])
    if have is None or want is None:
        return None
    return compare(have, want)
