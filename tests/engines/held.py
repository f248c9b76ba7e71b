"""What an engine recorded of a job."""

from __future__ import annotations

from typing import NamedTuple


class Held(NamedTuple):
    """The state of a job, and from when to when the engine held resources for it, in seconds since 1970."""

    state: str
    start: int
    end: int
