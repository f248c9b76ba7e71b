"""Open the state file: one consistent read, or one write that happens whole or not at all.

The journal is SQLite's rollback journal: at rest the state is one file, and it can be read on a file
system that cannot be written.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairq.errors import StateError
from fairq.state.cycle_lock import cycle_lock
from fairq.state.failures import BUSY_CODES, mapped, primary_code
from fairq.state.location import exists, prepare_for_writing, resolve
from fairq.state.migrations import identify, migrate
from fairq.state.schema import MIGRATIONS

__all__ = ["WAIT", "State", "cycle_lock", "reading", "writing"]

WAIT = 60.0
"""Seconds a command waits for another one's lock before it gives up."""

_NAP = 0.5
"""Seconds SQLite sleeps for a lock at a stretch; between two of them Ctrl-C is heard."""


@dataclass(frozen=True, slots=True)
class State:
    """An open state inside its transaction; *path* is the file with symbolic links followed."""

    connection: sqlite3.Connection
    path: Path


@contextmanager
def reading(path: Path, wait: float = WAIT) -> Iterator[State]:
    """Read one consistent snapshot; a file that does not exist reads as an empty state and is not created.

    Nothing in the body can change the file. Read what you need and leave: a writer waits for readers.

    Raises:
        StateError and its kin (exit codes 3 to 10): the file cannot be used; it is untouched.
    """
    path = resolve(path)
    with mapped(path, wait):
        connection = _connect(path) if exists(path) else _in_memory()
        try:
            _begin(connection, "BEGIN", wait)
            version = identify(connection, path)
            if version < len(MIGRATIONS):
                connection = _upgraded_copy(connection, version)
            connection.execute("PRAGMA query_only = ON")
            yield State(connection, path)
        finally:
            connection.close()


@contextmanager
def writing(path: Path, wait: float = WAIT) -> Iterator[State]:
    """Change the state in one transaction: all of the body's writes are kept, or none if it raises.

    The write lock is taken at once, waiting at most *wait* seconds. The file and its directories are
    created on first use; an older file is brought to today's schema, a copy of it left beside it.

    Raises:
        StateLockedError: another process kept the lock all the while.
        StateError and its kin (exit codes 3 to 10): the file cannot be used; it is as it was.
    """
    path = resolve(path)
    prepare_for_writing(path)
    with mapped(path, wait):
        connection = _connect(path, create=True)
        try:
            identify(connection, path)
            _begin(connection, "BEGIN IMMEDIATE", wait)
            version = identify(connection, path)
            if 0 < version < len(MIGRATIONS):
                _copy_before_migration(path, version)
            migrate(connection, version)
            # A step whose changes outgrow SQLite's cache locks readers out before its end: wait for them.
            connection.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
            yield State(connection, path)
            _patiently(connection, "COMMIT", wait)
        except BaseException:
            # SQLite has rolled back by itself after some errors, as a full disk.
            if connection.in_transaction:
                connection.rollback()
            raise
        finally:
            connection.close()


def _connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    # Mode rw even for reading: what a killed writer left half-done must be undone before it is read.
    # SQLite opens a file that may not be written for reading by itself.
    uri = f"{path.as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(uri, uri=True, timeout=_NAP, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _begin(connection: sqlite3.Connection, statement: str, wait: float) -> None:
    _patiently(connection, statement, wait)
    if statement == "BEGIN":
        # A deferred transaction takes its snapshot at the first read.
        _patiently(connection, "SELECT 1 FROM sqlite_master LIMIT 1", wait)


def _patiently(connection: sqlite3.Connection, statement: str, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            connection.execute(statement).fetchone()
            return
        except sqlite3.Error as error:
            if primary_code(error) not in BUSY_CODES or time.monotonic() >= deadline:
                raise


def _upgraded_copy(connection: sqlite3.Connection, version: int) -> sqlite3.Connection:
    """Return a copy in memory at today's schema, so that an older file is read without being changed."""
    copy = _in_memory()
    if version:
        connection.backup(copy)
    connection.close()
    copy.execute("BEGIN")
    migrate(copy, version)
    return copy


def _copy_before_migration(path: Path, version: int) -> None:
    target = path.with_name(f"{path.name}.schema{version}")
    if target.exists():
        raise StateError(
            state=path,
            reason=f"its schema {version} must be migrated, but the copy to keep, {target}, exists already; "
            "move that away",
        )
    source = _connect(path)
    try:
        copy = sqlite3.connect(target.as_uri(), uri=True)
        try:
            source.backup(copy)
        finally:
            copy.close()
    finally:
        source.close()
