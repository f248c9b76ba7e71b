"""Functions of plain strings, computed here as HTCondor's library does.

Submit puts ``versionGE(split(TARGET.CondorVersion)[1], "...")`` into the Requirements of most jobs. A cycle that needs
the library for no other reason need not load it, which takes longer than a small cycle.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import eq, ge, gt, le, lt
from typing import Any, Final

_VERSION: Final = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8}))*")
"""Versions that compare number by number; a leading zero or a letter has rules of its own."""

_WORDS: Final = re.compile(r"[!-+\--~]+(?: [!-+\--~]+)*")
"""Printable words with one space between them, and no comma: what ``split`` divides at the spaces."""


def _comparing(holds: Callable[[Any, Any], bool]) -> Callable[..., bool | None]:
    def compare(*arguments: Any) -> bool | None:
        if len(arguments) != 2:
            return None
        left, right = map(_version, arguments)
        return None if left is None or right is None else holds(left, right)

    return compare


def _version(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, str) or _VERSION.fullmatch(value) is None:
        return None
    return tuple(map(int, value.split(".")))


def _split(*arguments: Any) -> list[str] | None:
    if len(arguments) != 1 or not isinstance(arguments[0], str) or _WORDS.fullmatch(arguments[0]) is None:
        return None
    return arguments[0].split(" ")


PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "versionge": _comparing(ge),
    "versiongt": _comparing(gt),
    "versionle": _comparing(le),
    "versionlt": _comparing(lt),
    "versioneq": _comparing(eq),
    "split": _split,
}
"""Functions by name in lower case; each returns None where its arguments are not plain: the library decides."""
