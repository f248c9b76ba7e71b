"""Undo changes of the pool as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.state import pause as pauses
from fairq.state.connection import State
from fairq.state.pause import Pause
from fairq.steps.undo.jobs import Problem


def undo_pause(state: State, data: Mapping[str, Any]) -> Problem:
    """End a pause, or restore the one that was ended or replaced."""
    before = data["before"]
    pauses.store(state, None if before is None else Pause(**before))
    return None
