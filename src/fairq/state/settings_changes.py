"""Changes of settings files: what is about to be written, and what the files said when fairq last looked."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from fairq.state import meta
from fairq.state.connection import State

INTENT, KNOWN = "settings_intent", "settings_known"
"""Where the state keeps both."""


class Edit(Struct, frozen=True):
    """A setting by its full *name*, with its values in the file *before* and *after*; None: it is not set there."""

    name: str
    before: Any = None
    after: Any = None


class Intent(Struct, frozen=True):
    """What a command is about to write to *file*: *edits*; *digest* is that of the new text.

    *user*, *command*, *time* and *reason* are those of the change. *undoes*: the change of the history that it undoes.
    """

    file: str
    digest: str
    edits: list[Edit]
    user: str
    command: str
    time: int
    reason: str | None = None
    undoes: int | None = None


class KnownFile(Struct, frozen=True):
    """A settings file: the *digest* of its text, and its *values* by full name."""

    digest: str
    values: dict[str, Any] = field(default_factory=dict)


def load_intent(state: State) -> Intent | None:
    """Return the change that was begun, None if all are complete."""
    return meta.load(state, INTENT, Intent)


def store_intent(state: State, intent: Intent | None) -> None:
    """Store the change that is about to be made; None: it is made and recorded, or was not made."""
    meta.store(state, INTENT, intent)


def load_known(state: State) -> dict[str, KnownFile]:
    """Return the settings files as fairq last saw them, by path."""
    return meta.load(state, KNOWN, dict[str, KnownFile]) or {}


def store_known(state: State, files: dict[str, KnownFile]) -> None:
    """Store the settings files as they are now."""
    meta.store(state, KNOWN, files)
