"""Whether the pool is paused: cycles then match nothing."""

from __future__ import annotations

from msgspec import Struct

from fairq.state import meta
from fairq.state.connection import State

KEY = "pause"
"""Where the state keeps the pause."""


class Pause(Struct, frozen=True):
    """A pause of the pool: *since* when, by whom and why, and *until* when (None: until somebody resumes the pool).

    Times are in seconds since 1970.
    """

    since: int
    user: str
    reason: str | None = None
    until: int | None = None


def load(state: State, now: int) -> Pause | None:
    """Return the pause in effect at *now*, None if there is none."""
    pause = meta.load(state, KEY, Pause)
    return None if pause is None or (pause.until is not None and pause.until <= now) else pause


def store(state: State, pause: Pause | None) -> None:
    """Store *pause* in the place of the former one; None: the pool is not paused."""
    meta.store(state, KEY, pause)
