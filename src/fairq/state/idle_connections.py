"""Connections kept open between the transactions of a command that opens the same state many times."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType

from msgspec import Struct


class _IdleConnection(Struct, frozen=True):
    connection: sqlite3.Connection
    file: os.stat_result


_IDLE: ContextVar[list[_IdleConnection] | None] = ContextVar("_IDLE", default=None)
"""The connections that no transaction uses now; None where connections are not kept."""


@contextmanager
def kept_open() -> Iterator[None]:
    """Keep connections for the next transaction until the body ends: to open a state costs more than a small one.

    A connection that waits holds no lock. A file that was replaced meanwhile is opened anew.
    """
    if _IDLE.get() is not None:
        yield
        return
    idle: list[_IdleConnection] = []
    token = _IDLE.set(idle)
    try:
        yield
    finally:
        _IDLE.reset(token)
        for kept in idle:
            kept.connection.close()


def take(path: Path) -> sqlite3.Connection | None:
    """Return a kept connection to the file that is at *path* now; None if there is none."""
    idle = _IDLE.get()
    while idle:
        kept = idle.pop()
        with suppress(OSError):
            if os.path.samestat(kept.file, path.stat()):
                return kept.connection
        kept.connection.close()
    return None


class Lease:
    """The use of a connection for one transaction, after which it is kept if it can serve again, else closed."""

    def __init__(self, connection: sqlite3.Connection, path: Path, before: os.stat_result) -> None:
        """Begin it; *before* is the file at *path* as it was before the connection was opened or taken."""
        self._connection = connection
        self._path = path
        self._file = before

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        idle = _IDLE.get()
        with suppress(OSError, sqlite3.Error):
            # The same file before and after: that one is open.
            if kind is None and idle is not None and os.path.samestat(self._file, self._path.stat()):
                self._connection.rollback()
                self._connection.execute("PRAGMA query_only = OFF")
                idle.append(_IdleConnection(self._connection, self._file))
                return
        self._connection.close()
