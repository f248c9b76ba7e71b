"""Open the state file: one consistent read, or one write that happens whole or not at all.

The journal is SQLite's rollback journal: at rest the state is one file, and it can be read on a file
system that cannot be written.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from fairq.errors import BackupError
from fairq.state import checksums
from fairq.state.copy import write_copy
from fairq.state.cycle_lock import cycle_lock
from fairq.state.failures import BUSY_CODES, mapped, primary_code
from fairq.state.location import exists, prepare_for_writing, resolve
from fairq.state.migrations import identify, migrate
from fairq.state.schema import MIGRATIONS

__all__ = ["WAIT", "State", "backup", "cycle_lock", "migrated", "reading", "writing"]

WAIT = 60.0
"""Seconds a command waits for another one's lock before it gives up."""

_NAP = 0.5
"""Seconds SQLite sleeps for a lock at a stretch; between two of them Ctrl-C is heard."""

_BEHAVIOUR = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -65536",
)


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
    patience = _Patience(wait)
    with mapped(path, wait), ExitStack() as open_files:
        connection = open_files.enter_context(_connected(path, patience) if exists(path) else closing(_in_memory()))
        version = _begin_reading(connection, path, patience)
        if version < len(MIGRATIONS):
            connection = open_files.enter_context(_upgraded_copy(connection, version))
        connection.execute("PRAGMA query_only = ON")
        yield State(connection, path)


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
    patience = _Patience(wait)
    with mapped(path, wait), _connected(path, patience, create=True) as connection:
        patience.execute(connection, "BEGIN IMMEDIATE")
        try:
            version = identify(connection, path)
            if 0 < version < len(MIGRATIONS):
                _keep_copy(path, version, patience)
            migrate(connection, version)
            # A step whose changes outgrow SQLite's cache locks readers out before its end: wait for them.
            connection.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
            yield State(connection, path)
            connection.execute(f"PRAGMA busy_timeout = {int(_NAP * 1000)}")
            _Patience(wait).execute(connection, "COMMIT")
        except BaseException:
            # SQLite has rolled back by itself after some errors, as a full disk.
            if connection.in_transaction:
                connection.rollback()
            raise


def backup(path: Path, target: Path, wait: float = WAIT) -> None:
    """Copy the state as it is now to *target*, a new file, while others may go on working with it.

    The copy has the schema of the file. It appears whole, or not at all.

    Raises:
        BackupError: there is no state file, *target* exists already or cannot be written.
        StateError and its kin (exit codes 3 to 10): the state file cannot be used.
    """
    path = resolve(path)
    if not exists(path):
        raise BackupError(target=target, reason=f"the state file {path} does not exist")
    patience = _Patience(wait)
    with mapped(path, wait), _connected(path, patience) as connection:
        _begin_reading(connection, path, patience)
        write_copy(connection, target)


def migrated() -> sqlite3.Connection:
    """Return an empty state of today's schema, in memory."""
    connection = _in_memory()
    migrate(connection, 0)
    return connection


class _Patience:
    """Executes statements that others' locks may hold up, until the time is over."""

    def __init__(self, wait: float) -> None:
        self._deadline = time.monotonic() + wait

    def execute(self, connection: sqlite3.Connection, statement: str) -> None:
        while True:
            try:
                connection.execute(statement).fetchone()
                return
            except UnicodeDecodeError as error:
                # SQLite says what is damaged by a name that is damaged itself.
                damage = sqlite3.DatabaseError("a name in its schema is not UTF-8")
                damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise damage from error
            except sqlite3.Error as error:
                if primary_code(error) not in BUSY_CODES or time.monotonic() >= self._deadline:
                    raise


@contextmanager
def _connected(path: Path, patience: _Patience, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    # Mode rw even for reading: what a killed writer left half-done must be undone before it is read.
    # SQLite opens a file that may not be written for reading by itself.
    uri = f"{path.as_uri()}?mode={'rwc' if create else 'rw'}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_NAP, isolation_level=None)) as connection:
        checksums.register(connection)
        for pragma in _BEHAVIOUR:
            patience.execute(connection, pragma)
        yield connection


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    checksums.register(connection)
    return connection


def _begin_reading(connection: sqlite3.Connection, path: Path, patience: _Patience) -> int:
    """Take a snapshot and return its schema number."""
    connection.execute("BEGIN")
    # The transaction's snapshot is that of its first read.
    patience.execute(connection, "SELECT 1 FROM sqlite_master LIMIT 1")
    return identify(connection, path)


@contextmanager
def _upgraded_copy(connection: sqlite3.Connection, version: int) -> Iterator[sqlite3.Connection]:
    """Open a copy in memory at today's schema, so that an older file is read without being changed."""
    with closing(_in_memory()) as copy:
        if version:
            connection.backup(copy)
        connection.rollback()
        copy.execute("BEGIN")
        migrate(copy, version)
        yield copy


def _keep_copy(path: Path, version: int, patience: _Patience) -> None:
    """Leave a copy of an older file beside it, under a name that is free."""
    names = chain([f"{path.name}.schema{version}"], (f"{path.name}.schema{version}-{n}" for n in count(2)))
    target = next(place for place in map(path.with_name, names) if not place.exists())
    with _connected(path, patience) as source:
        write_copy(source, target)
