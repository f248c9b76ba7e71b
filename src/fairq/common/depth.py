"""Nesting depth of lists and objects, found without recursion: input may have any depth."""

from __future__ import annotations

from typing import Any

DEEPEST = 100
"""Maximum nesting depth of an ad's value that is read."""


def deeper_than(value: Any, levels: int) -> bool:
    """Return whether *value* (dicts and lists) is nested deeper than *levels*; a scalar has none."""
    waiting = [value]
    for _ in range(levels + 1):
        waiting = [part for part in waiting if isinstance(part, (dict, list))]
        if not waiting:
            return False
        waiting = [part for value in waiting for part in (value.values() if isinstance(value, dict) else value)]
    return True
