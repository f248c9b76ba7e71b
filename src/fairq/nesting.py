"""How deep lists and objects are nested, found without recursion: what comes from outside may have any depth."""

from __future__ import annotations

from typing import Any

DEEPEST = 100
"""Levels of an ad's value that are read."""


def deeper_than(value: Any, levels: int) -> bool:
    """Say whether *value*, of dicts and lists, has more than so many *levels*; a scalar has none."""
    waiting = [value]
    for _ in range(levels + 1):
        waiting = [part for part in waiting if isinstance(part, (dict, list))]
        if not waiting:
            return False
        waiting = [part for value in waiting for part in (value.values() if isinstance(value, dict) else value)]
    return True
