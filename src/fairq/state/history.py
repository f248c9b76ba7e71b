"""What was changed, when, by whom and by which command; never changed or deleted itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from fairq.common.records import Actor, Change
from fairq.errors.people import NotAllowedError, RepeatedError
from fairq.state import rows
from fairq.state.connection import State

ADMINISTRATORS = "administrators (pool.administrators)"
"""Who may do what others may not, in words."""

_ALL = 2**63 - 1
"""SQLite's largest number."""


class Entry(Struct, frozen=True):
    """One change of the history; *time* in seconds since 1970, *before* and *after* as JSON holds them."""

    number: int
    time: int
    user: str
    command: str
    subject: str
    before: Any
    after: Any
    reason: str | None = None


def record(state: State, actor: Actor, changes: Iterable[Change], *, own: bool = False) -> range:
    """Append changes made by *actor*; return the numbers of the new entries.

    A change of what is the actor's *own* was found to be allowed already. Any other one takes an administrator: raises
    NotAllowedError, which gives up the transaction.
    """
    if not (own or actor.administrator):
        raise NotAllowedError(user=actor.user, action=f"do this ({actor.command})", who=ADMINISTRATORS)
    if actor.request is not None:
        _fulfil(state, actor, *actor.request)
    before = latest(state)
    who = (actor.time, actor.user, actor.command, actor.reason)
    state.connection.executemany(
        "INSERT INTO history (time, user, command, reason, subject, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((*who, change.subject, rows.dumps(change.before), rows.dumps(change.after)) for change in changes),
    )
    return range(before + 1, latest(state) + 1)


_REQUESTS_KEPT = 30 * 86400
"""Seconds for which a request is recognised when it comes again."""


def _fulfil(state: State, actor: Actor, request: str, attempt: str) -> None:
    """Note that this transaction fulfils *request*; raises RepeatedError if another one has."""
    execute = state.connection.execute
    execute("DELETE FROM request WHERE time < ?", (actor.time - _REQUESTS_KEPT,))
    execute("INSERT OR IGNORE INTO request VALUES (?, ?, ?, ?)", (request, attempt, actor.time, actor.user))
    (stored,) = execute("SELECT attempt FROM request WHERE id = ?", (request,)).fetchone()
    if stored != attempt:
        raise RepeatedError


def is_fulfilled(state: State, request: str) -> bool:
    """Return whether a transaction has fulfilled this *request*."""
    return bool(state.value("SELECT EXISTS (SELECT 1 FROM request WHERE id = ?)", (request,)))


def latest(state: State) -> int:
    """Return the number of the latest change; 0 if there is none."""
    return int(state.value("SELECT coalesce(max(id), 0) FROM history"))


def others_changed(state: State, since: int, command: str) -> bool:
    """Return whether another *command* has changed anything after change number *since*."""
    query = "SELECT EXISTS (SELECT 1 FROM history WHERE id > ? AND command <> ?)"
    return bool(state.value(query, (since, command)))


def load(
    state: State,
    limit: int | None = None,
    *,
    subject: str | None = None,
    user: str | None = None,
    since: int | None = None,
    after: int = 0,
) -> list[Entry]:
    """Return the last *limit* changes (None: all), newest last.

    If given, only those of a *subject* (of a user also without domain and groups), by a *user*, made at *since*
    (seconds since 1970) or later, or those *after* an entry of this number.
    """
    stored = state.connection.execute(
        "SELECT id, time, user, command, subject, before, after, reason FROM history "
        "WHERE (?1 IS NULL OR subject = ?1 OR (instr(?1, '@') = 0 AND instr('.' || subject, '.' || ?1 || '@') > 0)) "
        "AND (?2 IS NULL OR user = ?2) AND (?3 IS NULL OR time >= ?3) "
        "AND id > ?5 ORDER BY id DESC LIMIT ?4",
        (subject, user, since, _ALL if limit is None else min(limit, _ALL), after),
    ).fetchall()
    stored.reverse()
    values = rows.loads_all(text for row in stored for text in row[5:7])
    pairs = zip(values[::2], values[1::2], strict=True)
    return [Entry(*(*row[:5], *pair, row[7])) for row, pair in zip(stored, pairs, strict=True)]
