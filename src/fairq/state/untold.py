"""The clusters of which a job that wants it has left the queue: word of their end is still to be given."""

from __future__ import annotations

from collections.abc import Collection

from fairq.state import meta
from fairq.state.connection import State

_KEY = "untold"


def clusters(state: State) -> list[int]:
    """Return the clusters, in order."""
    return [int(word) for word in (meta.get(state, _KEY) or "").split()]


def add(state: State, new: Collection[int]) -> None:
    """Add clusters."""
    _store(state, {*clusters(state), *new})


def remove(state: State, told: Collection[int]) -> None:
    """Forget clusters of which word was given."""
    _store(state, {*clusters(state)} - {*told})


def _store(state: State, left: Collection[int]) -> None:
    if left:
        meta.set(state, _KEY, " ".join(map(str, sorted(left))))
    else:
        meta.remove(state, _KEY)
