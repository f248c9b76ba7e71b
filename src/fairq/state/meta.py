"""Single values of the state, by key: `last_update`, `cycle`, `next_cluster`, `pause` and others."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

from fairq.state.connection import State

MAX_JOBS_RUNNING = "max_jobs_running"
"""The key of an object: by schedd of an imported pool, how many jobs it may run at once."""

Value = TypeVar("Value")


def get(state: State, key: str, default: str | None = None) -> str | None:
    """Return the value stored under *key*, or *default*."""
    row = state.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else str(row[0])


def number(state: State, key: str) -> int:
    """Return the whole number stored under *key*; 0 if there is none."""
    return int(get(state, key) or 0)


def load(state: State, key: str, kind: type[Value]) -> Value | None:
    """Return the value stored as JSON under *key*; None if there is none."""
    text = get(state, key)
    return None if text is None else msgspec.convert(json.loads(text), kind)


def set(state: State, key: str, value: str) -> None:  # noqa: A001 - read as meta.set
    """Store *value* under *key*, replacing the former value."""
    state.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def store(state: State, key: str, value: object) -> None:
    """Store *value* as JSON under *key*; None removes it."""
    if value is None:
        remove(state, key)
    else:
        # In ASCII: the name of a file may hold bytes that are no text.
        set(state, key, json.dumps(msgspec.to_builtins(value), separators=(",", ":")))


def remove(state: State, key: str) -> None:
    """Remove *key* with its value, if there is one."""
    state.connection.execute("DELETE FROM meta WHERE key = ?", (key,))
