"""Lists of objects by column, as the state holds them: each name once, and many values are read at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ByColumn = Mapping[str, Sequence[Any]]
"""The values of objects that have the same names in the same order, by name."""


def by_column(objects: Sequence[Mapping[str, Any]]) -> ByColumn | Sequence[Mapping[str, Any]]:
    """Return *objects* by column; unchanged if they have different names, or none."""
    names = list(objects[0]) if objects else []
    if not names or any(list(one) != names for one in objects):
        return objects
    return {name: [one[name] for one in objects] for name in names}


def objects_in(stored: ByColumn | Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the objects that were given to `by_column`."""
    if not isinstance(stored, Mapping):
        return stored
    return [dict(zip(stored, values, strict=True)) for values in zip(*stored.values(), strict=True)]
