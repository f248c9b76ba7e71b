"""Names of machines and slots."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"(\d+)")


def natural_key(name: str) -> list[str | int]:
    """Return a key for sorting that puts node9 before node10."""
    parts: list[str | int] = list(_NUMBERS.split(name))
    parts[1::2] = map(int, parts[1::2])
    return parts
