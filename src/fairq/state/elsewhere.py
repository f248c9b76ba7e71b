"""States that this process may not open itself: it reads a copy of them and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from fairq.errors.base import FairqError


class Elsewhere(Struct, frozen=True):
    """How to read a state: *copy* returns a copy as recent as the state; *refusal* is the error for a change.

    *outdated* returns the last copy, which costs nothing, or None if there is none.
    """

    copy: Callable[[], Path]
    refusal: Callable[[], FairqError]
    outdated: Callable[[], Path | None] = lambda: None


_STATES: dict[str, Elsewhere] = {}


def read_elsewhere(path: Path, elsewhere: Elsewhere | None) -> None:
    """Read the state at *path* from now on *elsewhere*; None: open the file itself again."""
    name = os.path.realpath(path)
    if elsewhere is None:
        _STATES.pop(name, None)
    else:
        _STATES[name] = elsewhere


def last_copy(path: Path) -> Path:
    """Return the last copy of a state that is read elsewhere, perhaps outdated; otherwise the state itself."""
    elsewhere = elsewhere_of(path)
    return path if elsewhere is None else elsewhere.outdated() or path


def elsewhere_of(path: Path) -> Elsewhere | None:
    """Return where the state at *path* is read, None if the file itself is opened."""
    return _STATES.get(os.path.realpath(path)) if _STATES else None
