"""Nesting depth of lists and objects, without recursion: input may have any depth."""

from __future__ import annotations

from typing import Any

DEEPEST = 100
"""Maximum nesting depth of an ad's value that is read."""


def deeper_than(value: Any, levels: int) -> bool:
    """Return whether *value* (dicts and lists) is nested deeper than *levels*; a scalar has depth 0."""
    level = [value]
    for _ in range(levels + 1):
        level = [member for member in level if isinstance(member, (dict, list))]
        if not level:
            return False
        level = [member for value in level for member in (value.values() if isinstance(value, dict) else value)]
    return True
