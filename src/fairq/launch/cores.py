"""Choose the cores of a machine for a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def allot(cores: Sequence[int], busy: Collection[int], count: int) -> tuple[int, ...]:
    """Return *count* of the *cores* that are not *busy*; empty if fewer are free."""
    free = [core for core in cores if core not in busy]
    return tuple(free[:count]) if 0 < count <= len(free) else ()
