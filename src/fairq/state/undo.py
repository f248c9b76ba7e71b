"""What it takes to undo a change: kept for a while, by the number of its first entry in the history."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairq.common.records import Actor
from fairq.state import rows
from fairq.state.connection import State

NEVER = "none"
"""The kind of a change that cannot be undone."""


class Undoable(Struct, frozen=True):
    """A change that one command made: entries *first* to *last* of the history.

    *kind* says what it was, *data* what stood there before. *undone* is the entry that undid it, None if none has.
    """

    first: int
    last: int
    time: int
    user: str
    kind: str
    data: Any
    undone: int | None


_CHANGES = rows.Records(Undoable, "undo", "data")


def record(state: State, actor: Actor, entries: range, kind: str, data: Any, kept: float | None) -> None:
    """Keep *data*, with which the change of these history *entries* can be undone.

    What is older than *kept* seconds is forgotten; None: nothing is.
    """
    if kept is not None:
        state.connection.execute("DELETE FROM undo WHERE time < ?", (actor.time - kept,))
    if entries:
        state.connection.execute(
            "INSERT INTO undo (first, last, time, user, kind, data) VALUES (?, ?, ?, ?, ?, ?)",
            (entries[0], entries[-1], actor.time, actor.user, kind, rows.dumps(data)),
        )


def record_final(state: State, actor: Actor, entries: range, reason: str, kept: float | None) -> None:
    """Note that the change of these *entries* cannot be undone for this *reason*.

    Without this note, the user's last change would be an older one.
    """
    record(state, actor, entries, NEVER, {"reason": reason}, kept)


def last_of(state: State, user: str) -> Undoable | None:
    """Return the last change of *user* that is not undone, None if none is kept."""
    return _CHANGES.first(state, "WHERE user = ? AND undone IS NULL ORDER BY first DESC", (user,))


def of_entry(state: State, number: int) -> Undoable | None:
    """Return the change that entry *number* of the history belongs to, None if none is kept."""
    return _CHANGES.first(state, "WHERE ? BETWEEN first AND last", (number,))


def numbers_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return the numbers of the changes that can be undone, the last one first."""
    cursor = state.connection.execute(
        "SELECT first FROM undo WHERE undone IS NULL AND kind <> ? AND first LIKE ? || '%' ORDER BY first DESC LIMIT ?",
        (NEVER, prefix, limit),
    )
    return [str(number) for (number,) in cursor]


def mark(state: State, first: int, entry: int) -> None:
    """Note that *entry* of the history undid the change that begins with entry *first*."""
    state.connection.execute("UPDATE undo SET undone = ? WHERE first = ?", (entry, first))


def undone_entries(state: State) -> set[int]:
    """Return the numbers of all entries of the history that were undone, or that undid one."""
    entries: set[int] = set()
    for first, last, entry in state.connection.execute("SELECT first, last, undone FROM undo WHERE undone IS NOT NULL"):
        entries.update(range(first, last + 1))
        entries.add(entry)
    return entries
