"""Single values of the state, by key: `last_update`, `cycle`, `next_cluster`, `pause` and others."""

from __future__ import annotations

from fairq.state.connection import State


def get(state: State, key: str, default: str | None = None) -> str | None:
    """Return the value stored under *key*, or *default*."""
    row = state.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else str(row[0])


def set(state: State, key: str, value: str) -> None:  # noqa: A001 - read as meta.set
    """Store *value* under *key*, replacing the former value."""
    state.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def remove(state: State, key: str) -> None:
    """Remove *key* with its value, if there is one."""
    state.connection.execute("DELETE FROM meta WHERE key = ?", (key,))
