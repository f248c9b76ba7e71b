"""Which cores of a machine a run gets."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def allot(cores: Sequence[int], busy: Collection[int], count: int) -> tuple[int, ...]:
    """Return *count* of the *cores* that are not *busy*; none where there are not so many."""
    free = [core for core in cores if core not in busy]
    return tuple(free[:count]) if 0 < count <= len(free) else ()
